"""The connections of a standby. One that hangs keeps them open and acknowledges what is sent, so that no setting of TCP
ends the wait; each round of question and answer therefore has its time here. A query that nobody waits for any more is
ended there by ``statement_timeout`` of the standby's role, if the operator sets it: a pooler lends sessions to others,
so none of ours is changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import psycopg
from django.conf import settings
from django.db.backends.postgresql import base
from psycopg.pq import TransactionStatus

#: Seconds for an answer; None: as many as a query may take.
_patience: ContextVar[float | None] = ContextVar("standby_patience", default=None)


@contextmanager
def answers_within(seconds: float) -> Iterator[None]:
    """A shorter time for each answer of the standby than a query may take."""
    token = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(token)


class DatabaseWrapper(base.DatabaseWrapper):
    """Connections that raise ``OperationalError`` where the standby does not answer in time."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """One whose every answer has its time from the first on."""
        connection = super().get_new_connection(conn_params)
        _bound(connection)
        return connection


def _bound(connection: psycopg.Connection[Any]) -> None:
    wait = connection.wait

    def wait_no_longer(gen: Any, *args: Any, **kwargs: Any) -> Any:
        patience = _patience.get()
        seconds = settings.DATABASE_REPLICA_QUERY_SECONDS if patience is None else patience
        try:
            return wait(gen, *args, **kwargs | {"timeout": seconds})
        except psycopg.OperationalError:
            # What became of the query is not known, and to ask would be to wait again.
            if connection.pgconn.transaction_status == TransactionStatus.ACTIVE:
                connection.pgconn.finish()
            raise

    connection.wait = wait_no_longer  # type: ignore[method-assign]
