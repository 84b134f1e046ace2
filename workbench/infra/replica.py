"""Reading acts that may be answered by a standby of the database: the router, and the one door into it.

:func:`from_replica` marks an act: a page, an answer of the API, the making of an export. Only inside such an act does
the router send reads to the standby, and only once the standby has replayed all that was committed on the primary when
the act began. So what it gives is never older than the question: a role that was taken, a document that was erased and
an act of one's own a moment ago are in it. A standby that needs longer than ``DATABASE_REPLICA_LAG_SECONDS`` for that,
is away, hangs (``standby/base.py``), or breaks in the middle is left alone for a while, and the primary answers
instead.

Everything else goes to the primary: every write, what is read in a transaction or after a write, SQL written by hand,
and the tables that say who may see what (:data:`READ` and :data:`NEVER`). Without ``DATABASE_REPLICA_URL`` there is no
router and nothing is asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import structlog
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connections
from django.db.models import Model

from workbench.infra.metrics.counters import replica_asked
from workbench.infra.standby.base import answers_within

logger = structlog.get_logger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

ALIAS = "replica"
#: Apps whose tables a standby may answer for; an app that is not named here is read from the primary.
READ = frozenset({"audit", "documents", "labeling", "question_sets", "questions", "review"})
#: Tables of theirs that it may not: what says who may see what, what waits for people, and switches.
NEVER = frozenset(
    {
        "documents.collection", "documents.restriction", "documents.restriction_readers", "review.queueitem",
        "review.notification", "review.notificationwish", "questions.llmcontrol", "questions.llmendpoint",
    }
)  # fmt: skip
#: Why the standby is not read, in one word; "" while it is.
BEHIND, AWAY, BROKEN, NO_STANDBY = "behind", "away", "broken", "not_a_standby"
#: Seconds without another look at a standby that is behind, and at one that failed.
BEHIND_SECONDS, AWAY_SECONDS = 1.0, 10.0
_POLL_SECONDS = 0.01

# Without synchronous commits a row is seen before its log is flushed, and only what is flushed reaches a standby.
_PRIMARY = """
    SELECT CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
           ELSE pg_current_wal_flush_lsn() END::text, system_identifier
    FROM pg_control_system()"""
_STANDBY = """
    SELECT pg_is_in_recovery() AND system_identifier = %(system)s,
           coalesce(pg_last_wal_replay_lsn() >= %(position)s::pg_lsn, false),
           extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float
    FROM pg_control_system()"""


@dataclass(slots=True)
class _Act:
    """A reading act: whether it still reads from the standby, and whether it wrote."""

    reads: bool = True
    has_written: bool = False


@dataclass(slots=True)
class _Known:
    """What this process knows of the standby. ``missing`` is a position on the primary that it had not replayed."""

    reason: str = ""
    quiet_until: float = 0.0
    missing: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """The standby as it is now. ``reason`` is empty while it can be read; ``lag_seconds`` is the age of its newest
    transaction, 0 when it has all of them, None when it does not answer."""

    reason: str
    lag_seconds: float | None


_act: ContextVar[_Act | None] = ContextVar("replica_act", default=None)
_known = _Known()


class Router:
    """Sends a read to the standby inside an act of :func:`from_replica`, and everything else to the primary."""

    def db_for_read(self, model: type[Model], **hints: Any) -> str:
        """The standby, or the primary."""
        act = _act.get()
        if act is None or not act.reads or not _may_read(model) or _in_transaction():
            return DEFAULT_DB_ALIAS
        return ALIAS

    def db_for_write(self, model: type[Model], **hints: Any) -> str:
        """The primary. An act that writes reads its own writes: it goes on there."""
        act = _act.get()
        if act is not None and _may_read(model):
            act.reads, act.has_written = False, True
        return DEFAULT_DB_ALIAS

    def allow_relation(self, first: Model, second: Model, **hints: Any) -> bool:
        """Rows of the two are rows of one database."""
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool | None:
        """A standby is migrated by its primary."""
        return False if db == ALIAS else None


def from_replica(act: Callable[P, R]) -> Callable[P, R]:
    """A reading act that a standby may answer. It must be safe to begin anew: when the standby fails in the middle,
    the primary answers from the start. An act that wrote by then is not repeated."""

    @wraps(act)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if not is_configured() or _act.get() is not None or _in_transaction() or not _is_ready():
            return act(*args, **kwargs)
        reading = _Act()
        token = _act.set(reading)
        try:
            return act(*args, **kwargs)
        except Error as error:
            if reading.has_written or not connections[ALIAS].errors_occurred:
                raise
            _leave(BROKEN, error)
        finally:
            _act.reset(token)
        return act(*args, **kwargs)

    call.reads_replica = True  # type: ignore[attr-defined]
    return call


def is_configured() -> bool:
    """Whether there is a standby to read from."""
    return ALIAS in connections.settings


def replica_state() -> ReplicaState:
    """Looks at the standby now, without waiting for it. Two short queries."""
    try:
        reason, lag = _look(_position())
    except Error:
        connections[ALIAS].close()
        return ReplicaState(AWAY, None)
    return ReplicaState(reason if lag is None or lag > settings.DATABASE_REPLICA_LAG_SECONDS else "", lag)


def _may_read(model: type[Model]) -> bool:
    return model._meta.app_label in READ and model._meta.label_lower not in NEVER


def _in_transaction() -> bool:
    return connections[DEFAULT_DB_ALIAS].in_atomic_block


def _is_ready() -> bool:
    """Whether the standby has replayed all that is committed by now; waits no longer than the lag may be."""
    if time.monotonic() < _known.quiet_until:
        replica_asked(outcome=_known.reason)
        return False
    try:
        reason = _awaited(_position())
    except Error as error:  # also of a primary that cannot name its position: it can still answer
        _leave(AWAY, error)
        return False
    if reason:
        _leave(reason)
        return False
    if _known.reason:
        logger.info("replica.read_again")
    _known.reason = ""
    replica_asked(outcome="read")
    return True


def _awaited(position: tuple[str, int]) -> str:
    if _known.missing is not None and (reason := _look(_known.missing)[0]):
        return reason  # it has not even what it lacked before: nobody waits for it again
    ends = time.monotonic() + settings.DATABASE_REPLICA_LAG_SECONDS
    while (reason := _look(position)[0]) == BEHIND and time.monotonic() < ends:
        time.sleep(_POLL_SECONDS)
    _known.missing = position if reason == BEHIND else None
    return reason


def _position() -> tuple[str, int]:
    """Where the primary's log is, and which database that is."""
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(_PRIMARY)
        position, system = cursor.fetchone()
    return position, system


def _look(position: tuple[str, int]) -> tuple[str, float | None]:
    """Why the standby is not to be read for what was committed up to the position, and its lag in seconds."""
    with answers_within(settings.DATABASE_REPLICA_CONNECT_SECONDS), connections[ALIAS].cursor() as cursor:
        cursor.execute(_STANDBY, {"position": position[0], "system": position[1]})
        is_standby, has_all, age = cursor.fetchone()
    if not is_standby:
        return NO_STANDBY, None
    return ("", 0.0) if has_all else (BEHIND, age)


def _leave(reason: str, error: Exception | None = None) -> None:
    """Leaves the standby alone for a while; said once, until it is read again or fails otherwise."""
    if error is not None:
        connections[ALIAS].close()
    if reason != _known.reason:
        logger.warning("replica.left", reason=reason, error=type(error).__name__ if error else "")
    _known.reason = reason
    if reason != BEHIND:
        _known.missing = None
    _known.quiet_until = time.monotonic() + (BEHIND_SECONDS if reason == BEHIND else AWAY_SECONDS)
    replica_asked(outcome=reason)
