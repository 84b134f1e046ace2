"""``manage.py migrate``, on a live system: it never lets people wait behind it for a lock.

A statement that changes a table waits until nobody uses it, and everybody who comes meanwhile waits behind. So it gives
up after ``MIGRATE_LOCK_SECONDS``; the migration is rolled back, and the command is run again at a quieter moment.
Statements that work beside the product (``CONCURRENTLY``) wait as long as they must: nobody waits for them.
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
    """Django's own, with a limit on waiting for locks."""

    def handle(self, *args: Any, **options: Any) -> Any:
        """See the module. Raises CommandError when a lock was not to be had."""
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
                    f"A table was in use for {MIGRATE_LOCK_SECONDS} s, so its migration was rolled back and nothing "
                    "of it was done. Run migrate again; if that repeats, stop the workers first."
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
    """For the session, since each migration opens a transaction of its own. Not through the wrapper above."""
    connection.ensure_connection()
    with suppress(psycopg.Error):  # a connection that has failed tells so by itself
        connection.connection.execute("SELECT set_config('lock_timeout', %s, false)", [value])
