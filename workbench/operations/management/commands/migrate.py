"""``manage.py migrate``, safe on a live system: people never wait long behind it for a lock.

A statement that changes a table waits until nobody uses the table, and everybody who comes later waits behind it. So it
gives up after ``MIGRATE_LOCK_SECONDS``. The migration is rolled back and can be run again at a quieter time. Statements
that run beside the product (``CONCURRENTLY``) may wait longer, because nobody waits for them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections

#: Longer than any request of the product takes, shorter than people's patience.
MIGRATE_LOCK_SECONDS = 5


class Command(migrate.Command):
    """Django's command, with a limit on waiting for locks."""

    def handle(self, *args: Any, **options: Any) -> Any:
        """See the module. Raises CommandError if it could not get a lock."""
        connection = connections[options["database"]]
        with connection.cursor() as cursor:
            cursor.execute("SHOW lock_timeout")
            before = cursor.fetchone()[0]
        _limit(connection, f"{MIGRATE_LOCK_SECONDS}s")
        try:
            with connection.execute_wrapper(_patient_where_nobody_waits):
                return super().handle(*args, **options)
        except OperationalError as error:
            if isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
                raise CommandError(
                    f"A table was in use for {MIGRATE_LOCK_SECONDS} s, so its migration was rolled back. Run "
                    "migrate again. If that repeats, stop the workers first."
                ) from error
            raise
        finally:
            _limit(connection, before)


def _patient_where_nobody_waits(
    execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]
) -> Any:
    if "CONCURRENTLY" not in str(sql):
        return execute(sql, params, many, context)
    _limit(context["connection"], "0")
    try:
        return execute(sql, params, many, context)
    finally:
        _limit(context["connection"], f"{MIGRATE_LOCK_SECONDS}s")


def _limit(connection: Any, value: str) -> None:
    """Sets the limit for the session, because each migration opens its own transaction. Not through the wrapper
    above."""
    connection.ensure_connection()
    with suppress(psycopg.Error):  # a connection that has failed tells so by itself
        connection.connection.execute("SELECT set_config('lock_timeout', %s, false)", [value])
