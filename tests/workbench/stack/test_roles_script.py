"""The script that prepares the database in containers gives the roles what the embedded stack gives them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import yaml

from tests.workbench.stack.conftest import Bench
from workbench.stack import database, postgres
from workbench.stack.home import Home, Secrets
from workbench.stack.ports import choose_service_ports
from workbench.stack.project import ROOT
from workbench.stack.signals import Signals
from workbench.stack.state import Mode
from workbench.stack.supervisor import Supervisor

pytestmark = pytest.mark.integration

PRIVILEGES = """
    SELECT rolname, rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls, rolcanlogin,
           has_database_privilege(oid, 'workbench', 'CREATE'), has_database_privilege(oid, 'workbench', 'TEMPORARY'),
           has_schema_privilege(oid, 'public', 'CREATE'), has_schema_privilege(oid, 'public', 'USAGE')
      FROM pg_roles WHERE rolname LIKE 'workbench%' ORDER BY rolname
"""
DEFAULTS = (
    "SELECT defaclrole::regrole::text, defaclobjtype, defaclacl::text FROM pg_default_acl ORDER BY 1, 2"
)
EXTENSIONS = "SELECT extname FROM pg_extension ORDER BY 1"


@pytest.fixture
def server(bench: Bench) -> Iterator[tuple[int, Secrets]]:
    """An empty PostgreSQL, as a container's first start has it."""
    home = Home(bench.home.root)
    home.create()
    secrets, port = home.secrets(), choose_service_ports(home).postgres
    postgres.ensure_cluster(home, secrets)
    signals = Signals()
    with (
        signals.installed(),
        Supervisor(
            home=home, mode=Mode.TEMPORARY, state_file=home.stack_state, signals=signals
        ) as supervisor,
    ):
        child = supervisor.start(postgres.program(home, port, throwaway=True))
        supervisor.await_ready(child, lambda: database.is_ready(port, secrets), seconds=240)
        yield port, secrets


def facts(port: int, secrets: Secrets) -> list[list[tuple[object, ...]]]:
    with psycopg.connect(postgres.url("postgres", secrets.superuser_password, port)) as connection:
        return [connection.execute(query).fetchall() for query in (PRIVILEGES, DEFAULTS, EXTENSIONS)]


def test_both_ways_give_the_same_privileges(server: tuple[int, Secrets], tmp_path: Path) -> None:
    port, secrets = server
    script = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))["configs"]["roles"]["content"]
    (tmp_path / "owner_password").write_text(secrets.owner_password)
    (tmp_path / "app_password").write_text(secrets.app_password)
    connection = {"PGHOST": "127.0.0.1", "PGPORT": str(port), "PGPASSWORD": secrets.superuser_password}
    environment = {
        "PATH": f"{postgres.BINARIES}:{os.environ['PATH']}",
        "POSTGRES_USER": "postgres",
        "POSTGRES_DB": "workbench",
        **connection,
    }
    with psycopg.connect(
        postgres.url("postgres", secrets.superuser_password, port, "postgres"), autocommit=True
    ) as superuser:
        superuser.execute("CREATE DATABASE workbench")  # the image does this before it runs the script
    subprocess.run(
        ("sh", "-c", script.replace("$$", "$").replace("/run/secrets", str(tmp_path))),
        env=environment,
        check=True,
        capture_output=True,
    )
    by_script = facts(port, secrets)

    with psycopg.connect(
        postgres.url("postgres", secrets.superuser_password, port, "postgres"), autocommit=True
    ) as superuser:
        superuser.execute("DROP DATABASE workbench")
        superuser.execute("DROP ROLE workbench_owner")
        superuser.execute("DROP ROLE workbench_app")
    database.ensure_database(port, secrets, for_tests=False)
    assert facts(port, secrets) == by_script
    assert by_script[2] == [("plpgsql",), ("vector",)]

    database.ensure_database(port, secrets, for_tests=False)
    assert facts(port, secrets) == by_script, "the second start changes nothing"
