"""What the stack tells the person at the terminal: always on standard error, one line per event."""

from __future__ import annotations

import sys
from pathlib import Path


def say(message: str) -> None:
    """Print one message on standard error; standard output belongs to commands and their JSON."""
    try:
        print(f"workbench: {message}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        # The terminal is gone: a closing stack must go on closing.
        return


def tail(path: Path, *, lines: int = 15) -> str:
    """The last lines of a log file, indented; a note when there are none."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - 16_384))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return f"    (no log at {path})"
    kept = [line for line in text.splitlines() if line.strip()][-lines:]
    return "\n".join(f"    {line}" for line in kept) or f"    ({path} is empty)"
