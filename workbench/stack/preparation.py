"""What must be done before the product can be used: migrations, static files, demo data.

Each is skipped when a stamp in the home says that nothing it depends on has changed.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from . import locks
from .console import say
from .errors import StackError
from .home import Home
from .processes import Program
from .project import Project
from .services import Services

RunToEnd = Callable[[Program], None]
MIGRATE_WAIT_SECONDS = 300.0


@dataclass(frozen=True)
class Login:
    """One demo user."""

    role: str
    email: str
    password: str


def migrate(project: Project, services: Services, run: RunToEnd) -> None:
    """Apply pending migrations as the schema's owner; one process at a time."""
    home = services.home
    fingerprint = migration_fingerprint(project)
    if _stamped(home.migrated_stamp, fingerprint):
        return
    lock = _wait_for_lock(home)
    try:
        if _stamped(home.migrated_stamp, fingerprint):
            return
        say("applying migrations")
        run(project.command(home, "migrate", "--noinput", environment=services.owner_environment(project)))
        home.migrated_stamp.write_text(fingerprint, encoding="utf-8")
    finally:
        lock.release()


def collect_static(project: Project, services: Services, run: RunToEnd) -> None:
    """Collect static files into the home."""
    home = services.home
    fingerprint = fingerprint_of([*_files(project.static, "**/*"), *_packages(project)])
    if _stamped(home.collected_stamp, fingerprint) and home.static.is_dir():
        return
    say("collecting static files")
    environment = services.environment(project)
    run(project.command(home, "collectstatic", "--noinput", "--clear", environment=environment))
    home.collected_stamp.write_text(fingerprint, encoding="utf-8")


def create_demo(project: Project, services: Services, run: RunToEnd) -> list[Login]:
    """Make the demo users and collection; the logins to print. A failure is told, not raised."""
    program = project.command(
        services.home, "create_demo", "--json", environment=services.environment(project)
    )
    program.log.unlink(missing_ok=True)
    try:
        run(program)
    except StackError as error:
        say(f"there is no demo data: {error}")
        return []
    output = program.log.read_text(encoding="utf-8", errors="replace")
    program.log.unlink()  # passwords do not stay in a log
    return parse_logins(output)


def parse_logins(output: str) -> list[Login]:
    """The logins in the output of ``create_demo --json``: a list, or an object with the list as `logins`.

    The log also holds what the command wrote to standard error, so the JSON is looked for in it.
    """
    decoder = json.JSONDecoder()
    for position, character in enumerate(output):
        if character not in "[{" or (position and output[position - 1] != "\n"):
            continue
        try:
            content, _ = decoder.raw_decode(output, position)
        except ValueError:
            continue
        logins = _logins_in(content)
        if logins:
            return logins
    return []


def fingerprint_of(paths: Iterable[Path]) -> str:
    """A hash over the names and content of files."""
    digest = hashlib.sha256()
    for path in paths:
        if path.is_file():
            digest.update(f"{path.name}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def migration_fingerprint(project: Project) -> str:
    """A hash over everything that decides what ``migrate`` makes."""
    # Third-party migrations follow the packages; which apps are installed follows the settings.
    sources = [
        *_files(project.root / "workbench", "*/migrations/*.py"),
        *_files(project.root / "workbench" / "settings", "*.py"),
        *_packages(project),
    ]
    return fingerprint_of(sources)


def _packages(project: Project) -> list[Path]:
    """Files that change with the versions of other packages: a checkout's lock, or what an installation recorded."""
    lock = project.root / "requirements.lock"
    return [lock] if lock.is_file() else _files(project.root, "*.dist-info/METADATA")


def _logins_in(content: object) -> list[Login]:
    rows = content.get("logins", []) if isinstance(content, dict) else content
    if not isinstance(rows, list):
        return []
    names = ("role", "email", "password")
    return [
        Login(*(str(row[name]) for name in names))
        for row in rows
        if isinstance(row, dict) and all(name in row for name in names)
    ]


def _files(folder: Path, pattern: str) -> list[Path]:
    return sorted(path for path in folder.glob(pattern) if path.is_file())


def _stamped(stamp: Path, fingerprint: str) -> bool:
    return stamp.exists() and stamp.read_text(encoding="utf-8") == fingerprint


def _wait_for_lock(home: Home) -> locks.FileLock:
    deadline = time.monotonic() + MIGRATE_WAIT_SECONDS
    while True:
        lock = locks.try_exclusive(home.migrate_lock)
        if lock is not None:
            return lock
        if time.monotonic() > deadline:
            raise StackError("another process has been applying migrations for minutes; see log/migrate.log")
        time.sleep(0.1)
