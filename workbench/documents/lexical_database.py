"""The words of a collection in the database itself: BM25 by pg_textsearch, exact phrases and counts by GIN.

For installations whose hosts have no room for an index each (:mod:`.lexical`), and for those of several nodes, where
each node indexes the documents it holds. pg_textsearch ranks and nothing else: it knows no phrase, and where it ends a
long walk it says nothing. So whatever must be exact, a count or a look at all that matches, is a condition that GIN
answers, and which of the candidates is best is found by the statistics of the whole collection
(:mod:`.database_ranking`).

Our words are not PostgreSQL's: its parser would cut codes into pieces. Each is written as letters only, so that the
``simple`` configuration takes it as one word and leaves it as it is.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import psycopg
from django.db import connection, transaction
from django.db.models import Sum
from django.utils.translation import gettext as _

from arbitration.errors import ArbitrationError
from workbench.infra.copying import copy_into

from .bm25_indexes import BM25, INDEXED, indexes_lacking
from .database_ranking import Scorer, Statistics, weights
from .distribution import spread
from .models import Collection, DocumentStatus, IndexedDocument, IndexedPart, IndexedText
from .term_queries import LINE_BREAK, PARTS, WORDS, Combined, Phrase, Query, TermQueries
from .text_index import INDEX_VERSION, PASSAGE, SECTION, Hit, entries, index_epoch

_TABLE = IndexedText._meta.db_table
#: Entries found by a phrase that are scored; the ranking of more has no use for one of them.
_MOST_SCORED = 2000
#: How many times as many candidates are taken, of each shard, as are wanted in all: its own statistics choose them.
_MORE_CANDIDATES = 2
#: Entries whose length is looked at; of more, those of documents spread evenly.
_MEASURED = 20_000
#: Pieces of words whose being there is remembered.
_PIECES_KEPT = 50_000
#: Entries of all collections from which on a walk of the index may end before its time.
_LARGE = 50_000
#: Letters of a word whose pieces are looked up together: there are half as many as their square.
_LONGEST_EXPECTED = 64
_LONGEST = 255  # characters of a word that stand in the index; of a longer one its hash
_LOCK = 0x7E3_1DE8  # one process at a time writes the entries of a document
_PLAIN = re.compile(r"(?!zq)[a-z]+\Z|\d+\Z")
_Sql = tuple[str, list[Any]]  # a statement, or a part of one, and its values
_HEX = str.maketrans("0123456789abcdef", "abcdefghijklmnop")


@lru_cache(maxsize=100_000)
def token(word: str) -> str:
    """A word as the index holds it: letters only or digits only, different for different words."""
    if word == LINE_BREAK or (len(word) <= _LONGEST and _PLAIN.match(word)):
        return word
    if len(word) <= _LONGEST:
        return "zqx" + word.encode("utf-8", "surrogatepass").hex().translate(_HEX)
    return "zqz" + hashlib.sha256(word.encode("utf-8", "surrogatepass")).hexdigest().translate(_HEX)


def tokens(text: str) -> str:
    """The words of a text of words between blanks."""
    return " ".join(map(token, text.split(" "))) if text else ""


# --- queries ----------------------------------------------------------------------------------------


def condition(query: Query) -> _Sql:
    """SQL that matches the entries of a query, and its values. Every ``%`` in it belongs to a value."""
    if isinstance(query, Phrase):
        pieces = list(map(token, query.words))
        holds = f"{_HOLDS.format(query.field)} @> %s::text[]"
        if len(pieces) == 1:
            return holds, [pieces]
        return (
            f"({holds} AND strpos(' ' || e.{query.field} || ' ', %s) > 0)",
            [pieces, f" {' '.join(pieces)} "],
        )
    return _combined(query)


def _combined(query: Combined) -> _Sql:
    if not query.queries:
        return "false", []
    each = [condition(part) for part in query.queries]
    joined = (" AND " if query.holds_all else " OR ").join(text for text, _ in each)
    return f"({joined})", [value for _, values in each for value in values]


def _named(query: Query) -> Query:
    """The query with its words as the index holds them."""
    if isinstance(query, Phrase):
        return Phrase(query.field, tuple(map(token, query.words)))
    return Combined(tuple(map(_named, query.queries)), query.holds_all)


def _sole_word(any_of: Sequence[Query]) -> Phrase | None:
    """The word that these queries look for if they look for no more; named as the index holds it."""
    if len(any_of) == 1 and isinstance(any_of[0], Phrase) and len(any_of[0].words) == 1:
        return Phrase(any_of[0].field, (token(any_of[0].words[0]),))
    return None


def _is_word(query: Query) -> bool:
    """Whether BM25 can search for it on its own."""
    return isinstance(query, Phrase) and query.field == WORDS and len(query.words) == 1


# --- one collection ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Held:
    passages: int
    sections: int
    lines: int


class DatabaseTextIndex:
    """Implements :class:`.text_index.TextIndex`. Use :func:`database_index` to get a current one."""

    def __init__(self, collection_id: int) -> None:
        self._collection_id = collection_id
        self._epoch = -1
        self._held: dict[int, _Held] = {}
        self._term_queries: dict[int, TermQueries] = {}
        self._statistics = {
            kind: Statistics(partial(self._holding, kind), partial(self._means, kind)) for kind in BM25
        }
        self._is_spread = self._is_large = False
        self._lock = threading.Lock()

    def bring_up_to_date(self, collection: Collection, epoch: int | None = None) -> None:
        """See the protocol."""
        epoch = index_epoch(collection) if epoch is None else epoch
        with self._lock:
            if epoch == self._epoch:
                return
            if indexes_lacking():
                raise ArbitrationError(
                    _(
                        "The words of the documents are not in the database. The operator either runs manage.py "
                        "search_backend database, or sets SEARCH_BACKEND=embedded."
                    )
                )
            index_prune(collection_id=self._collection_id)
            for document_id in documents_lacking(collection_id=self._collection_id):
                document_write(document_id)
            rows = IndexedDocument.objects.filter(collection=self._collection_id)
            self._held = {
                pk: _Held(*counts) for pk, *counts in rows.values_list("pk", "passages", "sections", "lines")
            }
            self._is_spread = _TABLE in spread()
            every = IndexedDocument.objects.aggregate(Sum("passages"), Sum("sections"))
            self._is_large = sum(filter(None, every.values())) > _LARGE
            self._begin_anew(epoch)

    def forget(self) -> None:
        """See the protocol."""
        with self._lock, transaction.atomic():
            self._begin_anew(-1)
            self._held = {}
            for model in (IndexedText, IndexedPart, IndexedDocument):
                model.objects.filter(collection=self._collection_id).delete()

    def _begin_anew(self, epoch: int) -> None:
        self._epoch, self._term_queries = epoch, {}
        for statistics in self._statistics.values():
            statistics.begin_anew()

    def body_lines(self, document_pk: int) -> int:
        """See the protocol."""
        held = self._held.get(document_pk)
        return held.lines if held else 0

    def term_queries(self, kind: int) -> TermQueries:
        """See the protocol."""
        known = self._term_queries.get(kind)
        if known is None:
            vocabulary = DatabaseVocabulary(self._collection_id, kind)
            known = self._term_queries[kind] = TermQueries(vocabulary)
        return known

    def search(
        self,
        *,
        kind: int,
        any_of: Iterable[str] = (),
        also: Iterable[Query] = (),
        boosted: Iterable[Query] = (),
        documents: Sequence[int] | None,
        limit: int,
    ) -> list[Hit]:
        """See the protocol."""
        words = [Phrase(WORDS, (word,)) for word in dict.fromkeys(any_of) if word]
        asked = [(query, 1) for query in (*words, *also)] + [(query, 2) for query in boosted]
        scope, text = self._scope(kind, documents), _text(asked)
        rows = _rows(
            [self._matching(query, scope, _MOST_SCORED) for query, _ in asked if not _is_word(query)]
        )
        if text:
            most = _MORE_CANDIDATES * limit
            rows.append(self._ranked(kind, text, scope, most))
            if self._is_large and len(rows[-1]) < limit:
                # A walk of the index ends after a hundred thousand entries, those out of scope among them.
                holding = Combined(tuple(query for query, _ in asked if _is_word(query)))
                rows += _rows([self._matching(holding, scope, most, order=self._bm25(kind, text))])
        return self._best(kind, asked, [row for found in rows for row in found], limit)

    def look(
        self, *, kind: int, any_of: Sequence[Query], documents: Sequence[int] | None, limit: int
    ) -> Iterator[Hit]:
        """See the protocol."""
        asked = [(query, 1) for query in any_of]
        rows = _rows([self._matching(Combined(tuple(any_of)), self._scope(kind, documents), limit)])[0]
        yield from self._best(kind, asked, rows, limit)

    def count(self, *, kind: int, any_of: Sequence[Query], documents: Sequence[int] | None) -> int:
        """See the protocol."""
        if not any_of:
            return 0
        (scope, keys), (matches, values) = self._scope(kind, documents), condition(Combined(tuple(any_of)))
        with connection.cursor() as cursor:
            cursor.execute(f"{_COUNT} WHERE {scope} AND {matches}", [*keys, *values])
            return int(cursor.fetchone()[0])

    def counts(
        self, *, kind: int, each: Sequence[Sequence[Query]], documents: Sequence[int] | None
    ) -> list[int]:
        """See the protocol. Single words of the whole collection are those that scores need, too."""
        words = {place: word for place, any_of in enumerate(each) if (word := _sole_word(any_of))}
        if documents is not None:
            words = {}
        holding = self._statistics[kind].holding(words.values()) if words else {}
        others = [any_of for place, any_of in enumerate(each) if place not in words]
        counted = iter(self._count_each(kind, others, documents))
        return [holding[words[place]] if place in words else next(counted) for place in range(len(each))]

    def _count_each(
        self, kind: int, each: Sequence[Sequence[Query]], documents: Sequence[int] | None
    ) -> list[int]:
        """In one statement."""
        if not each:
            return []
        matching, values = self._of_each("", kind, each, documents)
        with connection.cursor() as cursor:
            cursor.execute(_COUNT_EACH.format(matching), values)
            found = dict(cursor.fetchall())
        return [found.get(place, 0) for place in range(len(each))]

    def payloads(
        self, *, kind: int, each: Sequence[Sequence[Query]], documents: Sequence[int] | None, limit: int
    ) -> list[Iterable[dict[str, Any]]]:
        """See the protocol; one statement."""
        found: list[list[dict[str, Any]]] = [[] for _ in each]
        if each:
            with connection.cursor() as cursor:
                cursor.execute(*self._of_each(", e.payload", kind, each, documents))
                for _document, place, payload in cursor.fetchall():
                    found[place].append(json.loads(payload))
        return [payloads[:limit] for payloads in found]

    def _of_each(
        self, columns: str, kind: int, each: Sequence[Sequence[Query]], documents: Sequence[int] | None
    ) -> _Sql:
        """The document and these columns of the entries that match any of the queries, with the place of these. The
        document lets each shard answer for itself (Citus)."""
        scope, keys = self._scope(kind, documents)
        conditions = [condition(Combined(tuple(any_of))) for any_of in each]
        parts = (
            f"{_IN_PLACE.format(place=place, columns=columns)} WHERE {scope} AND {matches}"
            for place, (matches, _) in enumerate(conditions)
        )
        return " UNION ALL ".join(parts), [value for _, values in conditions for value in (*keys, *values)]

    def _scope(self, kind: int, documents: Sequence[int] | None) -> _Sql:
        """The condition that keeps entries of the collection, and of these documents only."""
        condition, values = "e.kind = %s AND e.collection_id = %s", [kind, self._collection_id]
        if documents is None:
            return condition, values
        keys = "{" + ",".join(map(str, documents)) + "}"
        return f"{condition} AND e.document_id = ANY(%s::bigint[])", [*values, keys]

    def _ranked(self, kind: int, text: str, scope: _Sql, limit: int) -> list[Any]:
        """The best by the statistics of their shards: of each shard so many.

        Citus would have a shard score each of them a second time, to merge them, and that takes longer than to find
        them. So each shard is told to answer as if it were alone. A shard finds its own index only where the
        coordinator does not see the words while it reads the statement: they are bound.
        """
        where, values = scope
        order = f"{INDEXED.format(kind=int(kind))} <@>"
        best = f"{_CANDIDATES} WHERE {where} ORDER BY {order}"
        if not self._is_spread:
            return _rows([(f"{best} '{text}' LIMIT {int(limit)}", values)])[0]
        each = _OF_EACH_SHARD.format(f"{best} %s LIMIT {int(limit)}")
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL citus.subquery_pushdown = on")
            with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as bound:
                rows = bound.execute(each, [*values, text], prepare=False).fetchall()
            cursor.execute("SET LOCAL citus.subquery_pushdown = off")
        return rows

    @staticmethod
    def _matching(query: Query, scope: _Sql, limit: int, *, order: str = "octet_length(e.words)") -> _Sql:
        """Everything that matches, up to the limit. Short entries come first, because they weigh more."""
        (where, values), (matches, words) = scope, condition(query)
        statement = f"{_CANDIDATES} WHERE {where} AND {matches} ORDER BY {order}, e.id LIMIT {int(limit)}"
        return statement, [*values, *words]

    def _bm25(self, kind: int, text: str) -> str:
        """What orders entries by BM25, of which the planner cannot see that the index would do so; of a spread table
        neither which index it is, whose name differs from shard to shard."""
        query = f"('{text}' || '')" if self._is_spread else f"'{text}'"
        return f"({INDEXED.format(kind=int(kind))} <@> {query}) + 0"

    def _best(
        self, kind: int, asked: Sequence[tuple[Query, int]], rows: Sequence[Sequence[Any]], limit: int
    ) -> list[Hit]:
        """The best candidates, with their stored data."""
        if not rows:
            return []
        scorer = self._scorer(kind, asked)
        scored = {key: (scorer.score(words, parts), key, pk) for key, pk, words, parts in rows}
        matching = (row for row in scored.values() if row[0] > 0)
        best = sorted(matching, key=lambda row: (-row[0], row[1]))[:limit]
        with connection.cursor() as cursor:
            cursor.execute(_PAYLOADS, [[pk for _, _, pk in best], [key for _, key, _ in best]])
            stored = dict(cursor.fetchall())
        return [Hit(score, pk, json.loads(stored[key])) for score, key, pk in best if key in stored]

    def _scorer(self, kind: int, asked: Sequence[tuple[Query, int]]) -> Scorer:
        entries = sum(held.passages if kind == PASSAGE else held.sections for held in self._held.values())
        return self._statistics[kind].scorer(
            weights((_named(query), times) for query, times in asked), entries
        )

    def _holding(self, kind: int, words: Sequence[Phrase]) -> list[int]:
        """How many entries hold each of the words, which are named as the index holds them."""
        where, values = self._scope(kind, None)
        fields = sorted({word.field for word in words})
        asked = [[word.words[0] for word in words if word.field == field] for field in fields]
        statements = [
            (_HOLDING_EACH.format(holds=_HOLDS.format(field)).replace("{scope}", where), [names, *values])
            for field, names in zip(fields, asked, strict=True)
        ]
        found = dict(zip(fields, map(dict, _rows(statements)), strict=True))
        return [found[word.field].get(word.words[0], 0) for word in words]

    def _means(self, kind: int) -> dict[str, float]:
        """The mean number of words and of parts of an entry."""
        every = sorted(self._held)
        entries = sum(held.passages + held.sections for held in self._held.values())
        where, values = self._scope(kind, every[:: 1 + entries // _MEASURED])
        ((words, parts),) = _rows([(f"{_MEANS} WHERE {where}", values)])[0]
        return {WORDS: max(float(words or 0), 1.0), PARTS: max(float(parts or 0), 1.0)}


def _text(asked: Sequence[tuple[Query, int]]) -> str:
    """The words as BM25 is asked for them, made of letters, digits and blanks; what counts twice is named twice."""
    return " ".join(token(query.words[0]) for query, times in asked if _is_word(query) for _ in range(times))


def _rows(statements: Sequence[_Sql]) -> list[list[Any]]:
    """The rows of each statement. Sent together, they need one round trip."""
    if not statements:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            "; ".join(statement for statement, _ in statements),
            [value for _, values in statements for value in values],
        )
        found = [cursor.fetchall()]
        while cursor.nextset():
            found.append(cursor.fetchall())
    return found


_COUNT = "SELECT count(*) FROM documents_indexedtext e"
_COUNT_EACH = "SELECT place, count(*) FROM ({}) found GROUP BY place"
_IN_PLACE = "SELECT e.document_id, {place} AS place{columns} FROM documents_indexedtext e"
_PARTS_OF_KIND = "SELECT DISTINCT part FROM documents_indexedpart WHERE collection_id = %s AND kind = %s"
_CANDIDATES = "SELECT e.id, e.document_id, e.words, e.parts FROM documents_indexedtext e"
_OF_EACH_SHARD = "SELECT * FROM ({}) best LIMIT 1000000"  # Citus wants a limit here too
_PAYLOADS = """
    SELECT id, payload FROM documents_indexedtext WHERE document_id = ANY(%s::bigint[]) AND id = ANY(%s::bigint[])
"""
_HOLDS = "string_to_array(e.{}, ' ')"
_HOLDING_EACH = """
    SELECT w.word, count(*)
    FROM documents_indexedtext e JOIN unnest(%s::text[]) AS w(word) ON {holds} @> ARRAY[w.word]
    WHERE {{scope}} GROUP BY w.word
"""
_MEANS = """
    SELECT avg(cardinality(string_to_array(e.words, ' '))), avg(cardinality(string_to_array(e.parts, ' ')))
    FROM documents_indexedtext e
"""


@dataclass(slots=True)
class DatabaseVocabulary:
    """The parts of one kind in a collection. The pieces of a word are asked for together."""

    collection_id: int
    kind: int
    _known: dict[str, bool] = field(default_factory=dict)

    def expect(self, word: str) -> None:
        """See the protocol."""
        begin = word[:-1]
        if len(begin) > _LONGEST_EXPECTED:
            return
        pieces = {begin[a:b] for a in range(len(begin)) for b in range(a + 1, len(begin) + 1)}
        self._look_up(pieces)

    def holds(self, piece: str) -> bool:
        """See the protocol."""
        if piece not in self._known:
            self._look_up({piece})
        return self._known.get(piece, True)  # another thread may just have forgotten it

    def beginnings(self, each: Sequence[str]) -> list[list[str]]:
        """See the protocol; parts hold nothing but letters or digits, so that none is a pattern."""
        # Side by side: with LIKE ANY no index is used.
        alike = " OR ".join(["part LIKE %s"] * len(each))
        found = self._parts(f"({alike})", *(f"{letters}%" for letters in each))
        return [[part for part in found if part.startswith(letters)] for letters in each]

    def _look_up(self, pieces: set[str]) -> None:
        pieces -= self._known.keys()
        if not pieces:
            return
        if len(self._known) > _PIECES_KEPT:
            self._known.clear()
        held = set(self._parts("part = ANY(%s)", sorted(pieces)))
        self._known.update((piece, piece in held) for piece in pieces)

    def _parts(self, condition: str, *values: Any) -> list[str]:
        with connection.cursor() as cursor:
            cursor.execute(f"{_PARTS_OF_KIND} AND {condition}", [self.collection_id, self.kind, *values])
            return [row[0] for row in cursor.fetchall()]


# --- keeping up with the documents ------------------------------------------------------------------


def documents_lacking(*, collection_id: int | None = None) -> list[int]:
    """Keys of ready documents whose current words are missing from the index."""
    with connection.cursor() as cursor:
        cursor.execute(_LACKING, [collection_id, collection_id, INDEX_VERSION])
        return [row[0] for row in cursor.fetchall()]


def index_prune(*, collection_id: int) -> None:
    """Removes documents that are no longer ready from the index."""
    gone = IndexedDocument.objects.filter(collection=collection_id).exclude(
        document__status=DocumentStatus.READY
    )
    for document_id in list(gone.values_list("pk", flat=True)):
        document_remove(document_id)


def document_remove(document_id: int) -> None:
    """Removes the words of a document from the index."""
    with transaction.atomic():
        for model in (IndexedText, IndexedPart, IndexedDocument):
            model.objects.filter(document=document_id)._raw_delete("default")


def document_write(document_id: int) -> bool:
    """Replaces the words of a document in the index. False if it is not ready. The document stays locked meanwhile, so
    that its text cannot return after an erasure."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK & 0x7FFFFFFF, document_id & 0x7FFFFFFF])
        cursor.execute(_HELD, [document_id, DocumentStatus.READY])
        row = cursor.fetchone()
        if row is None:
            return False
        collection_id, language, finished_at = row
        cursor.execute(_IS_CURRENT, [document_id, INDEX_VERSION, language, finished_at])
        if cursor.fetchone():
            return True
        document_remove(document_id)
        held = _entries_write(document_id, collection_id)
        IndexedDocument.objects.create(
            document_id=document_id,
            collection_id=collection_id,
            version=INDEX_VERSION,
            language=language,
            finished_at=finished_at,
            passages=held.passages,
            sections=held.sections,
            lines=held.lines,
        )
    return True


def _entries_write(document_id: int, collection_id: int) -> _Held:
    counted, lines = Counter[int](), 0
    vocabulary: dict[int, set[str]] = {PASSAGE: set(), SECTION: set()}
    made = list(entries(document_id))
    with copy_into(_COPY_TEXTS) as copy:
        for entry in made:
            payload = json.dumps(entry.payload, ensure_ascii=False)
            words, parts = tokens(entry.words), tokens(entry.parts)
            copy.write_row((document_id, collection_id, entry.kind, words, parts, payload))
            counted[entry.kind] += 1
            lines += entry.lines
            vocabulary[entry.kind].update(entry.parts.split())
    with copy_into(_COPY_PARTS) as copy:
        for kind, found in vocabulary.items():
            for part in sorted(found - {LINE_BREAK}):
                if len(part) <= _LONGEST:
                    copy.write_row((document_id, collection_id, kind, part))
    return _Held(counted[PASSAGE], counted[SECTION], lines)


_LACKING = """
    SELECT d.id FROM documents_document d LEFT JOIN documents_indexeddocument i ON i.document_id = d.id
    WHERE d.status = 'ready' AND (%s::bigint IS NULL OR d.collection_id = %s)
      AND (i.version = %s AND i.language = d.language AND i.finished_at IS NOT DISTINCT FROM d.finished_at) IS NOT TRUE
    ORDER BY d.id
"""
_HELD = "SELECT collection_id, language, finished_at FROM documents_document WHERE id = %s AND status = %s FOR SHARE"
_IS_CURRENT = """
    SELECT 1 FROM documents_indexeddocument
    WHERE document_id = %s AND version = %s AND language = %s AND finished_at IS NOT DISTINCT FROM %s
"""
_COPY_TEXTS = (
    "COPY documents_indexedtext (document_id, collection_id, kind, words, parts, payload) FROM STDIN"
)
_COPY_PARTS = "COPY documents_indexedpart (document_id, collection_id, kind, part) FROM STDIN"

_indexes: dict[tuple[str, int], DatabaseTextIndex] = {}
_indexes_lock = threading.Lock()


def database_index(collection: Collection, *, epoch: int | None = None) -> DatabaseTextIndex:
    """The collection's index, up to date with the documents, or with the epoch that was just read."""
    with _indexes_lock:
        key = str(connection.settings_dict["NAME"]), collection.pk
        index = _indexes.setdefault(key, DatabaseTextIndex(collection.pk))
    index.bring_up_to_date(collection, epoch)
    return index
