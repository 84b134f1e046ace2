"""Verification of the trail: only reads, in one snapshot, streamed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from .chain import COLUMNS, SELECT_EVENT, canonical_event, stream
from .verifier import GENESIS, event_hash, link_hash

_CHAIN = f"""
    SELECT s.position, s.event_id, s.event_hash, s.prev_hash, s.hash, {SELECT_EVENT}
    FROM audit_seal s LEFT JOIN audit_event e ON e.id = s.event_id
    WHERE s.position > %s
    ORDER BY s.position
"""  # noqa: S608  (constants only)
# Neither sealed nor waiting: the seal was taken away, or the row was put in behind the triggers' back.
_ORPHAN = """
    SELECT e.id
    FROM audit_event e
    LEFT JOIN audit_seal s ON s.event_id = e.id
    LEFT JOIN audit_pending p ON p.event_id = e.id
    WHERE s.event_id IS NULL AND p.event_id IS NULL
    ORDER BY e.id LIMIT 1
"""

#: Links that are computed anew while somebody waits for the answer; the command computes all.
VERIFIED_AT_ONCE = 100_000


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What a verification found.

    ``events`` counts all events and ``unsealed`` those that still wait for their place; ``head`` is the
    last hash of the chain (None before the first seal); ``first_broken`` the id of the first event that is
    not as it was sealed, and ``problem`` says in words what is wrong with it.
    """

    events: int
    unsealed: int
    head: str | None
    position: int
    checked: int
    first_broken: int | None
    problem: str

    @property
    def ok(self) -> bool:
        return self.first_broken is None

    def as_json(self) -> dict[str, Any]:
        """The stable keys of ``verify_audit --json``."""
        return {
            "events": self.events,
            "unsealed": self.unsealed,
            "head": self.head,
            "ok": self.ok,
            "first_broken": self.first_broken,
        }


@dataclass(frozen=True, slots=True)
class Fault:
    """The first event that is not as it was sealed."""

    event_id: int
    problem: str


def audit_verify(*, anchors: dict[int, str] | None = None, newest: int | None = None) -> VerifyReport:
    """Recomputes the whole chain and finds the first row that was changed, deleted, inserted or moved.

    ``anchors`` (position to hash, kept outside) prove in addition that the end of the chain was not cut off
    or written anew. Events that still wait for their seal are counted, not faulted.

    ``newest`` computes only that many links at the end of the chain anew, for a page that must answer soon.
    """
    with snapshot():
        start, prev_hash = _start(newest)
        walk = _walk(start, prev_hash, anchors or {})
        fault = walk.fault or _orphan()
        events, unsealed = _counts()
    return VerifyReport(
        events=events,
        unsealed=unsealed,
        head=walk.head if walk.position else None,
        position=walk.position,
        checked=walk.checked,
        first_broken=fault.event_id if fault else None,
        problem=fault.problem if fault else "",
    )


@dataclass(slots=True)
class _Walk:
    """How far the walk along the chain has come: the place, its link as stored, the first fault met."""

    position: int
    head: str
    event_id: int = 0
    checked: int = 0
    fault: Fault | None = None


def _start(newest: int | None) -> tuple[int, str]:
    """The place after which to begin, and its link."""
    if newest is None:
        return 0, GENESIS
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT position, hash FROM audit_seal "
            "WHERE position <= (SELECT max(position) FROM audit_seal) - %s ORDER BY position DESC LIMIT 1",
            [newest],
        )
        row = cursor.fetchone()
    return row or (0, GENESIS)


def _walk(start: int, prev_hash: str, anchors: dict[int, str]) -> _Walk:
    walk = _Walk(start, prev_hash)
    for row in stream(_CHAIN, [start]):
        if walk.fault is None:
            walk.fault = _fault_of(row, after=walk.position, prev_hash=walk.head, anchors=anchors)
        walk.position, walk.event_id, walk.head = row[0], row[1], row[4]
        walk.checked += 1
    missing = min((place for place in anchors if place > walk.position), default=None)
    if walk.fault is None and missing is not None:
        walk.fault = Fault(
            walk.event_id, f"the chain ends at position {walk.position}, but position {missing} was anchored"
        )
    return walk


def _fault_of(row: tuple[Any, ...], *, after: int, prev_hash: str, anchors: dict[int, str]) -> Fault | None:
    position, event_id, sealed_digest, sealed_prev, sealed_hash, *columns = row
    if position != after + 1:
        return _gap(after + 1, event_id)
    if columns[COLUMNS.index("id")] is None:
        return Fault(event_id, f"event {event_id} at position {position} was deleted")
    digest = event_hash(canonical_event(tuple(columns)))
    if digest != sealed_digest:
        return Fault(event_id, f"event {event_id} at position {position} is not the one that was sealed")
    if sealed_prev != prev_hash or link_hash(prev_hash=prev_hash, event_hash=digest) != sealed_hash:
        return Fault(event_id, f"the seal of event {event_id} at position {position} was changed or moved")
    if anchors.get(position, sealed_hash) != sealed_hash:
        return Fault(event_id, f"position {position} (event {event_id}) differs from the anchored head")
    return None


def _gap(position: int, next_event_id: int) -> Fault:
    orphan = _orphan()
    if orphan:
        return Fault(orphan.event_id, f"the seal at position {position} is missing; {orphan.problem}")
    return Fault(
        next_event_id,
        f"position {position} is missing, before event {next_event_id}: event and seal are gone",
    )


def _orphan() -> Fault | None:
    with connection.cursor() as cursor:
        cursor.execute(_ORPHAN)
        row = cursor.fetchone()
    if row is None:
        return None
    return Fault(
        row[0], f"event {row[0]} has no seal and does not wait for one: inserted, or its seal removed"
    )


def _counts() -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*), count(*) FILTER (WHERE s.event_id IS NULL) "
            "FROM audit_event e LEFT JOIN audit_seal s ON s.event_id = e.id"
        )
        events, unsealed = cursor.fetchone()
    return events, unsealed


@contextmanager
def snapshot() -> Iterator[None]:
    """One consistent view: an event sealed meanwhile is neither lost nor counted twice."""
    outermost = not connection.in_atomic_block
    with transaction.atomic():
        if outermost:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield
