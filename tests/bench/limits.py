"""What a busy installation asks of its single parts: the seal, the counts of the queue, the sweeps of beat, a card.

Rows are made in bulk, times are those of the product's own services and selectors, in this process. The service times
go to ``var/limits.json``; ``limits.json`` beside this file holds those of the documented run, and
:mod:`tests.bench.simulation` counts with them.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.registry import Figure, Size, measurement

REPORT = Path("var/limits.json")
CARDS = {"quick": (1_000, 10_000), "full": (1_000, 10_000, 100_000, 1_000_000)}
ROWS = {"quick": 10_000, "full": 100_000}
EVENTS = {"quick": 5_000, "full": 50_000}
BATCHES = (10, 100, 1_000, 5_000)
#: Pace of the writers while the latency of the seal is measured, and for how long.
PACE, PACE_SECONDS = 100, {"quick": 10.0, "full": 30.0}
COLLECTIONS, CARDS_OF_A_RUN = 10, 50
WARM_UP, CALLS = 3, 20
SWEEPS = 5
THREADS = (1, 4, 16)
THREAD_SECONDS = {"quick": 5.0, "full": 15.0}
TARGET_MS = 150.0


@measurement("limits", needs_services=True)
def measure(size: Size) -> Iterator[Figure]:
    """Seal, sweeps by rows, cards under contention, counts by number of cards."""
    costs: dict[str, float] = {}
    for figure in _all(size, costs):
        print(
            f"{figure.what}: {figure.value:.4g} {figure.unit} ({figure.beside})", file=sys.stderr, flush=True
        )
        REPORT.parent.mkdir(parents=True, exist_ok=True)
        REPORT.write_text(json.dumps(costs, indent=2) + "\n", encoding="utf-8")
        yield figure


def _all(size: Size, costs: dict[str, float]) -> Iterator[Figure]:
    yield from _sealing(size, costs)
    scene = _Scene()
    yield from _sweeps(scene, size, costs)
    for cards in CARDS[size]:
        scene.grow(cards)
        yield from _counts(scene, cards, costs)
        if cards == CARDS[size][1]:
            yield from _contention(scene, size, costs)


# --- the seal ---------------------------------------------------------------------------------------


def _sealing(size: Size, costs: dict[str, float]) -> Iterator[Figure]:
    from workbench.audit.services import audit_seal, audit_seal_all, audit_verify

    audit_seal_all()
    for batch in BATCHES:
        _events_add(batch)
        spent = _spent(lambda batch=batch: audit_seal(limit=batch))
        costs[f"seal_{batch}_s"] = spent.core
        yield from _figures(f"one batch of {batch:,} events sealed", [spent])
    count = EVENTS[size]
    _events_add(count)
    spent = _spent(audit_seal_all)
    costs["seal_event_s"] = spent.core / count
    beside = f"{count:,} that waited; {count / spent.wall:,.0f} on the clock"
    yield Figure("events sealed by a core second", count / spent.core, "1/s", beside=beside)
    spent = _spent(audit_verify)
    report = spent.result
    if not report.ok or report.unsealed:
        raise RuntimeError(f"the chain is not whole: {report.problem}")
    costs["verify_event_s"] = spent.core / report.events
    costs["event_bytes"] = _bytes_of_the_trail() / report.events
    yield Figure("events verified by a core second", report.events / spent.core, "1/s")
    yield Figure("an event in its tables with their indexes", costs["event_bytes"] / 1000, "kB")
    waits = _sealed_while_written(PACE_SECONDS[size])
    for name, share in (("p50", 0.5), ("p95", 0.95)):
        yield Figure(
            f"from event to seal: {name}",
            _quantile(waits, share),
            "s",
            beside=f"{len(waits):,} events, about {PACE} a second, a seal every 5 s as beat sends it",
        )


def _bytes_of_the_trail() -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest(%s::text[]) AS name",
            [["audit_event", "audit_seal"]],
        )
        return int(cursor.fetchone()[0])


def _events_add(count: int) -> None:
    """Events as :func:`audit_record` writes them, in bulk."""
    from workbench.accounts.models import User
    from workbench.audit.models import AuditEvent

    system = User.objects.system()
    AuditEvent.objects.bulk_create(
        (
            AuditEvent(
                actor=system,
                actor_name="system",
                actor_kind="system",
                action="candidate.approved",
                object_type="candidate",
                object_id=str(number),
                collection_id=1,
                after={"role": "primary", "run": number, "seconds": 5.0},
            )
            for number in range(count)
        ),
        batch_size=2_000,
    )


def _sealed_while_written(seconds: float) -> list[float]:
    """Seconds that each event waited for its seal."""
    from django.db import connections, transaction

    from workbench.accounts.models import User
    from workbench.audit.models import AuditSeal
    from workbench.audit.services import audit_record, audit_seal_all

    head = AuditSeal.objects.order_by("-position").values_list("position", flat=True).first() or 0
    system, ends, writers = User.objects.system(), time.monotonic() + seconds, 4

    def write() -> None:
        while time.monotonic() < ends:
            with transaction.atomic():
                audit_record(actor=system, action="comment.added", object_type="bench", object_id=1)
            time.sleep(writers / PACE)
        connections.close_all()

    threads = [threading.Thread(target=write) for _ in range(writers)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        time.sleep(5.0)
        audit_seal_all()
    audit_seal_all()
    seals = AuditSeal.objects.filter(position__gt=head).values_list("sealed_at", "event__created_at")
    return [(sealed - written).total_seconds() for sealed, written in seals]


# --- cards ------------------------------------------------------------------------------------------


class _Scene:
    """Collections with reviewers, and a finished run in each that is copied until enough cards wait."""

    def __init__(self) -> None:
        from workbench.accounts.models import MemberRole, Membership, User
        from workbench.documents.models import Document
        from workbench.documents.services import collection_create

        stamp = time.time_ns()
        self.system = User.objects.system()
        self.collections = [
            collection_create(actor=self.system, name=f"limits {stamp} {n}", slug=f"limits-{stamp}-{n}")
            for n in range(COLLECTIONS)
        ]
        self.reviewers = [
            User.objects.create_user(f"limits-{stamp}-{n}@example.org").pk for n in range(max(THREADS) + 1)
        ]
        Membership.objects.bulk_create(
            Membership(user_id=user, collection=collection, role=MemberRole.REVIEWER)
            for user in self.reviewers
            for collection in self.collections
        )
        self.documents = [
            Document.objects.create(
                collection=collection,
                sha256="a" * 64,
                name="a.pdf",
                size=1,
                status="ready",
                uploaded_by=self.system,
            )
            for collection in self.collections
        ]
        self.runs = [self._source(number) for number in range(COLLECTIONS)]
        self.cards = COLLECTIONS * CARDS_OF_A_RUN

    def reviewer(self, number: int = 0) -> Any:
        """The person as a request finds them, with nothing remembered."""
        from workbench.accounts.models import User

        return User.objects.get(pk=self.reviewers[number])

    def grow(self, cards: int) -> None:
        """Copies runs until so many cards wait; the planner knows them."""
        from django.db import connection

        from tests.bulk import analyse, copy_runs

        connection.ensure_connection()
        for source in self.runs:
            missing = (cards - self.cards) // (COLLECTIONS * CARDS_OF_A_RUN)
            while missing > 0:
                copies = min(missing, 500)
                copy_runs(connection.connection, source=source, copies=copies, days=30)
                missing -= copies
        self.cards = max(self.cards, cards)
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE review_queueitem")  # the counts read its indexes alone
        analyse(connection.connection)

    def _source(self, number: int) -> int:
        from workbench.review.models import QueueItem
        from workbench.runs.models import (
            Candidate,
            CandidateText,
            Question,
            Run,
            RunStatus,
            Verdict,
        )

        collection, document = self.collections[number], self.documents[number]
        question = Question.objects.create(
            collection=collection,
            document=document,
            text="How long?",
            normalised="how long?",
            asked_by=self.system,
        )
        run = Run.objects.create(
            question=question,
            collection=collection,
            strategy="offline",
            status=RunStatus.DONE,
            requested_by=self.system,
            not_found=False,
        )
        places = ("page_start", "line_start", "page_end", "line_end")
        candidates = Candidate.objects.bulk_create(
            Candidate(
                run=run,
                document=document,
                candidate_id=f"p{n + 1}_l1_l2",
                position=n,
                text_hash="0" * 64,
                methods=["bm25"],
                **{
                    f"{kind}_{name}": n + 1 if "page" in name else 1
                    for kind in ("anchor", "context")
                    for name in places
                },
            )
            for n in range(CARDS_OF_A_RUN)
        )
        text = "Access records are kept for twenty-four months."
        CandidateText.objects.bulk_create(
            CandidateText(candidate=one, snippet=text, anchor=text, context=text) for one in candidates
        )
        Verdict.objects.bulk_create(
            Verdict(
                candidate=one,
                role="primary",
                reason="States the period.",
                decided_by_kind="rule",
                decided_by_name="rules",
                probability=0.5,
                needs_person=True,
                order=one.position,
            )
            for one in candidates
        )
        QueueItem.objects.bulk_create(
            QueueItem(collection=collection, run=run, candidate=one, is_required=True, priority=0.5)
            for one in candidates
        )
        return int(run.pk)


def _counts(scene: _Scene, cards: int, costs: dict[str, float]) -> Iterator[Figure]:
    """The queue page, the number in the shell, and the way to the next card, of one reviewer alone."""
    from django.core.cache import caches
    from django.http import QueryDict

    from workbench.review.queue import queue_claim_next, queue_release
    from workbench.review.queue_page import queue_page
    from workbench.review.waiting import waiting_for

    def badge(user: Any) -> None:
        caches["process"].clear()
        waiting_for(user=user)

    def claim(user: Any) -> None:
        item = queue_claim_next(actor=user)
        if item is None:
            raise RuntimeError("there should be a card")
        released.append(item)

    released: list[Any] = []
    works: dict[str, Callable[[Any], object]] = {
        "queue_page": lambda user: queue_page(user=user, query=QueryDict("")),
        "queue_page_by_collection": lambda user: queue_page(user=user, query=QueryDict("order=collection")),
        "badge": badge,
        "claim": claim,
    }
    for name, work in works.items():
        spent = []
        for _ in range(WARM_UP + CALLS):
            user = scene.reviewer()
            spent.append(_spent(lambda user=user, work=work: work(user)))
            while released:
                queue_release(actor=user, item=released.pop())
        costs[f"{name}_{cards}_s"] = _median(spent[WARM_UP:])
        told = f"{name.replace('_', ' ')}, {cards:,} cards"
        yield from _figures(told, spent[WARM_UP:], target=TARGET_MS)


def _contention(scene: _Scene, size: Size, costs: dict[str, float]) -> Iterator[Figure]:
    """Claim the next card and approve it, in threads of one process: which wait for each other in the database."""
    from workbench.audit.models import AuditEvent
    from workbench.review.models import Review

    for threads in THREADS:
        events, reviews = AuditEvent.objects.count(), Review.objects.count()
        claims, decisions, conflicts = _decided(scene, threads, THREAD_SECONDS[size])
        rate = len(decisions) / THREAD_SECONDS[size]
        if Review.objects.count() - reviews != len(decisions):
            raise RuntimeError("each decision should have written one review")
        told = f"{threads} at once"
        beside = f"{conflicts} conflicts"
        yield Figure(f"decisions, {told}", rate, "1/s", beside=beside)
        yield from _figures(f"claim, {told}", claims)
        yield from _figures(f"decide, {told}", decisions)
        costs[f"decision_{threads}_s"] = _median(claims) + _median(decisions)
        if decisions:
            costs["events_of_a_decision"] = (AuditEvent.objects.count() - events) / len(decisions)
    yield Figure("events of a decision and its claim", costs["events_of_a_decision"], "")


def _decided(scene: _Scene, threads: int, seconds: float) -> tuple[list[_Spent], list[_Spent], int]:
    from django.db import connections

    from workbench.errors import Conflict
    from workbench.review.queue import queue_claim_next
    from workbench.review.services import candidate_approve

    claims: list[_Spent] = []
    decisions: list[_Spent] = []
    conflicts: list[int] = []
    failures: list[BaseException] = []
    ends = time.monotonic() + seconds

    def review(number: int) -> None:
        try:
            while time.monotonic() < ends:
                user = scene.reviewer(number)
                claim = _spent(lambda user=user: queue_claim_next(actor=user))
                item = claim.result
                if item is None:
                    raise RuntimeError("there should be a card")
                claims.append(claim)
                candidate = item.candidate
                try:
                    decisions.append(
                        _spent(lambda user=user, one=candidate: candidate_approve(actor=user, candidate=one))
                    )
                except Conflict:
                    conflicts.append(item.pk)
        except BaseException as error:
            failures.append(error)
        finally:
            connections.close_all()

    people = [threading.Thread(target=review, args=(number + 1,)) for number in range(threads)]
    for one in people:
        one.start()
    for one in people:
        one.join()
    if failures:
        raise failures[0]
    return claims, decisions, len(conflicts)


# --- the sweeps of beat -----------------------------------------------------------------------------


def _sweeps(scene: _Scene, size: Size, costs: dict[str, float]) -> Iterator[Figure]:
    """Each task that beat sends, on empty tables, beside finished rows, and with as many that wait."""
    rows, tasks = ROWS[size], _beat()
    for state, add in (
        ("at first", lambda: None),
        ("finished", lambda: _rows_add(scene, rows, waiting=False)),
        ("waiting", lambda: _rows_add(scene, rows, waiting=True)),
    ):
        add()
        told = state if state == "at first" else f"{rows:,} {state}"
        for name, (task, every) in tasks.items():
            spent = [_spent(task) for _ in range(SWEEPS)]
            costs[f"sweep {name}, {state}"] = _median(spent)
            costs[f"every {name}"] = every
            yield from _figures(f"{name} every {every:g} s, {told}", spent)
        turns = _turns()
        costs[f"turn, {state}"] = _median(turns)
        yield from _figures(f"a worker's turn, {told}", turns)
    for queue, messages in _broker().items():
        yield Figure(
            f"messages in {queue} after {SWEEPS} sweeps of {rows:,} waiting", messages, "", 100, "at most"
        )


def _beat() -> dict[str, tuple[Callable[[], object], float]]:
    """The tasks of the schedule that look for work every few seconds, and the seconds between two."""
    from django.conf import settings

    from workbench.infra.dispatch import task_named

    entries = sorted(settings.CELERY_BEAT_SCHEDULE.values(), key=lambda entry: str(entry["task"]))
    every = {entry["task"]: entry["schedule"] for entry in entries if isinstance(entry["schedule"], float)}
    return {name: (task_named(name), seconds) for name, seconds in every.items() if seconds < 3600}


def _rows_add(scene: _Scene, rows: int, *, waiting: bool) -> None:
    """Documents with their sketches, and runs: all ended, or all waiting since an hour ago. Copies of one row each."""
    from django.db import connection

    from tests.bulk import copy_rows
    from workbench.documents.models import Sketch

    connection.ensure_connection()
    document, run = scene.documents[0].pk, scene.runs[0]
    ago = "now() - interval '1 hour'"
    given = {
        "sha256": f"'{'w' if waiting else 'd'}' || lpad(n::text, 63, '0')",
        "status": "'queued'" if waiting else "'ready'",
        "created_at": ago,
        "finished_at": "NULL" if waiting else ago,
    }
    documents = copy_rows(connection.connection, "documents_document", key=document, times=rows, given=given)
    status = {"status": "'queued'" if waiting else "'done'", "created_at": ago}
    copy_rows(connection.connection, "questions_run", key=run, times=rows, given=status)
    with connection.cursor() as cursor:
        if not waiting:
            table = Sketch._meta.db_table
            sketches = f"INSERT INTO {table} (document_id, collection_id, hashes) SELECT key, %s, ARRAY[key]"
            collection = scene.collections[0].pk
            cursor.execute(f"{sketches} FROM unnest(%s::bigint[]) AS key", [collection, documents])
        for table in ("documents_document", Sketch._meta.db_table, "questions_run"):
            cursor.execute(f"VACUUM ANALYZE {table}")


def _turns() -> list[_Spent]:
    """A worker finds its next file, which is given back."""
    from workbench.documents.models import Document
    from workbench.documents.turns import turn_take
    from workbench.infra.leases import new_owner

    spent = []
    for _ in range(SWEEPS):
        spent.append(_spent(lambda: turn_take(owner=new_owner())))
        Document.objects.filter(pk=spent[-1].result).update(lease_owner="", lease_until=None, attempts=0)
    return spent


def _broker() -> dict[str, int]:
    """Messages in the queues, which are emptied."""
    from workbench.celery import app

    found = {}
    with app.connection_for_write() as broker:
        for queue in ("ingest", "llm"):
            with contextlib.suppress(Exception):
                found[queue] = broker.default_channel.queue_purge(queue)
    return found


# --- figures ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Spent:
    """Seconds: on the clock, and of a processor, here and in the server's process of this connection."""

    wall: float
    core: float
    result: Any


def _spent(work: Callable[[], Any]) -> _Spent:
    wall, core = time.perf_counter(), time.thread_time() + _server_seconds()
    result = work()
    return _Spent(time.perf_counter() - wall, time.thread_time() + _server_seconds() - core, result)


def _server_seconds() -> float:
    """Processor seconds of this connection's server process, without its parallel workers."""
    from django.db import connection

    connection.ensure_connection()
    schedule = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat").read_text(encoding="ascii")
    return int(schedule.split()[0]) / 1e9


def _median(spent: Sequence[_Spent]) -> float:
    return statistics.median(one.core for one in spent)


def _figures(what: str, spent: Sequence[_Spent], *, target: float | None = None) -> Iterator[Figure]:
    walls = [one.wall for one in spent]
    beside = f"p50 on the clock {1000 * statistics.median(walls):.1f} ms"
    yield Figure(
        f"{what}: of a core", 1000 * _median(spent), "ms", target, "at most" if target else None, beside
    )


def _quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
