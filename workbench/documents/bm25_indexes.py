"""The BM25 indexes of the word index in the database (:mod:`.lexical_database`), which an extension makes."""

from __future__ import annotations

from django.db import connection

from .database_ranking import K1, B
from .text_index import PASSAGE, SECTION

#: The BM25 index of each kind. Titles stand apart from passages, as :mod:`.lexical` says why.
BM25 = {PASSAGE: "indexed_passages_ranked", SECTION: "indexed_titles_ranked"}
#: What the BM25 index of a kind holds. Not a partial index: pg_textsearch finds only others by itself, as a shard must.
INDEXED = "(CASE WHEN kind = {kind} THEN words END)"


def extension_is_there() -> bool:
    """Whether the database can rank by BM25."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_extension WHERE extname = 'pg_textsearch'")
        return cursor.fetchone() is not None


def indexes_lacking() -> list[int]:
    """The kinds whose BM25 index is not there, or was left unfinished."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
            " WHERE i.indrelid = 'documents_indexedtext'::regclass AND i.indisvalid"
        )
        there = {row[0] for row in cursor.fetchall()}
    return [kind for kind, name in BM25.items() if name not in there]


def index_create(kind: int) -> None:
    """Makes the BM25 index of one kind. Only the owner of the tables may."""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX IF EXISTS {BM25[kind]}")
        cursor.execute(
            f"CREATE INDEX {BM25[kind]} ON documents_indexedtext USING bm25 ({INDEXED.format(kind=int(kind))})"
            f" WITH (text_config = 'simple', k1 = {K1}, b = {B})"
        )


def indexes_drop() -> None:
    """Takes both away."""
    with connection.cursor() as cursor:
        for name in BM25.values():
            cursor.execute(f"DROP INDEX IF EXISTS {name}")
