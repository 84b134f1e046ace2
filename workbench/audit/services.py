"""Everything that writes the trail, and its verification."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import structlog
from django.db import DatabaseError, connection, models, transaction

from workbench.accounts.models import User

from .actions import Action
from .chain import SELECT_EVENT, canonical_event
from .listeners import listeners_of
from .locks import LockSpace, advisory_lock
from .models import ActorKind, AuditEvent, AuditSeal, AuditVerification, object_type_of
from .redaction import redacted, redacted_reason
from .verifier import GENESIS, event_hash, link_hash
from .verify import VERIFIED_AT_ONCE, VerifyReport, audit_verify

logger = structlog.get_logger(__name__)

__all__ = [
    "DEMO_MOMENT",
    "VERIFIED_AT_ONCE",
    "VerifyReport",
    "audit_record",
    "audit_record_many",
    "audit_seal",
    "audit_seal_all",
    "audit_verify",
    "audit_work",
    "verification_note",
]

_PENDING = f"""
    SELECT {SELECT_EVENT}
    FROM audit_pending p JOIN audit_event e ON e.id = p.event_id
    ORDER BY e.id LIMIT %s
"""  # noqa: S608  (constants only)
# Several times faster than one ORM object a seal; unnest keeps the order, which the trigger checks.
_INSERT_SEALS = """
    INSERT INTO audit_seal (position, event_id, event_hash, prev_hash, hash)
    SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::text[])
"""
_NOBODY = {ActorKind.PERSON: "anonymous", ActorKind.SYSTEM: "system", ActorKind.WORKER: "worker"}


def audit_record(
    *,
    actor: User | None,
    action: Action,
    obj: models.Model | None = None,
    object_type: str = "",
    object_id: str | int = "",
    collection_id: int | None = None,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    reason: str = "",
    actor_kind: str | None = None,
) -> AuditEvent:
    """Writes one event in the caller's transaction: it stands if and only if the change stands.

    A new kind of event is a new member of :class:`Action`. Give the object itself, or its type and id. Without
    ``collection_id`` it is the object's own. ``before`` and ``after`` hold what changed; long text is
    replaced by its hash (``redaction.py``); a request that came with a token adds the token's key, ``api_token`` or
    ``directory_token``, to ``after``, an act of the demo's month the moment that it stands for. Without ``actor_kind``
    it is a person, or the system for the system user and nobody.
    Whoever listens to the action (``listeners.py``) writes in the same transaction.

    Raises :class:`RuntimeError` outside a transaction.
    """
    event = _event(
        actor=actor,
        action=action,
        obj=obj,
        object_type=object_type,
        object_id=object_id,
        collection_id=collection_id,
        before=before,
        after=after,
        reason=reason,
        actor_kind=actor_kind,
    )
    event.save(force_insert=True)
    _tell(action, [event])
    return event


def audit_record_many(*, actor: User | None, action: Action, events: Iterable[Mapping[str, Any]]) -> None:
    """:func:`audit_record` for many objects, with as many queries for one as for thousands. Each of ``events`` holds
    what only one of them has."""
    rows = AuditEvent.objects.bulk_create(_event(actor=actor, action=action, **event) for event in events)
    if rows:
        _tell(action, rows)


def _event(
    *,
    actor: User | None,
    action: Action,
    obj: models.Model | None = None,
    object_type: str = "",
    object_id: str | int = "",
    collection_id: int | None = None,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
    reason: str = "",
    actor_kind: str | None = None,
) -> AuditEvent:
    """The event of :func:`audit_record`, not yet written."""
    if not connection.in_atomic_block:
        raise RuntimeError(f"{action} must be recorded inside the transaction of its change.")
    action = Action(action)  # so that nothing is on record that pages and documents have no word for
    kind = ActorKind(actor_kind) if actor_kind else _kind_of(actor)
    if obj is not None:
        object_type, object_id = object_type_of(obj), obj.pk
        collection_id = _collection_of(obj) if collection_id is None else collection_id
    return AuditEvent(
        actor=actor,
        actor_name=str(actor) if actor else _NOBODY.get(kind, str(kind)),
        actor_kind=kind,
        action=action.value,
        object_type=object_type,
        object_id=str(object_id),
        collection_id=collection_id,
        before=redacted(before),
        after=redacted(_with_source(after)),
        reason=redacted_reason(reason),
        request_id=_request_id(),
    )


def _tell(action: Action, events: Sequence[AuditEvent]) -> None:
    for listener in listeners_of(action):
        listener(events)


def audit_work(**event: Any) -> AuditEvent:
    """:func:`audit_record` of what a worker did by itself."""
    return audit_record(actor=User.objects.system(), actor_kind="worker", **event)


def audit_seal(*, limit: int = 5000, wait: bool = False) -> int:
    """Gives up to ``limit`` waiting events their place in the chain, lowest id first; gives their number.

    There is one sealer at a time: 0 when another one is at work, unless it may be waited for. An event that commits
    late is sealed later, whatever its id; the order of the chain is the order of sealing.
    """
    with transaction.atomic():
        if not advisory_lock(LockSpace.AUDIT_SEAL, wait=wait):
            return 0
        events = _pending_events(limit)
        if events:
            _write_seals(events)
        return len(events)


def audit_seal_all() -> int:
    """Seals until nothing waits; gives the number of events sealed."""
    total = 0
    while sealed := audit_seal():
        total += sealed
    return total


def verification_note(report: VerifyReport) -> None:
    """Remembers what a reading of the whole chain found. A database that cannot be written to (a copy for reading)
    still gives its report."""
    try:
        with transaction.atomic():
            AuditVerification.objects.create(ok=report.ok, events=report.events, position=report.position)
    except DatabaseError as error:
        logger.warning("audit.verification_not_noted", error=type(error).__name__)


def _pending_events(limit: int) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(_PENDING, [limit])
        return [canonical_event(row) for row in cursor.fetchall()]


def _write_seals(events: list[dict[str, Any]]) -> None:
    head = AuditSeal.objects.order_by("-position").values_list("position", "hash").first()
    position, prev_hash = head or (0, GENESIS)
    ids = [event["id"] for event in events]
    digests = [event_hash(event) for event in events]
    links = [prev_hash]
    for digest in digests:
        links.append(link_hash(prev_hash=links[-1], event_hash=digest))
    places = list(range(position + 1, position + 1 + len(events)))
    with connection.cursor() as cursor:
        cursor.execute(_INSERT_SEALS, [places, ids, digests, links[:-1], links[1:]])
        cursor.execute("DELETE FROM audit_pending WHERE event_id = ANY(%s)", [ids])


def _kind_of(actor: User | None) -> ActorKind:
    return ActorKind.SYSTEM if actor is None or actor.is_system else ActorKind.PERSON


def _collection_of(obj: models.Model) -> int | None:
    if obj._meta.label_lower == "documents.collection":
        return obj.pk
    return getattr(obj, "collection_id", None)


#: Under this name an event of the demo's month tells the moment that it stands for; its own time is the real one.
DEMO_MOMENT = "demo_moment"
_SOURCES = ("api_token", "directory_token", DEMO_MOMENT)


def _with_source(after: dict[str, Any] | None) -> dict[str, Any] | None:
    """What changed and, where a program or a directory acted with a token, the key of that token; of the demo's month,
    the moment that was acted out."""
    known = structlog.contextvars.get_contextvars()
    source = {name: known[name] for name in _SOURCES if known.get(name) is not None}
    return {**(after or {}), **source} if source else after


def _request_id() -> str:
    context = structlog.contextvars.get_contextvars()
    return str(context.get("request_id") or context.get("task_id") or "")[:64]
