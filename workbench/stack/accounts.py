"""Which system account runs PostgreSQL: it refuses root, so as root another account is needed."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
import subprocess
from pathlib import Path

from .console import say
from .errors import StackError
from .processes import Account

NAME = "pgserver"


def postgres_account() -> Account | None:
    """None for an ordinary user; as root the account ``pgserver``, made on first use, else ``nobody``."""
    if os.geteuid() != 0:
        return None
    entry = _find(NAME) or _create() or _find("nobody")
    if entry is None:
        raise StackError(
            "PostgreSQL refuses to run as root, and no account for it could be made. "
            f"Make one (useradd --system {NAME}) or start as an ordinary user."
        )
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def make_passable(path: Path, account: Account) -> None:
    """Let the account pass through every folder above `path`: adds o+x, nothing more, and says so."""
    changed = []
    for folder in path.parents:
        mode = folder.stat().st_mode
        if not mode & stat.S_IXOTH and folder.stat().st_uid != account.uid:
            folder.chmod(stat.S_IMODE(mode) | stat.S_IXOTH)
            changed.append(str(folder))
    if changed:
        say(f"made {', '.join(changed)} passable (o+x) for the account {account.name}, which runs PostgreSQL")


def make_readable(folders: list[Path], account: Account) -> None:
    """Let the account read the installed programs, where a strict umask kept others out."""
    for folder in folders:
        if not folder.is_dir():
            continue
        make_passable(folder, account)
        for path in (folder, *folder.rglob("*")):
            mode = stat.S_IMODE(path.stat().st_mode)
            wanted = mode | stat.S_IROTH
            if path.is_dir() or mode & stat.S_IXUSR:
                wanted |= stat.S_IXOTH
            if wanted != mode:
                path.chmod(wanted)


def _find(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _create() -> pwd.struct_passwd | None:
    tool = shutil.which("useradd")
    if tool is None:
        return None
    arguments = (tool, "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", NAME)
    subprocess.run(arguments, check=False, capture_output=True)
    return _find(NAME)
