"""Keys that encrypt secrets in the database, derived from SECRET_KEY."""

from __future__ import annotations

import base64
import hmac

from cryptography.fernet import Fernet
from django.conf import settings


def fernets(purpose: str) -> list[Fernet]:
    """For one purpose, so that what is sealed for another does not open: the present key first, which encrypts; then
    those of SECRET_KEY_FALLBACKS."""
    known = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    keys = [hmac.digest(key.encode(), purpose.encode(), "sha256") for key in known]
    return [Fernet(base64.urlsafe_b64encode(key)) for key in keys]
