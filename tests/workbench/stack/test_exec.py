"""``exec``: temporary services for one command, and the privileges they come with."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from tests.workbench.stack.conftest import Bench

pytestmark = pytest.mark.integration

REPORT = """
import os, psycopg
print("home", os.environ["WORKBENCH_HOME"])
def attempt(url, *statements):
    try:
        with psycopg.connect(os.environ[url]) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchone()[0] if cursor.description else "done"
    except psycopg.Error as error:
        return type(error).__name__
print("app creates:", attempt("DATABASE_URL", "CREATE TABLE mine (id int)"))
print("owner creates:", attempt("DATABASE_OWNER_URL", "CREATE TABLE thing (id serial, v vector(3))"))
print("app inserts:", attempt("DATABASE_URL", "INSERT INTO thing (v) VALUES ('[1,2,3]') RETURNING id"))
print("app truncates:", attempt("DATABASE_URL", "TRUNCATE thing"))
print("app alters:", attempt("DATABASE_URL", "ALTER TABLE thing ADD COLUMN x int"))
print("app takes over:", attempt("DATABASE_URL", "SET ROLE workbench_owner"))
print("app reads files:", attempt("DATABASE_URL", "SELECT pg_read_file('PG_VERSION')"))
power = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
print("owner is superuser:", attempt("DATABASE_OWNER_URL", power))
print("tests may:", attempt("TEST_DATABASE_URL", power))
"""


def test_the_application_role_owns_nothing(bench: Bench) -> None:
    running = bench.stack("exec", "--", sys.executable, "-c", REPORT)
    assert running.end() == 0, running.err
    said = dict(line.split(":", 1) for line in running.out.splitlines() if ":" in line)
    assert {name: value.strip() for name, value in said.items()} == {
        "app creates": "InsufficientPrivilege",
        "owner creates": "done",
        "app inserts": "1",
        "app truncates": "InsufficientPrivilege",
        "app alters": "InsufficientPrivilege",
        "app takes over": "InsufficientPrivilege",
        "app reads files": "InsufficientPrivilege",
        "owner is superuser": "False",
        "tests may": "True",
    }


def test_everything_is_gone_afterwards_and_the_exit_status_is_the_commands(bench: Bench) -> None:
    running = bench.stack(
        "exec", "--", sys.executable, "-c", "import os; print(os.environ['WORKBENCH_HOME']); exit(7)"
    )
    assert running.end() == 7
    home = running.out.strip()
    assert "workbench-" in home
    assert not Path(home).exists()
    assert Bench(Path(home)).empties()


def test_a_signal_ends_the_command_and_the_services(bench: Bench) -> None:
    code = "import os, time; print('home', os.environ['WORKBENCH_HOME'], flush=True); time.sleep(600)"
    running = bench.stack("exec", "--", sys.executable, "-c", code)
    running.says("home ")
    home = running.out.split()[1]
    assert running.signal(signal.SIGTERM).end() == 143
    assert not Path(home).exists()
    assert Bench(Path(home)).empties()


def test_an_unknown_command_is_refused(bench: Bench) -> None:
    running = bench.stack("exec", "--", "no-such-command-here")
    assert running.end() == 1
    assert "'no-such-command-here' was not found" in running.err
