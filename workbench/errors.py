"""Anticipated errors of the product's services. Views turn them into messages, the API into problems."""

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
    """The state of the object does not allow this, usually because of an earlier change."""

    status = 409
    code = "conflict"


class Unavailable(WorkbenchError):
    """A required service does not answer or is switched off."""

    status = 503
    code = "unavailable"
