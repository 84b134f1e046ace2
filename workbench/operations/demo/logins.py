"""The demo logins' passwords: generated once per installation, kept where only its owner can read them."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

from django.conf import settings

from workbench.private import private_folder

#: Without characters that look alike in some font.
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"
_GROUPS, _GROUP_LENGTH = 4, 4


def demo_passwords(emails: Iterable[str]) -> dict[str, str]:
    """A password for each address: WORKBENCH_DEMO_PASSWORD, else the kept one, else a new one; kept from now on, beside
    those of other addresses."""
    given = os.environ.get("WORKBENCH_DEMO_PASSWORD")
    kept = _read(_file())
    passwords = {email: given or kept.get(email) or _new_password() for email in emails}
    if passwords.items() - kept.items():
        _write(_file(), kept | passwords)
    return passwords


def _file() -> Path:
    return Path(settings.WORKBENCH_HOME) / "demo_logins.json"


def _new_password() -> str:
    """About 79 bits, easy to type from a terminal."""
    return "-".join("".join(secrets.choice(_ALPHABET) for _ in range(_GROUP_LENGTH)) for _ in range(_GROUPS))


def _read(path: Path) -> dict[str, str]:
    """What is kept; nothing when the file is missing or damaged, and then new passwords are set."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(email): str(word) for email, word in content.items()} if isinstance(content, dict) else {}


def _write(path: Path, passwords: Mapping[str, str]) -> None:
    """Writes the whole file or nothing, readable by its owner alone from the first byte on."""
    private_folder(path.parent)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(dict(passwords), file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
