"""Environment variables, read and checked at the edge.

A secret may be given as NAME or, for mounted secrets, as NAME_FILE holding the path of a file.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def text(name: str, default: str = "") -> str:
    """The variable's value, the content of the file named by NAME_FILE, or the default."""
    file_name = os.environ.get(f"{name}_FILE")
    if file_name:
        try:
            return Path(file_name).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ImproperlyConfigured(
                f"{name}_FILE points to {file_name}, which cannot be read: {error}"
            ) from error
    return os.environ.get(name, default)


def required(name: str, hint: str) -> str:
    """The variable's value; stops the start with the hint where it is missing."""
    value = text(name)
    if not value:
        raise ImproperlyConfigured(f"{name} is not set. {hint}")
    return value


def integer(name: str, default: int) -> int:
    """The variable as a whole number."""
    raw = text(name)
    if not raw:
        return default
    try:
        return int(raw)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {raw!r}.") from error


def flag(name: str, *, default: bool) -> bool:
    """The variable as yes (1, true, yes, on) or no (0, false, no, off)."""
    raw = text(name).lower()
    if not raw:
        return default
    if raw in {"1", "true", "yes", "on"}:
        return True
    if raw in {"0", "false", "no", "off"}:
        return False
    raise ImproperlyConfigured(f"{name} must be 1 or 0, not {raw!r}.")


def choice(name: str, allowed: Sequence[str]) -> str:
    """The variable as one of a few words; empty where it is not set."""
    value = text(name).strip()
    if value and value not in allowed:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(allowed)}, not {value!r}.")
    return value


def words(name: str, default: str = "") -> list[str]:
    """The variable as a comma-separated list."""
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def networks(name: str, default: str = "") -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """The variable as a comma-separated list of networks, such as ``10.1.0.0/16``."""
    try:
        return [ipaddress.ip_network(word) for word in words(name, default)]
    except ValueError as error:
        raise ImproperlyConfigured(
            f"{name}: {error}. Give networks such as 10.1.0.0/16, separated by commas."
        ) from error


def address(name: str) -> tuple[str, int] | None:
    """The variable as host and port, such as ``127.0.0.1:9808``; None where it is empty."""
    raw = text(name)
    if not raw:
        return None
    host, _, port = raw.rpartition(":")
    if host and port.isdecimal() and 0 < int(port) < 65536:
        return host.strip("[]"), int(port)
    raise ImproperlyConfigured(f"{name} must be an address and a port such as 127.0.0.1:9808, not {raw!r}.")
