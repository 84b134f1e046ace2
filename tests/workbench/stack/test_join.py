"""Commands find the running services or start them, and the last one to end takes them along."""

from __future__ import annotations

import json
import signal

import pytest

from tests.workbench.stack.conftest import Bench

pytestmark = pytest.mark.integration


def test_a_command_starts_the_services_and_they_end_with_it(bench: Bench) -> None:
    adding = bench.manage("add", "from cold")
    assert adding.end() == 0, adding.err
    assert adding.out == ""
    assert "starting the database, the broker and a worker" in adding.err
    assert bench.empties()

    listing = bench.manage("list")
    assert listing.end() == 0
    assert json.loads(listing.out) == ["from cold"], "standard output holds the answer and nothing else"
    assert bench.empties()


def test_the_services_stay_while_any_command_uses_them(bench: Bench) -> None:
    first, second = bench.manage("hold"), bench.manage("hold")
    first.says("postgres://workbench_app:")
    second.says("postgres://workbench_app:")
    assert first.out == second.out, "two commands at once from cold use one stack"
    supervisor = bench.state().supervisor.pid

    assert first.end() == 0
    assert bench.manage("add", "meanwhile").end() == 0
    assert bench.state().supervisor.pid == supervisor

    assert second.end() == 0
    assert bench.empties()


def test_a_killed_command_counts_as_ended(bench: Bench) -> None:
    holding = bench.manage("hold")
    holding.says("postgres://")
    holding.signal(signal.SIGKILL).end()
    assert bench.empties()


def test_a_killed_background_supervisor_is_replaced_by_the_next_command(bench: Bench) -> None:
    holding = bench.manage("hold")
    holding.says("postgres://")
    bench.state().supervisor.find().kill()
    listing = bench.manage("list")
    assert listing.end() == 0, listing.err
    assert json.loads(listing.out) == []


def test_run_joins_a_stack_that_a_command_started(bench: Bench) -> None:
    holding = bench.manage("hold")
    holding.says("postgres://")
    background = bench.state().supervisor.pid
    running = bench.run()
    assert "a command has already started the services" in running.err
    second = bench.stack("run")
    assert second.end() == 1
    assert "already runs at" in second.err

    assert holding.end() == 0
    assert bench.manage("add", "the run keeps them").end() == 0
    assert bench.state().supervisor.pid == background
    assert running.signal().end() == 0
    assert "another command is using them" not in running.err
    assert bench.empties()


def test_run_leaves_joined_services_to_the_command_that_uses_them(bench: Bench) -> None:
    holding = bench.manage("hold")
    holding.says("postgres://")
    running = bench.run()
    assert running.signal().end() == 0
    assert "another command is using them" in running.err
    assert bench.manage("list").end() == 0
    assert holding.end() == 0
    assert bench.empties()


def test_run_says_so_when_joined_services_go_away(bench: Bench) -> None:
    holding = bench.manage("hold")
    holding.says("postgres://")
    running = bench.run()
    bench.state().supervisor.find().kill()
    assert running.end() == 1
    assert "start again: make run" in running.err
    assert holding.end() == 0


def test_a_command_uses_the_services_of_a_run(bench: Bench) -> None:
    running = bench.run()
    adding = bench.manage("add", "beside the run")
    assert adding.end() == 0
    assert adding.err == ""
    assert running.signal().end() == 0


def test_services_that_cannot_start_are_a_failure_with_a_reason(bench: Bench) -> None:
    failing = bench.manage("list", STANDIN_BROKEN="migrate")
    assert failing.end() == 1
    assert "the migration is broken on purpose" in failing.err
    assert "Traceback" not in failing.err
    assert bench.empties()


def test_a_given_database_is_used_as_it_is(bench: Bench) -> None:
    refused = bench.manage("list", DATABASE_URL="postgres://nobody@127.0.0.1:1/none")
    assert refused.end() == 1
    assert not bench.home.run.exists()
