"""Secrets of sources, as they lie in the database: encrypted with a key derived from SECRET_KEY, as those of second
factors are. No page, answer of the API, log or event holds one."""

from __future__ import annotations

import base64
import hmac

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


def sealed(secret: str) -> str:
    """The stored form; "" for none."""
    return _fernets()[0].encrypt(secret.encode()).decode() if secret else ""


def opened(stored: str) -> str | None:
    """The secret; None where no key of the installation opens it."""
    if not stored:
        return ""
    try:
        return MultiFernet(_fernets()).decrypt(stored).decode()
    except InvalidToken:
        return None


def is_under_present_key(stored: str) -> bool:
    """Whether the present key made it."""
    try:
        _fernets()[0].decrypt(stored)
    except InvalidToken:
        return False
    return True


def _fernets() -> list[Fernet]:
    """The present key first, which encrypts; then those of SECRET_KEY_FALLBACKS."""
    known = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    keys = [hmac.digest(key.encode(), b"workbench.sources.secret", "sha256") for key in known]
    return [Fernet(base64.urlsafe_b64encode(key)) for key in keys]
