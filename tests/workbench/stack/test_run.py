"""``make run``: one command brings everything up, and Ctrl-C takes everything down."""

from __future__ import annotations

import json
import signal
import socket
import stat
import urllib.request

import psutil
import pytest

from tests.workbench.stack.conftest import Bench, eventually

pytestmark = pytest.mark.integration


def page(bench: Bench) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{bench.port}/", timeout=120) as answer:
        return answer.read()


def notes(bench: Bench) -> list[str]:
    listing = bench.manage("list")
    assert listing.end() == 0, listing.err
    return json.loads(listing.out)


def test_it_serves_prints_the_logins_and_stops_cleanly(bench: Bench) -> None:
    running = bench.run()
    assert f"http://127.0.0.1:{bench.port}/" in running.out
    assert "analyst@example.org" in running.out
    assert "not-a-secret" in running.out
    assert page(bench) == b"the stand-in's page"
    assert {record.name for record in bench.state().children} == {
        "postgres",
        "valkey",
        "questions",
        "worker",
        "beat",
        "web",
    }

    assert running.signal(signal.SIGINT).end() == 0
    assert bench.empties()
    assert "Traceback" not in running.err


def test_a_second_start_keeps_data_and_secrets(bench: Bench) -> None:
    first = bench.run()
    assert bench.manage("add", "kept").end() == 0
    assert first.signal(signal.SIGTERM).end() == 0
    secrets = bench.home.secrets_file.read_text()
    assert stat.S_IMODE(bench.home.secrets_file.stat().st_mode) == 0o600

    second = bench.run()
    assert notes(bench) == ["kept"]
    assert bench.home.secrets_file.read_text() == secrets
    assert "applying migrations" not in second.err
    assert second.signal().end() == 0


def test_the_worker_takes_tasks_through_the_broker(bench: Bench) -> None:
    running = bench.run(STANDIN_CELERY="1")
    assert bench.manage("send", "by the worker").end() == 0
    eventually(lambda: notes(bench) == ["by the worker"])
    assert running.signal().end() == 0


def test_a_second_run_in_the_same_home_is_refused(bench: Bench) -> None:
    first = bench.run()
    second = bench.stack("run")
    assert second.end() == 1
    assert f"already runs at http://127.0.0.1:{bench.port}/ (pid {first.process.pid})" in second.err
    assert page(bench)


def test_an_occupied_port_is_named_with_a_free_one_and_nothing_is_started(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", bench.port)):
        refused = bench.stack("run")
        assert refused.end() == 1
    assert f"port {bench.port} on 127.0.0.1 is occupied" in refused.err
    assert "PORT=" in refused.err
    assert not bench.home.postgres.exists()


@pytest.mark.parametrize(("name", "value"), [("PORT", "eighty"), ("PORT", "70000"), ("HOST", "192.0.2.1")])
def test_a_wrong_address_is_refused(bench: Bench, name: str, value: str) -> None:
    refused = bench.stack("run", **{name: value})
    assert refused.end() == 1
    assert name in refused.err
    assert "Traceback" not in refused.err


def test_a_killed_supervisor_takes_its_children_along_and_the_next_start_works(bench: Bench) -> None:
    first = bench.run()
    assert bench.manage("add", "before the crash").end() == 0
    first.signal(signal.SIGKILL).end()
    second = bench.run()
    assert f"the last stack (pid {first.process.pid}) was not stopped cleanly" in second.err
    assert notes(bench) == ["before the crash"]
    assert second.signal().end() == 0
    assert bench.empties()


def test_children_that_outlive_their_supervisor_are_stopped_by_the_next_start(bench: Bench) -> None:
    first = bench.run()
    orphans = [bench.child(name) for name in ("postgres", "valkey", "worker")]
    # A suspended process does not see the signal that the kernel sends it when the supervisor dies.
    for orphan in orphans:
        orphan.suspend()
    first.signal(signal.SIGKILL).end()
    second = bench.run()
    assert all(not orphan.is_running() for orphan in orphans)
    assert "stopped a leftover" in second.err
    assert second.signal().end() == 0


def test_a_stale_pid_file_is_removed(bench: Bench) -> None:
    assert bench.run().signal().end() == 0
    # The number now belongs to another living process, which PostgreSQL by itself would respect.
    unrelated = psutil.Process().parent() or psutil.Process()
    stale = bench.home.postgres / "postmaster.pid"
    stale.write_text(f"{unrelated.pid}\n{bench.home.postgres}\n1\n5432\n\n127.0.0.1\n0 0\nready\n")
    again = bench.run()
    assert "removed a stale postmaster.pid" in again.err
    assert unrelated.is_running()
    assert again.signal().end() == 0


@pytest.mark.parametrize("name", ["web", "worker", "valkey"])
def test_a_child_that_dies_is_started_again(bench: Bench, name: str) -> None:
    running = bench.run()
    dead = bench.child(name)
    dead.kill()
    running.says(f"{name} ended (signal SIGKILL); starting it again in 1 s")
    eventually(lambda: bench.child(name).pid != dead.pid)
    assert running.signal().end() == 0


def test_a_web_server_that_cannot_start_ends_the_run_with_its_last_words(bench: Bench) -> None:
    failing = bench.stack("run", STANDIN_BROKEN="web")
    assert failing.end() == 1
    assert "web did not start" in failing.err
    assert "the page is broken on purpose" in failing.err
    assert bench.empties()


def test_a_failing_migration_ends_the_run_with_its_last_words(bench: Bench) -> None:
    failing = bench.stack("run", STANDIN_BROKEN="migrate")
    assert failing.end() == 1
    assert "the migration is broken on purpose" in failing.err
    assert bench.empties()
    assert bench.run().signal().end() == 0, "the next start tries again"


def test_stop_ends_a_run_from_elsewhere(bench: Bench) -> None:
    running = bench.run()
    assert bench.stack("status").end() == 0
    assert bench.stack("stop").end() == 0
    assert running.end() == 0
    assert bench.stack("status").end() == 3
