"""Secrets of sources, as they lie in the database: encrypted with a key derived from SECRET_KEY, as those of second
factors are. No page, answer of the API, log or event holds one."""

from __future__ import annotations

from cryptography.fernet import InvalidToken, MultiFernet

from workbench.infra.sealing import fernets

_PURPOSE = "workbench.sources.secret"


def sealed(secret: str) -> str:
    """The stored form; "" for none."""
    return fernets(_PURPOSE)[0].encrypt(secret.encode()).decode() if secret else ""


def opened(stored: str) -> str | None:
    """The secret; None where no key of the installation opens it."""
    if not stored:
        return ""
    try:
        return MultiFernet(fernets(_PURPOSE)).decrypt(stored).decode()
    except InvalidToken:
        return None


def is_under_present_key(stored: str) -> bool:
    """Whether the present key made it."""
    try:
        fernets(_PURPOSE)[0].decrypt(stored)
    except InvalidToken:
        return False
    return True
