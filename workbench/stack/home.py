"""WORKBENCH_HOME: the folder that holds everything one installation keeps.

files/       uploaded originals          postgres/  the database cluster
log/         one log per child           valkey/    the broker's append-only file
run/         locks and state             static/    collected static files
cache/       page images                 index/     the lexical indexes
secrets.json generated once, 0600        ports.json the loopback ports used last

All but static/ is for the owner only, what an older version made too.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from workbench.paths import default_home
from workbench.private import close_home

from .errors import StackError

LOG_LIMIT_BYTES = 5 * 1024 * 1024
LOGS_KEPT = 3


@dataclass(frozen=True)
class Secrets:
    """Generated at the first start and kept, so that sessions and roles survive a restart."""

    secret_key: str
    superuser_password: str
    owner_password: str
    app_password: str
    broker_password: str

    @classmethod
    def generate(cls) -> Secrets:
        """New random values: 64 URL-safe characters for the key, 32 for each password."""
        return cls(secrets.token_urlsafe(48), *(secrets.token_urlsafe(24) for _ in range(4)))


@dataclass(frozen=True)
class Home:
    """The paths of one installation."""

    root: Path

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], project: Path) -> Home:
        """WORKBENCH_HOME, or the default of a checkout or an installed package."""
        given = environ.get("WORKBENCH_HOME")
        return cls(Path(given).expanduser().resolve() if given else default_home(project))

    @property
    def postgres(self) -> Path:
        return self.root / "postgres"

    @property
    def valkey(self) -> Path:
        return self.root / "valkey"

    @property
    def logs(self) -> Path:
        return self.root / "log"

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def static(self) -> Path:
        return self.root / "static"

    @property
    def files(self) -> Path:
        return self.root / "files"

    @property
    def secrets_file(self) -> Path:
        return self.root / "secrets.json"

    @property
    def ports_file(self) -> Path:
        return self.root / "ports.json"

    @property
    def stack_lock(self) -> Path:
        """Held exclusively by the supervisor of the services."""
        return self.run / "stack.lock"

    @property
    def web_lock(self) -> Path:
        """Held exclusively by `make run`."""
        return self.run / "web.lock"

    @property
    def users_lock(self) -> Path:
        """Held shared by each command that uses the services."""
        return self.run / "users.lock"

    @property
    def migrate_lock(self) -> Path:
        return self.run / "migrate.lock"

    @property
    def stack_state(self) -> Path:
        return self.run / "stack.json"

    @property
    def web_state(self) -> Path:
        return self.run / "web.json"

    @property
    def migrated_stamp(self) -> Path:
        return self.run / "migrated"

    @property
    def collected_stamp(self) -> Path:
        return self.run / "collected"

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def create(self) -> None:
        """Make the folders. The root is passable but not listable: as root, PostgreSQL runs as another account."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            if self.root.stat().st_uid == os.geteuid():
                self.root.chmod(0o711 if os.geteuid() == 0 else 0o700)
            for folder in (self.run, self.logs, self.valkey, self.files):
                folder.mkdir(mode=0o700, exist_ok=True)
            close_home(self.root)
        except OSError as error:
            raise StackError(
                f"WORKBENCH_HOME {self.root} cannot be used: {error.strerror}. "
                "Give a folder you may write to, for example WORKBENCH_HOME=$HOME/workbench"
            ) from error

    def secrets(self) -> Secrets:
        """The kept secrets, generated on first use. Call with the stack lock held."""
        found = self.find_secrets()
        if found is None:
            found = Secrets.generate()
            write_json(self.secrets_file, asdict(found))
        return found

    def find_secrets(self) -> Secrets | None:
        """The kept secrets, or None before the first start."""
        if not self.secrets_file.exists():
            return None
        content = read_json(self.secrets_file)
        names = {field.name for field in fields(Secrets)}
        if not isinstance(content, dict) or set(content) != names:
            raise StackError(
                f"{self.secrets_file} is damaged: it must hold {', '.join(sorted(names))}. Restore it from a backup."
            )
        return Secrets(**content)

    def rotate_logs(self) -> None:
        """Move each log that grew past the limit aside, keeping a few older ones."""
        for path in self.logs.glob("*.log"):
            if path.stat().st_size < LOG_LIMIT_BYTES:
                continue
            for number in range(LOGS_KEPT, 1, -1):
                older = path.with_name(f"{path.name}.{number - 1}")
                if older.exists():
                    older.replace(path.with_name(f"{path.name}.{number}"))
            path.replace(path.with_name(f"{path.name}.1"))


def write_json(path: Path, content: Any) -> None:
    """Write a file only its owner can read, whole or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(
        os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
    ) as file:
        json.dump(content, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def read_json(path: Path) -> Any:
    """The content of a JSON file, or None when it is missing or not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
