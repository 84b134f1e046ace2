"""What the home of an installation holds is for the account that runs it, and for nobody else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

#: By name, since a home may be a folder that holds other things too. `postgres` has an account and a mode of its own,
#: `static` is for everybody.
FOLDERS = ("cache", "files", "index", "log", "run", "valkey")
FILES = ("secrets.json", "ports.json", "demo_logins.json")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for its owner only. Raises :class:`OSError`."""
    missing = [folder, *folder.parents]
    for part in reversed(missing):
        if not part.exists():
            part.mkdir(mode=0o700, exist_ok=True)


def close_home(home: Path) -> list[str]:
    """Take from others what an older version let them read; the names of what was open. What belongs to somebody
    else is left alone."""
    return [name for name in (*FOLDERS, *FILES) if _close(home / name)]


def _close(path: Path) -> bool:
    try:
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode) or found.st_uid != os.geteuid() or not found.st_mode & _OTHERS:
            return False
        path.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)
    except OSError:
        return False
    return True
