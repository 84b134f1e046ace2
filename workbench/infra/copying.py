"""Rows in bulk: PostgreSQL's COPY on Django's connection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from psycopg import Copy


@contextmanager
def copy_into(statement: str) -> Iterator[Copy]:
    """Opens a ``COPY ... FROM STDIN``. Its errors are Django's, like those of any other statement; psycopg's own would
    pass by everybody who handles them."""
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(statement) as copy:
        yield copy
