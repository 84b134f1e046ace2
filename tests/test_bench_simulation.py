"""The simulated queues against theory, and against what was measured."""

from __future__ import annotations

import random
import statistics
from dataclasses import replace

import pytest

from tests.bench.simulation import (
    MOST_BUSY,
    Clock,
    Costs,
    Load,
    Station,
    erlang_c,
    erlang_wait,
    limits,
    offered,
    poisson,
    quantile,
    read_costs,
    servers_for,
    simulated,
)

COSTS = Costs(
    events_of_a_decision=2.0,
    seal_base=0.01,
    seal_event=0.0001,
    verify_event=0.0001,
    event_bytes=1_000.0,
    claim=0.05,
    sweeps={"one": (0.1, 5.0), "other": (0.2, 10.0)},
)


@pytest.mark.parametrize(("servers", "load", "chance"), [(1, 0.7, 0.7), (2, 1.0, 1 / 3), (10, 8.0, 0.4092)])
def test_erlangs_formula_gives_the_known_values(servers: int, load: float, chance: float) -> None:
    assert erlang_c(servers, load) == pytest.approx(chance, abs=1e-4)


@pytest.mark.parametrize(("servers", "rate"), [(1, 0.6), (2, 1.2), (8, 5.2)])
def test_a_queue_waits_as_erlang_says(servers: int, rate: float) -> None:
    rng, clock, station = random.Random(3), Clock(), Station("queue", servers)
    seconds = 150_000.0 / rate

    def come() -> None:
        clock.enter(station, rng.expovariate(1.0), lambda _moment: None)

    for moment in poisson(rng, rate, seconds):
        clock.at(moment, come)
    clock.run()

    assert statistics.fmean(station.waits) == pytest.approx(erlang_wait(servers, rate, 1.0), rel=0.06)
    waited = sum(wait > 0 for wait in station.waits) / len(station.waits)
    assert waited == pytest.approx(erlang_c(servers, rate), rel=0.04)
    assert station.utilisation(seconds) == pytest.approx(rate / servers, rel=0.02)


def test_the_load_that_was_measured_takes_as_long_as_it_took() -> None:
    """``make load`` of docs/performance.md: 23 requests a second, two web processes; p50 33 ms, p95 80 ms."""
    load = Load(
        reviewers=50, decision_seconds=50 / (2_817 / 300), analysts_of_a_reviewer=0.2, question_seconds=60.0
    )
    servers = {"web": 2, "database": 2, "llm": 1, "ingest": 1, "default": 1}

    outcome = simulated(load, COSTS, servers=servers, seconds=600.0)

    assert len(outcome.answers) / 600 == pytest.approx(6_900 / 300, rel=0.03)
    assert 1000 * quantile(outcome.answers, 0.5) == pytest.approx(33, rel=0.4)
    assert 1000 * quantile(outcome.answers, 0.95) == pytest.approx(80, rel=0.2)


def test_servers_are_busy_for_what_is_planned_and_no_more() -> None:
    load = Load(reviewers=2_000)
    outcome = simulated(load, COSTS, seconds=200.0)

    for name, count in servers_for(load, COSTS).items():
        expected = offered(load, COSTS)[name] / count
        assert expected <= MOST_BUSY
        assert outcome.stations[name][0] == pytest.approx(expected, rel=0.15), name


def test_an_event_waits_for_the_next_seal_and_longer_where_the_sealer_is_too_slow() -> None:
    load = Load(reviewers=3_000)
    events = load.decisions * COSTS.events_of_a_decision
    at_ease = simulated(load, COSTS, seconds=120.0)
    slow = replace(COSTS, seal_event=1.2 / events)
    behind = simulated(load, slow, seconds=120.0)

    assert 2.3 < quantile(at_ease.seals, 0.5) < 2.9
    assert max(at_ease.seals) < 6
    assert events * COSTS.seal_event < at_ease.sealing < 1.5 * events * COSTS.seal_event
    assert max(behind.seals) > 15
    assert len(behind.seals) == pytest.approx(120 * events, rel=0.1), "all are sealed in the end"
    assert limits(load, slow)["seal"] < 1 < limits(load, COSTS)["seal"]


def test_the_same_seed_gives_the_same_day_and_the_committed_costs_can_be_read() -> None:
    costs = read_costs()
    first, second = (simulated(Load(reviewers=100), costs, seconds=20.0, seed=5) for _ in range(2))

    assert first == second
    assert 0 < costs.beat < 1
    assert costs.seal(10_000) > costs.seal(100) > 0
