"""The words of a collection in the database itself: BM25 by pg_textsearch, exact phrases and counts by GIN.

For installations whose hosts have no room for an index each (:mod:`.lexical`), and for those of several nodes, where
each node indexes the documents it holds. pg_textsearch ranks and nothing else: it knows no phrase, and where it ends a
long walk it says nothing. So whatever must be exact, a count or a look at all that matches, is a condition that GIN
answers: the pieces by GIN, their order by the text itself.

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
from functools import lru_cache
from math import log1p
from typing import Any

from django.db import connection, transaction
from django.db.models import Sum
from django.utils.translation import gettext as _

from arbitration.errors import ArbitrationError

from .database_shards import best_of, shards_of
from .models import Collection, DocumentStatus, IndexedDocument, IndexedPart, IndexedText
from .term_queries import LINE_BREAK, WORDS, Combined, Phrase, Query, TermQueries
from .text_index import INDEX_VERSION, PASSAGE, SECTION, Hit, entries, index_epoch

#: The BM25 index of each kind. Titles stand apart from passages, as :mod:`.lexical` says why.
BM25 = {PASSAGE: "indexed_passages_bm25", SECTION: "indexed_titles_bm25"}
_TABLE = IndexedText._meta.db_table
#: Entries found by a phrase that are scored; the ranking of more has no use for one of them.
_MOST_SCORED = 2000
#: Pieces of words whose being there is remembered.
_PIECES_KEPT = 50_000
#: Entries of all collections from which on a walk of the index may end before its time.
_LARGE = 50_000
#: Letters of a word whose pieces are looked up together: there are half as many as their square.
_LONGEST_EXPECTED = 64
_NO_WORD = "zq"  # no token is this
_LONGEST = 255  # characters of a word that stand in the index; of a longer one its hash
_LOCK = 0x7E3_1DE8  # one process at a time writes the entries of a document
_PLAIN = re.compile(r"(?!zq)[a-z]+\Z|\d+\Z")
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


def condition(query: Query) -> tuple[str, list[Any]]:
    """SQL that is true of the entries that match, and its values. Holds no ``%`` but those of its values."""
    if isinstance(query, Phrase):
        pieces = list(map(token, query.words))
        holds = f"string_to_array(e.{query.field}, ' ') @> %s::text[]"
        if len(pieces) == 1:
            return holds, [pieces]
        return (
            f"({holds} AND strpos(' ' || e.{query.field} || ' ', %s) > 0)",
            [pieces, f" {' '.join(pieces)} "],
        )
    return _combined(query)


def _combined(query: Combined) -> tuple[str, list[Any]]:
    if not query.queries:
        return "false", []
    each = [condition(part) for part in query.queries]
    joined = (" AND " if query.holds_all else " OR ").join(text for text, _ in each)
    return f"({joined})", [value for _, values in each for value in values]


def _words_in(query: Query) -> Iterator[str]:
    """The single words of a query, by which what it finds is ranked."""
    if isinstance(query, Combined):
        for part in query.queries:
            yield from _words_in(part)
    elif query.field == WORDS:
        yield from query.words


@dataclass(frozen=True, slots=True)
class _Weighed:
    """What ranks: words by how often they count, and phrases, which BM25 cannot weigh, by their weight."""

    words: Counter[str]
    phrases: dict[Query, float]

    @property
    def text(self) -> str:
        """The words as BM25 is asked for them; what is named twice counts twice."""
        return " ".join(name for word, times in self.words.items() for name in [token(word)] * times)


def _weighed(any_of: Iterable[str], also: Iterable[Query], boosted: Iterable[Query]) -> _Weighed:
    found = _Weighed(Counter(dict.fromkeys((word for word in any_of if word), 1)), {})
    for queries, weight in ((also, 1), (boosted, 2)):
        for query in queries:
            if isinstance(query, Phrase) and query.field == WORDS and len(query.words) == 1:
                found.words[query.words[0]] += weight
            else:
                found.phrases[query] = max(found.phrases.get(query, 0), weight)
    return found


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
            self._is_spread = bool(shards_of(_TABLE))
            every = IndexedDocument.objects.aggregate(Sum("passages"), Sum("sections"))
            self._is_large = sum(filter(None, every.values())) > _LARGE
            self._epoch, self._term_queries = epoch, {}

    def forget(self) -> None:
        """See the protocol."""
        with self._lock, transaction.atomic():
            self._epoch, self._term_queries, self._held = -1, {}, {}
            for model in (IndexedText, IndexedPart, IndexedDocument):
                model.objects.filter(collection=self._collection_id).delete()

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
        wanted = _weighed(any_of, also, boosted)
        scope = self._scope(kind, documents)
        best: dict[int, tuple[float, Hit]] = {}
        if wanted.words:
            best = {row[0]: _scored(row) for row in self._ranked(kind, wanted, scope, limit)}
        if wanted.phrases:
            best |= self._by_phrases(kind, wanted, scope)
        ordered = sorted(best.items(), key=lambda item: (-item[1][0], item[0]))
        return [Hit(score, hit.document_pk, hit.payload) for _, (score, hit) in ordered[:limit]]

    def look(
        self, *, kind: int, any_of: Sequence[Query], documents: Sequence[int] | None, limit: int
    ) -> Iterator[Hit]:
        """See the protocol."""
        query = Combined(tuple(any_of))
        text = " ".join(token(word) for word in dict.fromkeys(_words_in(query)))
        rows = self._matching(kind, query, text, self._scope(kind, documents), limit=limit)
        for row in sorted(rows, key=lambda row: (row[3], row[0]))[:limit]:
            yield _scored(row)[1]

    def count(self, *, kind: int, any_of: Sequence[Query], documents: Sequence[int] | None) -> int:
        """See the protocol."""
        if not any_of:
            return 0
        (scope, keys), (matches, values) = self._scope(kind, documents), condition(Combined(tuple(any_of)))
        with connection.cursor() as cursor:
            cursor.execute(f"{_COUNT} WHERE {scope} AND {matches}", [*keys, *values])
            return int(cursor.fetchone()[0])

    def _scope(self, kind: int, documents: Sequence[int] | None) -> tuple[str, list[Any]]:
        """The condition that keeps entries of the collection, and of these documents only."""
        condition, values = "e.kind = %s AND e.collection_id = %s", [kind, self._collection_id]
        if documents is None:
            return condition, values
        keys = "{" + ",".join(map(str, documents)) + "}"
        return f"{condition} AND e.document_id = ANY(%s::bigint[])", [*values, keys]

    def _ranked(self, kind: int, wanted: _Weighed, scope: tuple[str, list[Any]], limit: int) -> list[Any]:
        """The best by BM25. A walk of the index ends after a hundred thousand entries, those out of scope among them:
        what it then lacks is looked for without it."""
        statement = _RANKED.replace("{scope}", scope[0])
        rows = self._best(statement, scope[1], kind=kind, text=wanted.text, limit=limit)
        if len(rows) < limit and self._is_large:
            holding = Combined(tuple(Phrase(WORDS, (word,)) for word in wanted.words))
            return self._matching(kind, holding, wanted.text, scope, limit=limit)
        return rows

    def _matching(
        self, kind: int, query: Query, text: str, scope: tuple[str, list[Any]], *, limit: int
    ) -> list[Any]:
        matches, values = condition(query)
        statement = _MATCHING.replace("{scope}", scope[0]).replace("{matches}", matches)
        return self._best(statement, [*scope[1], *values], kind=kind, text=text, limit=limit)

    def _best(self, statement: str, values: list[Any], *, kind: int, text: str, limit: int) -> list[Any]:
        """``text`` is made of tokens, which hold letters, digits and blanks."""
        named = {
            "{query}": f"to_bm25query('{text or _NO_WORD}', '{BM25[kind]}{{suffix}}')",
            "{limit}": str(int(limit)),
        }
        for name, value in named.items():
            statement = statement.replace(name, value)
        return best_of(_TABLE, statement, values, is_spread=self._is_spread, limit=limit)

    def _by_phrases(
        self, kind: int, wanted: _Weighed, scope: tuple[str, list[Any]]
    ) -> dict[int, tuple[float, Hit]]:
        """Entries that hold phrases, scored by their words and, for each phrase, by how rare it is among them."""
        found: dict[int, tuple[float, Hit]] = {}
        for query, weight in wanted.phrases.items():
            rows = self._matching(kind, query, wanted.text, scope, limit=_MOST_SCORED)
            worth = weight * self._rarity(kind, len(rows))
            for row in rows:
                score, hit = found.get(row[0]) or _scored(row)
                found[row[0]] = score + worth, hit
        return found

    def _rarity(self, kind: int, holding: int) -> float:
        """BM25's weight of what so many entries of the collection hold."""
        every = sum(held.passages if kind == PASSAGE else held.sections for held in self._held.values())
        return log1p(max(every - holding + 0.5, 0.5) / (holding + 0.5))


def _scored(row: Sequence[Any]) -> tuple[float, Hit]:
    _key, document_pk, payload, negative = row
    return -float(negative), Hit(-float(negative), int(document_pk), json.loads(payload))


_COUNT = "SELECT count(*) FROM documents_indexedtext e"
_PARTS_OF_KIND = "SELECT DISTINCT part FROM documents_indexedpart WHERE collection_id = %s AND kind = %s"
#: The walk of the BM25 index, which keeps the order itself.
_RANKED = """
    SELECT id, document_id, payload, score FROM (
        SELECT e.id, e.document_id, e.payload, e.words <@> {query} AS score
        FROM documents_indexedtext{suffix} e WHERE {scope} ORDER BY e.words <@> {query} LIMIT {limit}
    ) best WHERE score < 0 ORDER BY score, id
"""
#: All that matches is found first, so that no walk of the BM25 index can leave anything out.
_MATCHING = """
    WITH found AS MATERIALIZED (
        SELECT e.id, e.document_id, e.payload, e.words FROM documents_indexedtext{suffix} e WHERE {scope} AND {matches}
    )
    SELECT id, document_id, payload, words <@> {query} AS score FROM found ORDER BY score, id LIMIT {limit}
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

    def beginning(self, letters: str) -> list[str]:
        """See the protocol."""
        return self._parts("part LIKE %s", f"{letters}%")

    def _look_up(self, pieces: set[str]) -> None:
        pieces -= self._known.keys()
        if not pieces:
            return
        if len(self._known) > _PIECES_KEPT:
            self._known.clear()
        held = set(self._parts("part = ANY(%s)", sorted(pieces)))
        self._known.update((piece, piece in held) for piece in pieces)

    def _parts(self, condition: str, value: Any) -> list[str]:
        with connection.cursor() as cursor:
            cursor.execute(f"{_PARTS_OF_KIND} AND {condition}", [self.collection_id, self.kind, value])
            return [row[0] for row in cursor.fetchall()]


# --- keeping up with the documents ------------------------------------------------------------------


def documents_lacking(*, collection_id: int | None = None) -> list[int]:
    """Keys of ready documents whose words are not in the index as they are now."""
    with connection.cursor() as cursor:
        cursor.execute(_LACKING, [collection_id, collection_id, INDEX_VERSION])
        return [row[0] for row in cursor.fetchall()]


def index_prune(*, collection_id: int) -> None:
    """Takes documents that are not ready any more out of the index."""
    gone = IndexedDocument.objects.filter(collection=collection_id).exclude(
        document__status=DocumentStatus.READY
    )
    for document_id in list(gone.values_list("pk", flat=True)):
        document_remove(document_id)


def document_remove(document_id: int) -> None:
    """Takes the words of a document out of the index."""
    with transaction.atomic():
        for model in (IndexedText, IndexedPart, IndexedDocument):
            model.objects.filter(document=document_id)._raw_delete("default")


def document_write(document_id: int) -> bool:
    """Takes the words of a document in, in place of what is there; False where it is not ready. The document is held
    meanwhile, so that no erasure is overtaken by the text that it takes away."""
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
    with connection.cursor() as cursor:
        made = list(entries(document_id))
        with cursor.copy(_COPY_TEXTS) as copy:
            for entry in made:
                payload = json.dumps(entry.payload, ensure_ascii=False)
                words, parts = tokens(entry.words), tokens(entry.parts)
                copy.write_row((document_id, collection_id, entry.kind, words, parts, payload))
                counted[entry.kind] += 1
                lines += entry.lines
                vocabulary[entry.kind].update(entry.parts.split())
        with cursor.copy(_COPY_PARTS) as copy:
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
            f"CREATE INDEX {BM25[kind]} ON documents_indexedtext USING bm25 (words)"
            f" WITH (text_config = 'simple', k1 = 1.2, b = 0.75) WHERE kind = {int(kind)}"
        )


def indexes_drop() -> None:
    """Takes both away."""
    with connection.cursor() as cursor:
        for name in BM25.values():
            cursor.execute(f"DROP INDEX IF EXISTS {name}")
