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

from .distribution import NodeAway

_Row = tuple[int, int, str, float]


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of a table: how its name, and those of its indexes, end, and which node has it."""

    suffix: str
    host: str
    port: int


def shards_of(table: str) -> list[Shard]:
    """Where the parts of a table lie; none where it is one table."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('pg_dist_shard') IS NOT NULL")
        if not cursor.fetchone()[0]:
            return []
        cursor.execute(_PLACED, [table])
        return [Shard(f"_{shard}", host, port) for shard, host, port in cursor.fetchall()]


def best_of(table: str, statement: str, values: Sequence[Any], *, is_spread: bool, limit: int) -> list[_Row]:
    """Rows of (key, document, payload, score), lowest score first. The statement takes the suffix as ``{suffix}``.

    Shards move while nodes are added: where each lies is read every time, and once more where one has just gone.
    """
    if not is_spread:
        with connection.cursor() as cursor:
            cursor.execute(statement.format(suffix=""), values)
            return cursor.fetchall()
    try:
        return _best_of_shards(shards_of(table), statement, values, limit)
    except _ShardMoved:
        return _best_of_shards(shards_of(table), statement, values, limit)


class _ShardMoved(DatabaseError):
    """A node has a shard no more."""


def _best_of_shards(shards: Sequence[Shard], statement: str, values: Sequence[Any], limit: int) -> list[_Row]:
    asked = [
        connection.ops.compose_sql(_AS_JSON.format(statement.format(suffix=shard.suffix)), values)
        for shard in shards
    ]
    with connection.cursor() as cursor:
        cursor.execute(_ON_NODES, [[shard.host for shard in shards], [shard.port for shard in shards], asked])
        replies = cursor.fetchall()
    for succeeded, reply in replies:
        if not succeeded:
            raise _failure(reply)
    rows = [tuple(row) for _, reply in replies for row in json.loads(reply)]
    return sorted(rows, key=lambda row: (row[3], row[0]))[:limit]


def _failure(reply: str) -> Exception:
    """What a node's refusal means, by its words: it sends no code."""
    if "does not exist" in reply:
        return _ShardMoved(reply)
    return NodeAway() if "connect" in reply else DatabaseError(reply)


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
