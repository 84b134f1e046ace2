"""Transactional tests against an append-only trail. For tests only: the product never does this."""

from __future__ import annotations

from typing import Any

#: Rows made by migrations that later tests need again; transactional tests leave these tables alone.
KEPT_TABLES = frozenset(
    {"documents_embeddingspace", "questions_modelprice", "django_content_type", "auth_permission"}
)

_FILLED = (
    "SELECT relname FROM pg_class WHERE relname = ANY(%s) AND relkind = 'r' AND pg_relation_size(oid) > 0"
)

_AS_REPLICA = "SET LOCAL session_replication_role = replica"
#: The price that ships, which goes with the people who may change it.
_PRICE = (
    "INSERT INTO questions_modelprice (model, input, cached_input, output)"
    " VALUES ('gpt-5-mini', .25, .025, 2) ON CONFLICT DO NOTHING"
)


def let_tests_empty_the_trail(monkeypatch: Any) -> None:
    """Lets Django empty the tables after a transactional test, which the trail's triggers refuse.

    A transactional test (``django_db(transaction=True)``, ``transactional_db``) ends with one TRUNCATE of
    all tables. Only for that statement the session says that it is a replica, so that no trigger fires; the
    test itself meets every trigger. Needs a superuser's connection, as ``TEST_DATABASE_URL`` is.

    Only tables that hold something are emptied, a few of eighty, and since content types and permissions stay, there
    is nothing to make again afterwards: either would cost each of these tests some tenths of a second.
    """
    from django.db.backends.postgresql.operations import DatabaseOperations

    run, list_sql = DatabaseOperations.execute_sql_flush, DatabaseOperations.sql_flush

    def execute_sql_flush(self: Any, sql_list: list[str]) -> None:
        run(self, [_AS_REPLICA, *sql_list, _PRICE] if sql_list else [])

    def sql_flush(self: Any, style: Any, tables: list[str], **options: Any) -> list[str]:
        with self.connection.cursor() as cursor:
            cursor.execute(_FILLED, [[name for name in tables if name not in KEPT_TABLES]])
            filled = [name for (name,) in cursor.fetchall()]
        # Those that refer to them are empty, or among them.
        return list_sql(self, style, filled, **(options | {"allow_cascade": True}))

    monkeypatch.setattr(DatabaseOperations, "execute_sql_flush", execute_sql_flush)
    monkeypatch.setattr(DatabaseOperations, "sql_flush", sql_flush)
    monkeypatch.setattr("django.core.management.commands.flush.emit_post_migrate_signal", lambda *args: None)
