"""Distributes search data over the nodes of a Citus cluster, by document: vectors, passage tokens and the word index.
Everything else stays on the coordinator, with its triggers (ADR 0020).

A distributed table cannot have a foreign key to the coordinator. Two rules replace it: whoever writes a document's
vectors or words locks the document's row until the end, and deleting a passage deletes what was made of it
(``TAKE_ALONG``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from django.db import DatabaseError, InternalError, OperationalError, connection, transaction
from django.utils.translation import gettext as _

from arbitration.errors import ArbitrationError
from workbench.errors import NotAllowed, Unavailable

#: The tables that are spread by document; the first is what the others lie beside.
SPREAD = (
    "documents_passagevector",
    "documents_passagetokens",
    "documents_indexedtext",
    "documents_indexedpart",
)
#: What must be unique names the document as well: only so can a shard tell by itself. A passage is of one document.
_UNIQUE = {
    "documents_passagevector": ("one_vector_per_space", "document_id, passage_id, space_id"),
    "documents_passagetokens": ("one_set_of_tokens_per_space", "document_id, passage_id, space_id"),
}
TAKE_ALONG = """
CREATE OR REPLACE FUNCTION documents_take_along() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    documents bigint[] := array(SELECT DISTINCT document_id FROM gone);
    passages bigint[] := array(SELECT id FROM gone);
BEGIN
    IF passages <> '{}' THEN
        DELETE FROM documents_passagevector WHERE document_id = ANY(documents) AND passage_id = ANY(passages);
        DELETE FROM documents_passagetokens WHERE document_id = ANY(documents) AND passage_id = ANY(passages);
    END IF;
    RETURN NULL;
END $$;
DROP TRIGGER IF EXISTS passage_takes_along ON documents_passage;
CREATE TRIGGER passage_takes_along AFTER DELETE ON documents_passage REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION documents_take_along();
"""


@dataclass(frozen=True, slots=True)
class Node:
    """A node with the number and size of its shards."""

    name: str
    shards: int
    bytes: int


def is_cluster() -> bool:
    """Whether the database is the coordinator of a cluster."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_extension WHERE extname = 'citus'")
        return cursor.fetchone() is not None


def spread() -> set[str]:
    """The tables that are distributed already."""
    if not is_cluster():
        return set()
    with connection.cursor() as cursor:
        cursor.execute("SELECT logicalrelid::regclass::text FROM pg_dist_partition WHERE partmethod = 'h'")
        return {row[0] for row in cursor.fetchall()}


def are_vectors_spread() -> bool:
    """Whether the vectors are distributed. Looked at once per process and database: every search asks, and processes
    are restarted after ``manage.py distribute``."""
    return _vectors_spread(str(connection.settings_dict["NAME"]))


@lru_cache(maxsize=8)
def _vectors_spread(_database: str) -> bool:
    return SPREAD[0] in spread()


def tables_spread() -> Iterator[str]:
    """Distributes each remaining table, and yields its name once that is committed. Its rows move, and writes to it
    wait. Raises :class:`Unavailable` without a cluster, :class:`NotAllowed` unless connected as the owner."""
    if not is_cluster():
        raise Unavailable(
            _(
                "The database is not a Citus coordinator. Install Citus on every node, run CREATE "
                "EXTENSION citus, and add the nodes with citus_add_node (docs/scaling.md)."
            )
        )
    there = spread()
    for table in SPREAD:
        if table not in there:
            try:
                _spread(table)
            except DatabaseError as error:
                raise NotAllowed(
                    _("The table %(table)s could not be spread. The database says: %(error)s")
                    % {"table": table, "error": str(error).strip().splitlines()[0]}
                ) from error
            yield table


def _spread(table: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        if table == SPREAD[0]:
            cursor.execute(TAKE_ALONG)
        cursor.execute(
            "SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass AND contype IN ('f', 'p')",
            [table],
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f'ALTER TABLE {table} DROP CONSTRAINT "{name}"')
        cursor.execute(f"ALTER TABLE {table} ADD PRIMARY KEY (document_id, id)")
        if table in _UNIQUE:
            name, columns = _UNIQUE[table]
            cursor.execute(
                f"ALTER TABLE {table} DROP CONSTRAINT {name}, ADD CONSTRAINT {name} UNIQUE ({columns})"
            )
        beside = None if table == SPREAD[0] else SPREAD[0]
        cursor.execute(
            "SELECT create_distributed_table(%s, 'document_id', colocate_with => %s)",
            [table, beside or "none"],
        )


class NodeAway(ArbitrationError):
    """A node with part of the search data does not answer."""

    def __init__(self) -> None:
        super().__init__(
            _(
                "A node of the database that holds a part of the documents does not answer. Ask again when the "
                "operator has brought it back."
            )
        )


def require_whole(failures: Iterable[str | None]) -> None:
    """Refuses a partial result: if one node of a cluster is away, what the others find would pass for everything.
    Raises :class:`NodeAway` if the failure of a detector says that it failed at the database."""
    if any(failure and failure.startswith(_OF_THE_DATABASE) for failure in failures) and is_cluster():
        raise NodeAway


def node_was_away(error: DatabaseError) -> bool:
    """Whether the coordinator could not reach a node, or lost it during a statement or a transaction. If the
    coordinator itself is away, the error has no code, or says that it shuts down."""
    state, said = str(getattr(error.__cause__, "sqlstate", None) or ""), str(error)
    if state.startswith("57P"):  # a node's own last words, handed on
        return _ON_A_NODE in said
    return state.startswith("08") or (state[:2] in {"58", "XX"} and any(words in said for words in _LOST))


#: How failures begin that a lost node may have caused. To the coordinator, a node lost during a statement is an
#: internal error.
_OF_THE_DATABASE = (OperationalError.__name__, InternalError.__name__)
_ON_A_NODE = "while executing command on"
_LOST = (
    "server closed the connection",
    "connection not open",
    "failure on connection marked as essential",
    "failed to COPY to shard",
    "failed to complete COPY on",
)


def nodes() -> list[Node]:
    """The nodes and their shards."""
    with connection.cursor() as cursor:
        cursor.execute(_NODES)
        return [Node(*row) for row in cursor.fetchall()]


def rebalance() -> None:
    """Moves shards until all nodes hold about the same amount, while questions run. Returns when it is done."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT citus_rebalance_start()")
        cursor.execute("SELECT citus_rebalance_wait()")


_NODES = """
    SELECT n.nodename || ':' || n.nodeport, count(s.shardid), coalesce(sum(s.shard_size), 0)
    FROM pg_dist_node n LEFT JOIN citus_shards s ON s.nodename = n.nodename AND s.nodeport = n.nodeport
    WHERE n.shouldhaveshards AND n.noderole = 'primary' GROUP BY 1 ORDER BY 1
"""
