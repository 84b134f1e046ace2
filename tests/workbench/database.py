"""Transactional tests against an append-only trail. For tests only: the product never does this."""

from __future__ import annotations

from typing import Any

#: Rows made by migrations that later tests need again; transactional tests leave these tables alone.
KEPT_TABLES = frozenset({"documents_embeddingspace"})

_AS_REPLICA = "SET LOCAL session_replication_role = replica"


def let_tests_empty_the_trail(monkeypatch: Any) -> None:
    """Lets Django empty the tables after a transactional test, which the trail's triggers refuse.

    A transactional test (``django_db(transaction=True)``, ``transactional_db``) ends with one TRUNCATE of
    all tables. Only for that statement the session says that it is a replica, so that no trigger fires; the
    test itself meets every trigger. Needs a superuser's connection, as ``TEST_DATABASE_URL`` is.
    """
    from django.db.backends.postgresql.operations import DatabaseOperations

    run, list_sql = DatabaseOperations.execute_sql_flush, DatabaseOperations.sql_flush

    def execute_sql_flush(self: Any, sql_list: list[str]) -> None:
        run(self, [_AS_REPLICA, *sql_list] if sql_list else [])

    def sql_flush(self: Any, style: Any, tables: list[str], **options: Any) -> list[str]:
        return list_sql(self, style, [name for name in tables if name not in KEPT_TABLES], **options)

    monkeypatch.setattr(DatabaseOperations, "execute_sql_flush", execute_sql_flush)
    monkeypatch.setattr(DatabaseOperations, "sql_flush", sql_flush)
