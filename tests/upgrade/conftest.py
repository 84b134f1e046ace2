"""An installation of the last commit before the apps were split, restored from its dump and upgraded in place."""

from __future__ import annotations

import lzma
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from tests.upgrade.make_dump import DUMP, FILES, ROOT, SECRET_KEY
from workbench.stack import postgres

#: Rows that migrating adds to: what Django itself keeps, and what it makes for new models.
GROWS = frozenset({"django_migrations", "django_content_type", "auth_permission"})


@dataclass(frozen=True)
class Upgraded:
    """The upgraded installation: how its commands are called, and how many rows each table had before."""

    environment: dict[str, str]
    rows_before: dict[str, int]

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command of today's product against it."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def rows(self) -> dict[str, int]:
        """How many rows each table has now."""
        return count_rows(self.environment["DATABASE_OWNER_URL"])


def count_rows(address: str) -> dict[str, int]:
    """Rows of every table."""
    with psycopg.connect(address) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        return {name: _count(connection, name) for (name,) in names}


def _count(connection: psycopg.Connection[Any], table: str) -> int:
    found = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone()
    assert found is not None
    return int(found[0])


@pytest.fixture(scope="session")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    """The dump in a database of its own, its files in a home of their own, and today's migrations applied."""
    home = tmp_path_factory.mktemp("home")
    name = f"upgrade_{os.getpid()}"
    superuser, owner, app = (
        os.environ[variable] for variable in ("TEST_DATABASE_URL", "DATABASE_OWNER_URL", "DATABASE_URL")
    )
    with psycopg.connect(_at(superuser, "postgres"), autocommit=True) as server:
        server.execute(
            sql.SQL("CREATE DATABASE {} OWNER {}").format(
                sql.Identifier(name), sql.Identifier(postgres.OWNER_ROLE)
            )
        )
        try:
            _restore(_at(owner, name), home)
            before = count_rows(_at(owner, name))
            environment = {
                **os.environ,
                "DJANGO_SETTINGS_MODULE": "workbench.settings.dev",
                "SECRET_KEY": SECRET_KEY,
                "WORKBENCH_HOME": str(home),
                "DATABASE_URL": _at(app, name),
                "DATABASE_OWNER_URL": _at(owner, name),
            }
            made = Upgraded(environment, before)
            as_owner = Upgraded({**environment, "DATABASE_URL": _at(owner, name)}, before)
            migrated = as_owner.manage("migrate", "--noinput")
            assert migrated.returncode == 0, migrated.stdout + migrated.stderr
            yield made
        finally:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _at(address: str, database: str) -> str:
    return f"{address.rpartition('/')[0]}/{database}"


def _restore(address: str, home: Path) -> None:
    """As the owner, who then owns the tables as in every installation."""
    loaded = subprocess.run(
        [str(postgres.BINARIES / "psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", address],
        input=lzma.decompress(DUMP.read_bytes()),
        capture_output=True,
        check=False,
    )
    assert loaded.returncode == 0, loaded.stderr.decode()[-2000:]
    with tarfile.open(FILES) as files:
        files.extractall(home / "files", filter="data")


@pytest.fixture(scope="session")
def django_db_setup(upgraded: Upgraded) -> Iterator[None]:
    """Tests of this folder use the upgraded database itself, as the application's role."""
    from django.conf import settings
    from django.db import connection
    from django.test import override_settings
    from environ import Env

    connection.close()
    given = Env.db_url_config(upgraded.environment["DATABASE_URL"])
    connection.settings_dict.update({name: value for name, value in given.items() if name != "ENGINE"})
    home = Path(upgraded.environment["WORKBENCH_HOME"])
    files = {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(home / "files")},
    }
    with override_settings(
        SECRET_KEY=SECRET_KEY, WORKBENCH_HOME=home, STORAGES=settings.STORAGES | {"default": files}
    ):
        yield
    connection.close()
