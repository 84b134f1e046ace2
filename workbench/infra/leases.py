"""Leases: how a worker holds a row, and how another takes it over when the worker is gone.

A row is claimed by a conditional UPDATE that changed exactly one row; while the work lasts, a thread renews the
lease. When the renewals stop (the worker was killed, its machine is gone), the sweeper finds the lapsed lease and
wakes another worker. Times are the database's, so that workers' clocks do not matter.

Work that lost its row must end too, or it holds a worker that others wait for: the thread tells the work, and where
that does not end by itself, or holds the interpreter so that not even the thread runs, the process ends
(:mod:`workbench.infra.alarm`).
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import Error as AnyDatabaseError
from django.db import connection, models
from django.db.models import F, Q
from django.db.models.functions import Now

from . import alarm

logger = structlog.get_logger(__name__)

#: Characters of the machine's name that an owner begins with, before a colon.
HOST_CHARACTERS = 30
#: Leases for which no heartbeat was heard: then the process is taken to hang.
_SILENT_LEASES = 2
#: Share of a lease that work has to end by itself once its row was taken away.
_GRACE = 1 / 3


class LeaseLost(Exception):
    """Another worker holds the row now; this one must stop without writing."""


class Leased(models.Model):
    """A table whose rows workers claim: who holds a row, and until when."""

    lease_owner = models.CharField(max_length=80, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


class Retried(Leased):
    """One whose attempts are counted."""

    attempts = models.PositiveSmallIntegerField(default=0)

    class Meta:
        abstract = True


def new_owner() -> str:
    """A name for one attempt at one row: host, process, random part."""
    return f"{socket.gethostname()[:HOST_CHARACTERS]}:{os.getpid()}:{uuid.uuid4().hex[:12]}"


def lease_free() -> Q:
    """Rows nobody works on: never leased, or the lease lapsed."""
    return Q(lease_until__isnull=True) | Q(lease_until__lt=Now())


def lease_claim(rows: models.QuerySet[Any], *, owner: str, count_attempt: bool = True) -> bool:
    """Claims the one row of ``rows`` (already filtered by key and state); False when somebody else has it."""
    values: dict[str, Any] = {"lease_owner": owner, "lease_until": lease_end()}
    if count_attempt:
        values["attempts"] = F("attempts") + 1
    return rows.filter(lease_free()).update(**values) == 1


def lease_end() -> Any:
    """The moment a lease taken now lapses."""
    return Now() + timedelta(seconds=settings.LEASE_SECONDS)


def lease_release(rows: models.QuerySet[Any], *, owner: str) -> None:
    """Gives the row back, if it is still ours."""
    rows.filter(lease_owner=owner).update(lease_owner="", lease_until=None)


@dataclass(frozen=True, slots=True)
class Limit:
    """How many seconds the work may take, and what ends its row when it takes longer; called from a thread."""

    seconds: float
    on_overdue: Callable[[], None]


class Heartbeat:
    """Renews a lease from a thread of its own; :meth:`check` raises when it was lost or the work is overdue."""

    def __init__(self, rows: models.QuerySet[Any], *, owner: str, limit: Limit | None = None) -> None:
        self._rows = rows.filter(lease_owner=owner)
        self._limit = limit
        self._started = time.monotonic()
        self._lost = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease-heartbeat", daemon=True)

    def check(self) -> None:
        """Raises :class:`LeaseLost` when the row is no longer ours."""
        if self._lost.is_set():
            raise LeaseLost

    def _renew(self) -> None:
        try:
            while not self._stop.wait(settings.HEARTBEAT_SECONDS):
                try:
                    if not self._beat():
                        self._lost.set()
                        self._end()
                        return
                except AnyDatabaseError as error:  # InterfaceError, a closed connection, is no DatabaseError
                    # The database may be restarting; the lease outlives several missed beats.
                    logger.warning("lease.heartbeat_failed", error=type(error).__name__)
                    connection.close()
        finally:
            connection.close()

    def _beat(self) -> bool:
        """Renews the lease; False when the work is to end."""
        alarm.put_off(_SILENT_LEASES * settings.LEASE_SECONDS)
        if self._limit is not None and time.monotonic() - self._started > self._limit.seconds:
            logger.warning("lease.overdue", seconds=self._limit.seconds)
            self._limit.on_overdue()
            return False
        return self._rows.all().update(lease_until=lease_end()) == 1

    def _end(self) -> None:
        """The work ends at its next step, or its process does."""
        if not self._stop.is_set():
            alarm.put_off(max(1.0, _GRACE * settings.LEASE_SECONDS))

    def __enter__(self) -> Heartbeat:
        alarm.put_off(_SILENT_LEASES * settings.LEASE_SECONDS)
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stop.set()
        self._thread.join(timeout=10)
        alarm.turn_off()


@contextmanager
def leased(rows: models.QuerySet[Any], *, owner: str, limit: Limit | None = None) -> Iterator[Heartbeat]:
    """Holds a claimed lease for the length of the block and gives it back at its end."""
    with Heartbeat(rows, owner=owner, limit=limit) as heartbeat:
        try:
            yield heartbeat
        finally:
            lease_release(rows, owner=owner)
