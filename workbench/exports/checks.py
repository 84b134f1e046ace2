"""System check: a signing key that is none stops the start, not the first export."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error, register

from workbench.errors import WorkbenchError

from .keys import public_keys


@register
def keys_of_exports_are_keys(**_: Any) -> list[CheckMessage]:
    """EXPORT_SIGNING_KEY and EXPORT_PUBLIC_KEYS."""
    try:
        public_keys()
    except WorkbenchError as error:
        hint = "A new key: head -c 32 /dev/urandom | base64. Public ones: manage.py export_key."
        return [Error(error.message, hint=hint, id="exports.E001")]
    return []
