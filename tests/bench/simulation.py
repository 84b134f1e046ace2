"""A simulated working day: how many processes of each kind so many people need, and what becomes the limit first.

A discrete-event simulation of queues. Requests pass a web process and PostgreSQL, questions an ``llm`` worker, files an
``ingest`` worker; beat sends its sweeps to the ``default`` workers; the sealer takes all events that wait every five
seconds. Service times are those of ``limits.json``, which ``python -m tests.bench limits`` measures, and of
``docs/performance.md`` and ``docs/scaling.md``. Without networks, failures and locks: a plan, not a promise.

``python -m tests.bench.simulation [--costs var/limits.json]`` prints the tables.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import math
import random
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.bench.registry import Figure, Size, measurement

COSTS = Path(__file__).with_name("limits.json")
#: A station is sized so that it is busy for at most this share of its time.
MOST_BUSY = 0.7
#: Share of the people at work by hour of the day.
DAY = {8: 0.3, 9: 0.8, 10: 1.0, 11: 1.0, 12: 0.5, 13: 0.8, 14: 1.0, 15: 1.0, 16: 0.8, 17: 0.3}
HOUR = 3600.0
SEAL_SECONDS, SEAL_BATCH = 5.0, 5_000
WORKING_DAYS = 250
#: Of docs/performance.md, ``make load``: processor time of a request, and requests of a decision.
REQUEST_WEB_S, REQUEST_DATABASE_S, REQUESTS_OF_A_DECISION = 0.021, 0.006, 6_900 / 2_817
#: Of docs/scaling.md: core seconds of a question and of a page; bytes of a passage.
QUESTION_S, PAGE_S = 0.26, 0.4
PASSAGE_BYTES, TEXT_BYTES, HNSW_BYTES, LEXICAL_BYTES = 5_300, 2_400, 1_100, 2_000
GIGABYTE = 1e9


# --- queues -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Station:
    """``servers`` alike that take jobs in the order in which they come. Waits and times are in seconds."""

    name: str
    servers: int
    waits: list[float] = field(default_factory=list)
    busy_seconds: float = 0.0
    _busy: int = 0
    _queue: deque[tuple[float, float, Callable[[float], None]]] = field(default_factory=deque)

    def utilisation(self, seconds: float) -> float:
        """Share of the time of its servers that they worked."""
        return self.busy_seconds / (seconds * self.servers)


class Clock:
    """The events that are to come, by their time."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def at(self, moment: float, event: Callable[[], None]) -> None:
        """Calls ``event`` then; those of one moment in the order given."""
        heapq.heappush(self._events, (moment, next(self._order), event))

    def run(self) -> None:
        """Until nothing is to come."""
        while self._events:
            self.now, _, event = heapq.heappop(self._events)
            event()

    def enter(self, station: Station, service: float, then: Callable[[float], None]) -> None:
        """A job of ``service`` seconds; ``then`` gets the moment at which it ends."""
        station._queue.append((self.now, service, then))
        self._serve(station)

    def _serve(self, station: Station) -> None:
        while station._queue and station._busy < station.servers:
            came, service, then = station._queue.popleft()
            station.waits.append(self.now - came)
            station.busy_seconds += service
            station._busy += 1
            self.at(self.now + service, lambda then=then: self._leave(station, then))

    def _leave(self, station: Station, then: Callable[[float], None]) -> None:
        station._busy -= 1
        self._serve(station)
        then(self.now)


def poisson(rng: random.Random, rate: float, seconds: float) -> Iterator[float]:
    """The moments of a Poisson process of ``rate`` a second."""
    moment = rng.expovariate(rate) if rate > 0 else seconds
    while moment < seconds:
        yield moment
        moment += rng.expovariate(rate)


def erlang_c(servers: int, load: float) -> float:
    """The chance to wait in M/M/c; ``load`` is arrival rate times service time, below ``servers``."""
    blocked = 1.0
    for number in range(1, servers + 1):  # Erlang B, by its recursion
        blocked = load * blocked / (number + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))


def erlang_wait(servers: int, rate: float, service: float) -> float:
    """The mean wait of M/M/c in seconds."""
    return erlang_c(servers, rate * service) * service / (servers - rate * service)


def quantile(values: Sequence[float], share: float) -> float:
    """A value below which that share lies; 0 of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


# --- what is asked of an installation ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Load:
    """People and documents of an installation. The defaults are assumptions, each to be replaced by one's own."""

    reviewers: int
    passages: int = 1_000_000
    decision_seconds: float = 30.0
    analysts_of_a_reviewer: float = 0.1
    question_seconds: float = 600.0
    documents_of_a_reviewer_a_day: float = 2.0
    pages_of_a_document: float = 20.0
    rows_waiting: int = 100_000

    @property
    def decisions(self) -> float:
        """A second, while all are at work."""
        return self.reviewers / self.decision_seconds

    @property
    def questions(self) -> float:
        """A second, while all are at work."""
        return self.reviewers * self.analysts_of_a_reviewer / self.question_seconds

    @property
    def documents(self) -> float:
        """A second, while all are at work."""
        return self.reviewers * self.documents_of_a_reviewer_a_day / (HOUR * sum(DAY.values()))


@dataclass(frozen=True, slots=True)
class Costs:
    """Service times in seconds; ``sweeps`` by task: (time, seconds between two).

    The committed ones are on the clock of a quick run, with sweeps of 10,000 rows.
    """

    events_of_a_decision: float
    seal_base: float
    seal_event: float
    verify_event: float
    event_bytes: float
    claim: float
    sweeps: dict[str, tuple[float, float]]

    @classmethod
    def of(cls, measured: dict[str, float]) -> Costs:
        """The figures of :mod:`tests.bench.limits`. Raises :class:`KeyError` where one is missing."""
        return cls(
            events_of_a_decision=measured["events_of_a_decision"],
            seal_base=measured["seal_10_s"],
            seal_event=measured["seal_event_s"],
            verify_event=measured["verify_event_s"],
            event_bytes=measured["event_bytes"],
            claim=measured["decision_1_s"],
            sweeps={
                name.removeprefix("sweep ").removesuffix(", waiting"): (
                    spent,
                    measured[f"every {name[6:-9]}"],
                )
                for name, spent in measured.items()
                if name.startswith("sweep ") and name.endswith(", waiting")
            },
        )

    def seal(self, events: int) -> float:
        """Seconds to seal so many events at once."""
        return math.ceil(events / SEAL_BATCH) * self.seal_base + events * self.seal_event

    @property
    def beat(self) -> float:
        """The share of one ``default`` process that the sweeps take."""
        return sum(spent / every for spent, every in self.sweeps.values())


STATIONS = ("web", "database", "llm", "ingest", "default")


def offered(load: Load, costs: Costs) -> dict[str, float]:
    """By station, how many servers would be busy without a pause in the busiest hour."""
    requests = load.decisions * REQUESTS_OF_A_DECISION
    return {
        "web": requests * REQUEST_WEB_S,
        "database": requests * REQUEST_DATABASE_S,
        "llm": load.questions * QUESTION_S,
        "ingest": load.documents * load.pages_of_a_document * PAGE_S,
        "default": costs.beat,
    }


def servers_for(load: Load, costs: Costs) -> dict[str, int]:
    """By station, the fewest that are busy for at most :data:`MOST_BUSY` of the busiest hour."""
    return {name: max(1, math.ceil(busy / MOST_BUSY)) for name, busy in offered(load, costs).items()}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one window: by station (utilisation, p50 and p95 of the wait, seconds); times from request to answer and from
    event to seal; share of the sealer's time."""

    stations: dict[str, tuple[float, float, float]]
    answers: list[float]
    seals: list[float]
    sealing: float


def simulated(
    load: Load,
    costs: Costs,
    *,
    servers: dict[str, int] | None = None,
    share: float = 1.0,
    seconds: float = 120.0,
    seed: int = 1,
) -> Outcome:
    """One window of the day in which that share of the people is at work. Times between arrivals and service times are
    exponential, but for the sweeps and the seal."""
    rng, clock = random.Random(seed), Clock()
    given = servers or servers_for(load, costs)
    stations = {name: Station(name, given[name]) for name in STATIONS}
    answers: list[float] = []
    pending: deque[float] = deque()
    sealer = _Sealer(clock, costs, pending, ends=seconds)

    def request(is_decision: bool) -> None:
        came = clock.now

        def answered(moment: float) -> None:
            answers.append(moment - came)
            if is_decision:
                whole, rest = divmod(costs.events_of_a_decision, 1)
                pending.extend([moment] * (int(whole) + (rng.random() < rest)))

        def asked(_moment: float) -> None:
            clock.enter(stations["database"], rng.expovariate(1 / REQUEST_DATABASE_S), answered)

        clock.enter(stations["web"], rng.expovariate(1 / REQUEST_WEB_S), asked)

    def work(station: str, service: float) -> None:
        clock.enter(stations[station], service, lambda _moment: None)

    requests = share * load.decisions * REQUESTS_OF_A_DECISION
    for moment in poisson(rng, requests, seconds):
        is_decision = rng.random() < 1 / REQUESTS_OF_A_DECISION
        clock.at(moment, lambda is_decision=is_decision: request(is_decision))
    reading = load.pages_of_a_document * PAGE_S
    for name, rate, service in (
        ("llm", share * load.questions, QUESTION_S),
        ("ingest", share * load.documents, reading),
    ):
        for moment in poisson(rng, rate, seconds):
            clock.at(moment, lambda name=name, service=service: work(name, rng.expovariate(1 / service)))
    for spent, every in costs.sweeps.values():
        moment = rng.uniform(0, every)
        while moment < seconds:
            clock.at(moment, lambda spent=spent: work("default", spent))
            moment += every
    clock.run()
    return Outcome(
        stations={
            name: (station.utilisation(seconds), quantile(station.waits, 0.5), quantile(station.waits, 0.95))
            for name, station in stations.items()
        },
        answers=answers,
        seals=sealer.waits,
        sealing=sealer.busy_seconds / seconds,
    )


class _Sealer:
    """One process that beat wakes every five seconds; it seals until nothing waits."""

    def __init__(self, clock: Clock, costs: Costs, pending: deque[float], *, ends: float) -> None:
        self.waits: list[float] = []
        self.busy_seconds = 0.0
        self._clock, self._costs, self._pending, self._ends = clock, costs, pending, ends
        clock.at(SEAL_SECONDS, self._look)

    def _look(self) -> None:
        if self._pending:
            batch = [self._pending.popleft() for _ in range(min(SEAL_BATCH, len(self._pending)))]
            spent = self._costs.seal(len(batch))
            self.busy_seconds += spent
            self._clock.at(self._clock.now + spent, lambda: self._sealed(batch))
        elif self._clock.now < self._ends:
            self._clock.at(SEAL_SECONDS * (math.floor(self._clock.now / SEAL_SECONDS) + 1), self._look)

    def _sealed(self, batch: list[float]) -> None:
        self.waits += [self._clock.now - moment for moment in batch]
        self._look()


# --- where it ends ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Machine:
    """The largest single server that is planned with."""

    cores: int = 64
    memory_gb: float = 256.0
    disk_gb: float = 8_000.0


def limits(load: Load, costs: Costs, machine: Machine = Machine()) -> dict[str, float]:
    """By part, how many times this load it carries at :data:`MOST_BUSY` of what it can; below 1 it is too small.

    A year of the trail and all text lie on one disk; the HNSW indexes of all vectors in the memory of one server.
    """
    events = load.decisions * costs.events_of_a_decision
    year = events * HOUR * sum(DAY.values()) * WORKING_DAYS * costs.event_bytes
    return {
        "seal": MOST_BUSY / (events * costs.seal_event),
        "beat": MOST_BUSY / costs.beat,
        "database cores": MOST_BUSY * machine.cores / offered(load, costs)["database"],
        "disk of text": MOST_BUSY * machine.disk_gb * GIGABYTE / (load.passages * TEXT_BYTES),
        "disk of a year's trail": MOST_BUSY * machine.disk_gb * GIGABYTE / year,
        "memory of HNSW": MOST_BUSY * machine.memory_gb * GIGABYTE / (load.passages * HNSW_BYTES),
    }


def read_costs(path: Path = COSTS) -> Costs:
    """The measured service times."""
    return Costs.of(json.loads(path.read_text(encoding="utf-8")))


def day_rows(load: Load, costs: Costs, *, seconds: float) -> Iterator[tuple[str, int, float, float, float]]:
    """Of each station over a day: name, servers, highest utilisation of an hour, p50 and p95 of the wait in it."""
    servers = servers_for(load, costs)
    windows = [
        simulated(load, costs, servers=servers, share=share, seconds=seconds, seed=hour)
        for hour, share in DAY.items()
    ]
    for name in STATIONS:
        busiest = max((window.stations[name] for window in windows), key=lambda row: row[0])
        yield (name, servers[name], *busiest)
    busiest_window = max(windows, key=lambda window: window.sealing)
    yield (
        "sealer",
        1,
        busiest_window.sealing,
        quantile(busiest_window.seals, 0.5),
        quantile(busiest_window.seals, 0.95),
    )


@measurement("simulation")
def measure(size: Size) -> Iterator[Figure]:
    """A day of 10,000 reviewers, and what carries how much more."""
    costs = read_costs()
    load = Load(reviewers=10_000, passages=1_000_000_000)
    for name, servers, busy, _p50, p95 in day_rows(load, costs, seconds=20.0 if size == "quick" else 120.0):
        yield Figure(f"{name}: busy in the busiest hour", busy, "", 1.0, "at most", f"{servers} servers")
        yield Figure(f"{name}: p95 of the wait", 1000 * p95, "ms")
    for name, times in limits(load, costs).items():
        yield Figure(f"{name} carries", times, "x this load")


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a table for each number of reviewers, and one of limits."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.simulation", description=__doc__)
    parser.add_argument("--costs", type=Path, default=COSTS, help="the measured service times")
    parser.add_argument("--reviewers", type=int, nargs="*", default=[50, 1_000, 10_000])
    parser.add_argument("--requests", type=float, default=50_000, help="simulated of each hour, about")
    options = parser.parse_args(arguments)
    costs = read_costs(options.costs)
    for reviewers in options.reviewers:
        load = Load(reviewers=reviewers)
        print(
            f"\n{reviewers:,} reviewers: {load.decisions:.1f} decisions, {load.questions:.2f} questions,"
            f" {load.documents:.3f} documents a second"
        )
        seconds = min(HOUR, options.requests / (load.decisions * REQUESTS_OF_A_DECISION))
        for name, servers, busy, p50, p95 in day_rows(load, costs, seconds=seconds):
            print(
                f"  {name:<9} {servers:>5} servers  busy {100 * busy:5.1f} %"
                f"  wait p50 {1000 * p50:9.1f} ms  p95 {1000 * p95:9.1f} ms"
            )
    for reviewers, passages in itertools.product(options.reviewers, (10**6, 10**7, 10**8, 10**9)):
        load = replace(Load(reviewers=reviewers), passages=passages)
        found = ", ".join(f"{name} {times:,.2f} x" for name, times in limits(load, costs).items())
        print(f"{reviewers:,} reviewers, {passages:,} passages: {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
