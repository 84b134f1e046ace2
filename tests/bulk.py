"""Many candidates at once, copied in the database from a finished run: for pages that must stay quick and calm with
thousands of them. No detector and no model is asked."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

#: What a copy does not take over: its own key, who is at work on it, what must be unique.
_BLANK = {
    "idempotency_key",
    "claimed_by_id",
    "claimed_until",
    "claimed_at",
    "assigned_to_id",
    "cached_from_id",
}


def copy_runs(connection: psycopg.Connection[Any], *, source: int, copies: int, days: int = 0) -> list[int]:
    """Copies a finished run with its candidates, texts, verdicts, answers and waiting items; gives the new runs.

    The candidates of a run are copied as the machine left them: what people decided or added stays with the source.
    With ``days`` the copies have waited for different times, up to so many days.
    """
    with connection.transaction():
        runs = _copy(
            connection,
            "questions_run",
            where=sql.SQL("t.id = {}").format(source),
            times=copies,
            given={"review_state": sql.Literal("open"), "cache_key": sql.Literal("")},
        )
        new = sql.Literal(runs)
        many = sql.SQL("unnest({}::bigint[]) AS n(id)").format(new)
        mine = sql.SQL("t.run_id = {}").format(source)
        _copy(
            connection,
            "questions_candidate",
            where=sql.SQL("{} AND t.added_by_id IS NULL").format(mine),
            beside=many,
            given={"run_id": sql.SQL("n.id")},
        )
        _copy(connection, "questions_answer", where=mine, beside=many, given={"run_id": sql.SQL("n.id")})
        pairs = sql.SQL(
            "(SELECT c.id, c.run_id, o.id AS source FROM questions_candidate c JOIN questions_candidate o"
            " ON o.run_id = {} AND o.candidate_id = c.candidate_id WHERE c.run_id = ANY({})) AS n"
        ).format(source, new)
        same = sql.SQL("t.candidate_id = n.source")
        for table in ("questions_candidatetext", "questions_verdict"):
            _copy(
                connection,
                table,
                where=same,
                beside=pairs,
                given={"candidate_id": sql.SQL("n.id")},
                key="candidate_id",
            )
        waiting = {
            "candidate_id": sql.SQL("n.id"),
            "run_id": sql.SQL("n.run_id"),
            "state": sql.Literal("waiting"),
            "stage": sql.Literal("first"),
            "decided_at": sql.SQL("NULL"),
        }
        if days:
            ago = sql.SQL("(n.run_id * 7919 % {})").format(sql.Literal(86_400 * days))
            waiting["entered"] = sql.SQL("extract(epoch FROM now()) - {}").format(ago)
        _copy(connection, "review_queueitem", where=same, beside=pairs, given=waiting)
    return runs


def copy_rows(
    connection: psycopg.Connection[Any], table: str, *, key: int, times: int, given: dict[str, str]
) -> list[int]:
    """Copies one row of a table; ``given`` has SQL for columns, with ``n`` the number of the copy. Gives the keys."""
    values = {name: sql.SQL(expression) for name, expression in given.items()}  # type: ignore[arg-type]
    return _copy(connection, table, where=sql.SQL("t.id = {}").format(key), times=times, given=values)


def analyse(connection: psycopg.Connection[Any]) -> None:
    """Brings the planner's figures up to date, as autovacuum does in time."""
    with connection.cursor() as cursor:
        for table in ("questions_run", "questions_candidate", "questions_verdict", "review_queueitem"):
            cursor.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(table)))


def _copy(
    connection: psycopg.Connection[Any],
    table: str,
    *,
    where: sql.Composable,
    given: dict[str, sql.Composable],
    beside: sql.Composable | None = None,
    times: int = 1,
    key: str = "id",
) -> list[int]:
    """Inserts the rows of a table again with some columns given; returns the new keys."""
    columns = _columns(connection, table)
    taken = [name for name in columns if name != "id" and name not in _BLANK]
    values = [given.get(name, sql.SQL("t.{}").format(sql.Identifier(name))) for name in taken]
    source = beside if beside is not None else sql.SQL("generate_series(1, {}) AS n").format(times)
    statement = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} t, {} WHERE {} RETURNING {}").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, taken)),
        sql.SQL(", ").join(values),
        sql.Identifier(table),
        source,
        where,
        sql.Identifier(key),
    )
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return [int(row[0]) for row in cursor.fetchall()]


def _columns(connection: psycopg.Connection[Any], table: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = 'public'"
            " AND table_name = %s AND is_generated = 'NEVER'",
            [table],
        )
        return [str(row[0]) for row in cursor.fetchall()]
