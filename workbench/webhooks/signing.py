"""Secrets and signatures of webhooks, as the Standard Webhooks specification 1.0 has them (docs/webhooks.md).

No secret lies in the database: each is HMAC-SHA256 of a random salt under SECRET_KEY, so that neither a dump nor a
backup can sign. A new SECRET_KEY therefore ends all secrets, unless the old one is kept in SECRET_KEY_FALLBACKS.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from .models import Webhook

PREFIX = "whsec_"
_PURPOSE = b"workbench.webhooks.secret/1\0"


def new_salt() -> str:
    """A random salt, 256 bits."""
    return secrets.token_hex(32)


def secret_of(*, salt: str, key: str | None = None) -> str:
    """The secret of a salt, as the receiver is given it: ``whsec_`` and 32 bytes in base64."""
    signing_key = (settings.SECRET_KEY if key is None else key).encode()
    raw = hmac.digest(signing_key, _PURPOSE + salt.encode(), hashlib.sha256)
    return PREFIX + base64.b64encode(raw).decode()


def fingerprint_of(secret: str) -> str:
    """SHA-256 of a secret: shows that it is the one that was handed out."""
    return hashlib.sha256(secret.encode()).hexdigest()


def secret_in_use(webhook: Webhook) -> str | None:
    """The secret that was handed out for a webhook; None when no key of the installation makes it any more."""
    for key in _keys():
        secret = secret_of(salt=webhook.salt, key=key)
        if hmac.compare_digest(fingerprint_of(secret), webhook.fingerprint):
            return secret
    return None


def is_under_present_key(webhook: Webhook) -> bool:
    """Whether the secret that was handed out is made by SECRET_KEY itself, and by no former key."""
    secret = secret_of(salt=webhook.salt)
    return hmac.compare_digest(fingerprint_of(secret), webhook.fingerprint)


def previous_secrets(webhook: Webhook) -> list[str]:
    """What the secret before the last change may be; the receiver takes the signature that fits."""
    if not webhook.previous_salt:
        return []
    return [secret_of(salt=webhook.previous_salt, key=key) for key in _keys()]


def signature_header(*, secrets_: Sequence[str], message_id: str, timestamp: int, body: bytes) -> str:
    """The value of ``webhook-signature``: for each secret ``v1,`` and HMAC-SHA256 over ``id.timestamp.body`` in
    base64, separated by blanks."""
    content = f"{message_id}.{timestamp}.".encode() + body
    marks = (
        hmac.digest(base64.b64decode(secret.removeprefix(PREFIX)), content, hashlib.sha256)
        for secret in secrets_
    )
    return " ".join("v1," + base64.b64encode(mark).decode() for mark in marks)


def _keys() -> list[str]:
    return [settings.SECRET_KEY, *getattr(settings, "SECRET_KEY_FALLBACKS", [])]
