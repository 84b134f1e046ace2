"""Anticipated refusals of the product's services. Views turn them into messages, the API into problems."""

from __future__ import annotations


class WorkbenchError(Exception):
    """Base: ``code`` is stable, ``message`` says what to do."""

    status = 400
    code = "invalid"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code:
            self.code = code


class NotAllowed(WorkbenchError):
    """The person may see the object but not do this with it."""

    status = 403
    code = "not_allowed"


class Conflict(WorkbenchError):
    """Somebody or something else got there first."""

    status = 409
    code = "conflict"


class Unavailable(WorkbenchError):
    """A service that is needed for this does not answer or is switched off."""

    status = 503
    code = "unavailable"
