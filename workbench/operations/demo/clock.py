"""The clock of the demo's month: rows say the moment that they stand for, the trail when they were really written.

Nobody chooses the time of an event of the trail; its database stamps it. So an event of the demo has the real time, the
request id ``demo`` and, in ``after``, ``demo_moment``: the moment that the change stands for. Everything else that
services write while the clock runs has that moment: defaults of the database in ``INSERT``, ``Now()`` in ``UPDATE``.
Leases stay real, since workers of the product look at them meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.utils import timezone

from workbench.audit.services import DEMO_MOMENT

REQUEST_ID = "demo"
#: Django's ``Now()`` in PostgreSQL, but for the ends of leases.
_NOW = re.compile(r'("lease_until" [=<>]+ \(?)?STATEMENT_TIMESTAMP\(\)')


class DemoClock:
    """The moment that acts stand for; it runs on as real time does, and may be set and put forward."""

    def __init__(self) -> None:
        self._real: Callable[[], datetime] = timezone.now
        self._behind = timedelta()

    def now(self) -> datetime:
        """The moment."""
        return self._real() - self._behind

    def set(self, moment: datetime) -> None:
        """To a moment that lies behind."""
        self._behind = self._real() - moment
        structlog.contextvars.bind_contextvars(**{DEMO_MOMENT: moment.isoformat(timespec="seconds")})

    def forward(self, seconds: float) -> None:
        """Some seconds on, never past the real time."""
        self.set(min(self.now() + timedelta(seconds=seconds), self._real()))

    @contextmanager
    def running(self) -> Iterator[DemoClock]:
        """What this process writes meanwhile has the clock's moment: for a process that does nothing else."""
        known = dict(structlog.contextvars.get_contextvars())
        structlog.contextvars.bind_contextvars(request_id=REQUEST_ID)
        connection_created.connect(self._rewind_new)
        had_features = connection.features.supports_default_keyword_in_insert
        self._rewind(connection)
        timezone.now = self.now
        try:
            yield self
        finally:
            timezone.now = self._real
            connection_created.disconnect(self._rewind_new)
            connection.features.supports_default_keyword_in_insert = had_features
            connection.execute_wrappers.remove(self._execute)
            structlog.contextvars.clear_contextvars()
            structlog.contextvars.bind_contextvars(**known)

    def _rewind_new(self, connection: BaseDatabaseWrapper, **_signal: Any) -> None:
        """Of threads that write, such as those that ask a model."""
        self._rewind(connection)

    def _rewind(self, connection: BaseDatabaseWrapper) -> None:
        # So that an INSERT spells a default out instead of leaving it to the database.
        connection.features.supports_default_keyword_in_insert = False
        if self._execute not in connection.execute_wrappers:
            connection.execute_wrappers.append(self._execute)

    def _execute(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        if isinstance(sql, str) and "STATEMENT_TIMESTAMP()" in sql:
            behind = f"(STATEMENT_TIMESTAMP() - interval '{self._behind.total_seconds():.3f} seconds')"
            sql = _NOW.sub(lambda found: found[0] if found[1] else behind, sql)
        return execute(sql, params, many, context)
