"""A ranked search of a table, whether it is one table or spread over the nodes of a Citus cluster.

Citus hands most queries on to its shards by itself. Not a ranking by pg_textsearch: there the index is named, and a
shard's index has the shard's number in its name. So each shard is asked for its best, and the best of those are taken.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError, connection

_Row = tuple[int, int, str, float]


@dataclass(frozen=True, slots=True)
class Shard:
    """A table to ask; ``suffix`` ends the names of it and of its indexes. ``node`` is None where this server has it."""

    suffix: str = ""
    node: tuple[str, int] | None = None


def shards_of(table: str) -> list[Shard]:
    """How a table is spread: as one, where there is no Citus or the table is not distributed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('pg_dist_shard') IS NOT NULL")
        if not cursor.fetchone()[0]:
            return [Shard()]
        cursor.execute(_PLACED, [table])
        found = [Shard(f"_{shard}", (host, port)) for shard, host, port in cursor.fetchall()]
    return found or [Shard()]


def best_of(shards: Sequence[Shard], statement: str, values: Sequence[Any], *, limit: int) -> list[_Row]:
    """Rows of (key, document, payload, score), lowest score first. The statement takes the suffix as ``{suffix}``."""
    if shards[0].node is None:
        with connection.cursor() as cursor:
            cursor.execute(statement.format(suffix=""), values)
            return cursor.fetchall()
    hosts, ports = [shard.node[0] for shard in shards], [shard.node[1] for shard in shards]
    asked = [
        connection.ops.compose_sql(_AS_JSON.format(statement.format(suffix=shard.suffix)), values)
        for shard in shards
    ]
    with connection.cursor() as cursor:
        cursor.execute(_ON_NODES, [hosts, ports, asked])
        replies = cursor.fetchall()
    for succeeded, reply in replies:
        if not succeeded:
            raise DatabaseError(f"A node did not answer: {reply}")
    rows = [tuple(row) for _, reply in replies for row in json.loads(reply)]
    return sorted(rows, key=lambda row: (row[3], row[0]))[:limit]


#: A reduced copy of Citus's own: the nodes that hold the shards of a table.
_PLACED = """
    SELECT s.shardid, n.nodename, n.nodeport
    FROM pg_dist_shard s
    JOIN pg_dist_placement p ON p.shardid = s.shardid
    JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'
    WHERE s.logicalrelid = %s::regclass AND s.shardminvalue IS NOT NULL
    ORDER BY s.shardid
"""
_AS_JSON = "SELECT coalesce(json_agg(json_build_array(id, document_id, payload, score)), '[]') FROM ({}) best"
_ON_NODES = "SELECT success, result FROM master_run_on_worker(%s::text[], %s::int[], %s::text[], true)"
