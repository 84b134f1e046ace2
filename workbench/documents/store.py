"""The engine's door to the documents of one scope: pgvector, the index of words, and line tables."""

from __future__ import annotations

import select
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import psycopg
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Sum
from django.utils.translation import gettext as _

from arbitration.errors import ArbitrationError
from arbitration.protocols import DocumentProfile, LineRow, PassageRow, ScopeProfile, SectionRow, Vector
from arbitration.questions.references import reference_address, reference_score
from arbitration.text import TermMatcher, supported_language, term_matcher

from .distribution import are_vectors_spread
from .models import Collection, Document, EmbeddingSpace, Page
from .search_backend import text_index
from .term_queries import Query, index_words, query_words
from .text_index import PASSAGE, SECTION, Hit, TextIndex, address_words, index_epoch

#: Up to this many passages in scope an exact scan is faster than walking the HNSW graph with a filter.
EXACT_SCAN_LIMIT = 5_000
#: Of the documents asked the walk of the graph keeps about so many nodes in sight (``hnsw.ef_search``), and at most so
#: many in all, strangers included.
IN_SIGHT, MOST_IN_SIGHT = 200, 1000
#: Hits of a rare term that are looked at, to be sure that it stands there.
_LOOKED_AT = 20
Span = tuple[str, int, int, int, int]


@dataclass
class Scope:
    """The documents that a question runs over, by key, and what follows from them.

    ``is_everything``: nothing else is ready in the collection, so that the index needs no filter. An index holds older
    versions too, which a question of the collection leaves out.
    """

    documents: dict[int, Document]
    is_collection: bool = False
    is_everything: bool = False
    #: Of a whole collection the documents that are not asked: older versions, and what is not ready.
    left_out: frozenset[int] = frozenset()
    #: Documents of which a later version can be asked. None of a whole collection, which is asked in newest versions.
    superseded: frozenset[int] = frozenset()
    _profile: ScopeProfile | None = None

    @cached_property
    def keys(self) -> list[int] | None:
        """Keys to filter the index by; None when everything that the index holds is asked."""
        return None if self.is_everything else list(self.documents)

    @cached_property
    def of_vectors(self) -> tuple[str, list[object]]:
        """The condition that keeps vectors of the scope, and its values.

        Of a whole collection rather what is left out is named than what is in: to look at thousands of keys takes the
        planner longer than the search. A document made since then has a later key; one that gets past both is left to
        who reads the rows.
        """
        if self.is_collection and len(self.left_out) < len(self.documents):
            return _NOT_LEFT_OUT, [max(self.documents), _array(self.left_out)]
        return self.of_vectors_named

    @cached_property
    def of_vectors_named(self) -> tuple[str, list[object]]:
        """The same, document by document. Thousands of numbers are not adapted one by one, but written as PostgreSQL
        writes an array."""
        return _NAMED, [_array(self.documents)]

    def narrowed(self, keys: frozenset[int]) -> Scope:
        """Only these documents of a collection; all others are left out."""
        documents = {pk: document for pk, document in self.documents.items() if pk in keys}
        return Scope(
            documents,
            is_collection=True,
            is_everything=self.is_everything and len(documents) == len(self.documents),
            left_out=self.left_out | (self.documents.keys() - documents.keys()),
        )

    @cached_property
    def languages(self) -> dict[str, list[int] | None]:
        """Each language in scope with the keys of its documents; None where no filter is needed."""
        spoken: dict[str, list[int]] = {}
        for pk, document in self.documents.items():
            spoken.setdefault(supported_language(document.language), []).append(pk)
        return {language: self.keys if len(spoken) == 1 else keys for language, keys in spoken.items()}

    @cached_property
    def passage_count(self) -> int:
        """Number of passages in scope."""
        return sum(document.passage_count for document in self.documents.values())

    @cached_property
    def ef_search(self) -> int:
        """What the walk keeps in sight: more, the more passages of other collections lie in the same graph."""
        every = Document.objects.ready().aggregate(passages=Sum("passage_count"))["passages"] or 0
        return min(max(IN_SIGHT, IN_SIGHT * every // self.passage_count), MOST_IN_SIGHT)

    def profile(self, collection: Collection, index: TextIndex) -> ScopeProfile:
        """What the engine needs to know of the documents; made once."""
        if self._profile is None:
            documents = tuple(
                _profile(document, index, is_superseded=pk in self.superseded)
                for pk, document in self.documents.items()
            )
            self._profile = ScopeProfile(
                doc_id=documents[0].name if documents and not self.is_collection else collection.slug,
                documents=documents,
                is_collection=self.is_collection,
            )
        return self._profile


#: Collections whose documents are kept between questions.
_SCOPES_KEPT = 32
_scopes: dict[tuple[str, int], tuple[int, Scope]] = {}


def collection_scope(collection: Collection) -> Scope:
    """The newest version of every ready document. Read again when the collection's epoch has moved, as it does
    whenever a document becomes ready, is deleted, or follows another: a question of thousands of documents does not
    read thousands of rows."""
    fresh_connection()
    key = (str(connection.settings_dict["NAME"]), collection.pk)
    epoch = index_epoch(collection)
    known = _scopes.get(key)
    if known is not None and known[0] == epoch:
        return known[1]
    every = Document.objects.filter(collection=collection)
    ready = every.ready()
    documents = {document.pk: document for document in ready.newest().order_by("pk")}
    scope = Scope(
        documents,
        is_collection=True,
        is_everything=ready.count() == len(documents),
        left_out=frozenset(every.values_list("pk", flat=True)) - documents.keys(),
    )
    if len(_scopes) >= _SCOPES_KEPT:
        _scopes.clear()
    _scopes[key] = epoch, scope
    return scope


def _profile(document: Document, index: TextIndex, *, is_superseded: bool) -> DocumentProfile:
    return DocumentProfile(
        document_id=document.public_id,
        name=document.name,
        page_count=document.page_count,
        has_usable_toc=document.has_usable_toc,
        language=document.language,
        document_type=document.document_type,
        character_count=document.character_count,
        effective_date=document.effective_date.isoformat() if document.effective_date else None,
        issuer=document.issuer,
        line_count=index.body_lines(document.pk),
        section_count=document.section_count,
        title=document.title,
        version_number=document.version_number,
        is_superseded=is_superseded,
    )


class DatabaseCandidateStore:
    """Implements :class:`arbitration.protocols.CandidateStore` for one document or one collection.

    ``documents`` None means the newest version of every ready document of the collection; ``only`` narrows these to
    some. Nothing outside the scope is ever read.

    Raises :class:`ArbitrationError` when a document asked for, or every one of the collection, is not
    ready.
    """

    def __init__(
        self,
        *,
        collection: Collection,
        space: EmbeddingSpace,
        documents: Sequence[Document] | None = None,
        only: frozenset[int] | None = None,
    ) -> None:
        self._collection = collection
        self._space = space
        if documents is None:
            whole = collection_scope(collection)
            self._scope = whole if only is None else whole.narrowed(only)
        else:
            chosen = Document.objects.filter(collection=collection).ready().order_by("pk")
            asked = [d.pk for d in documents]
            later = Document.objects.filter(version_of__in=asked).ready()
            self._scope = Scope(
                {d.pk: d for d in chosen.filter(pk__in=asked)},
                superseded=frozenset(later.values_list("version_of_id", flat=True)),
            )
        self._documents = self._scope.documents
        if len(self._documents) < (1 if documents is None else len(set(documents))):
            # Nothing may be called absent from documents that were not searched.
            raise ArbitrationError(
                _("A document of this question is not ready any more. Ask again when it is.")
            )

    @property
    def space(self) -> EmbeddingSpace:
        """The space whose vectors are searched."""
        return self._space

    # --- profile ------------------------------------------------------------------------------------

    def profile(self) -> ScopeProfile:
        """See the protocol."""
        return self._scope.profile(self._collection, self._index)

    @cached_property
    def _index(self) -> TextIndex:
        fresh_connection()
        return text_index(self._collection)

    @property
    def _languages(self) -> dict[str, list[int] | None]:
        """Each language in scope with the keys of its documents; None where no filter is needed."""
        return self._scope.languages

    # --- words --------------------------------------------------------------------------------------

    def _holding(self, terms: Sequence[str], *, kind: int, limit: int) -> list[Hit]:
        """Entries that may hold any of the terms, each in the language of its document."""
        queries = self._index.term_queries(kind)
        found: list[Hit] = []
        for language, documents in self._languages.items():
            found += self._index.search(
                kind=kind,
                any_of=query_words(terms, language),
                also=queries.special(terms, language),
                documents=documents,
                limit=limit,
            )
        return self._in_scope(sorted(found, key=lambda hit: -hit.score))[:limit]

    def _in_scope(self, hits: Sequence[Hit]) -> list[Hit]:
        """Without documents that became ready after this store was made."""
        return [hit for hit in hits if hit.document_pk in self._documents]

    def _matched(
        self, terms: Sequence[str], texts: Sequence[tuple[int, str]]
    ) -> Iterator[tuple[tuple[int, str], bool]]:
        """Whether each text of (document, text) holds any of the terms, in the language of its document."""
        by_language: dict[str, list[int]] = {}
        for place, (pk, _text) in enumerate(texts):
            by_language.setdefault(supported_language(self._documents[pk].language), []).append(place)
        held = [False] * len(texts)
        for language, places in by_language.items():
            found = term_matcher(tuple(terms), language).matched_in_each(
                [texts[place][1] for place in places]
            )
            for place, terms_found in zip(places, found, strict=True):
                held[place] = bool(terms_found)
        return zip(texts, held, strict=True)

    def title_hits(self, terms: Sequence[str], *, limit: int = 200) -> list[SectionRow]:
        """See the protocol."""
        hits = self._holding(terms, kind=SECTION, limit=limit)
        titles = [(hit.document_pk, hit.payload["title"]) for hit in hits]
        matched = self._matched(terms, titles)
        return [_section(hit) for hit, (_, held) in zip(hits, matched, strict=True) if held]

    def sections_numbered(self, references: Sequence[str], *, limit: int = 50) -> list[SectionRow]:
        """See the protocol; best match first, as scored by the engine's own address rule."""
        words = [word for reference in references for word in address_words(reference_address(reference))]
        hits = self._index.search(kind=SECTION, any_of=words, documents=self._scope.keys, limit=20 * limit)
        scored = [(self._reference_score(hit, references), _section(hit)) for hit in self._in_scope(hits)]
        found = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])
        return [section for _, section in found[:limit]]

    @staticmethod
    def _reference_score(hit: Hit, references: Sequence[str]) -> float:
        title, breadcrumb = hit.payload["title"], hit.payload["breadcrumb"]
        return max(reference_score(r, title=title, breadcrumb=breadcrumb) for r in references)

    def sections_by_id(self, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], SectionRow]:
        """See the protocol."""
        wanted = [(pk, section) for document, section in keys if (pk := _pk(document)) in self._documents]
        if not wanted:
            return {}
        with fresh_connection().cursor() as cursor:
            cursor.execute(_SECTIONS_BY_ID, [[pk for pk, _ in wanted], [section for _, section in wanted]])
            names = [column.name for column in cursor.description]
            rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        sections = [_section_row(f"d{row.pop('document_id')}", row) for row in rows]
        return {(section.document_id, section.section_id): section for section in sections}

    def outline(self, document_id: str, *, limit: int = 2000) -> list[SectionRow]:
        """See the protocol."""
        if (pk := _pk(document_id)) not in self._documents:
            return []
        with fresh_connection().cursor() as cursor:
            cursor.execute(_OUTLINE, [pk, limit])
            names = [column.name for column in cursor.description]
            rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        return [_section_row(f"d{row.pop('document_id')}", row) for row in rows]

    def lines_with(self, terms: Sequence[str], *, limit: int = 2000) -> list[LineRow]:
        """See the protocol. Lines are looked for in the passages that hold the terms, best BM25 first."""
        hits = self._holding(terms, kind=PASSAGE, limit=max(50, min(limit // 4, 400)))
        lines = [(hit, *line) for hit in hits for line in hit.payload["lines"]]
        matched = self._matched(terms, [(hit.document_pk, text) for hit, _, _, text in lines])
        found = [
            LineRow(f"d{hit.document_pk}", page, number, text, hit.payload["section"] or None)
            for (hit, page, number, text), (_, held) in zip(lines, matched, strict=True)
            if held
        ]
        return found[:limit]

    def count_hits(self, terms: Sequence[str]) -> dict[str, int]:
        """See the protocol; a hit is a passage or a title that holds the whole term."""
        found = dict.fromkeys(terms, 0)
        for language, documents in self._languages.items():
            for kind in (PASSAGE, SECTION):
                for term, count in self._counts(terms, language, kind=kind, documents=documents):
                    found[term] += count
        return found

    def _counts(
        self, terms: Sequence[str], language: str, *, kind: int, documents: list[int] | None
    ) -> Iterator[tuple[str, int]]:
        """How many entries of a kind hold each term. Of all documents it is counted once for a state of the index: a
        frequent word stands in every tenth of a million passages, and in many questions."""
        queries = self._index.term_queries(kind)
        holding: dict[str, list[Query]] = {}
        for term in dict.fromkeys(terms):
            known = queries.known_count(term, language) if documents is None else None
            if known is None:
                holding[term] = queries.holding(term, language)
            else:
                yield term, known
        counted = self._index.counts(kind=kind, each=list(holding.values()), documents=documents)
        counts = dict(zip(holding, counted, strict=True))
        # The queries are somewhat more generous than the matcher; rare terms are worth a look.
        rare = [term for term, count in counts.items() if 0 < count <= _LOOKED_AT]
        payloads = self._index.payloads(
            kind=kind, each=[holding[term] for term in rare], documents=documents, limit=_LOOKED_AT
        )
        for term, entries in zip(rare, payloads, strict=True):
            matcher = term_matcher((term,), language)
            if not any(_holds(payload, matcher) for payload in entries):
                counts[term] = 0
        for term, count in counts.items():
            if documents is None:
                queries.keep_count(term, language, count)
            yield term, count

    def substring_pages(self, terms: Sequence[str], *, limit: int = 200) -> list[tuple[str, int]]:
        """See the protocol."""
        patterns = ["%" + _like(term) + "%" for term in terms if term.strip()]
        if not patterns:
            return []
        fresh_connection()
        pages = (
            Page.objects.filter(document__in=list(self._documents))
            .extra(where=["text ILIKE ANY(%s)"], params=[patterns])
            .order_by("document_id", "page_num")
            .values_list("document_id", "page_num")[:limit]
        )
        return [(f"d{document}", page) for document, page in pages]

    def lexical(self, query: str, *, exact: Sequence[str] = (), limit: int = 50) -> list[PassageRow]:
        """See the protocol."""
        queries = self._index.term_queries(PASSAGE)
        hits = self._index.search(
            kind=PASSAGE,
            any_of=[word for language in self._languages for word in index_words(query, language)],
            boosted=[
                found for code in exact for found in queries.holding(code, next(iter(self._languages), "en"))
            ],
            documents=self._scope.keys,
            limit=limit,
        )
        return [_passage(hit) for hit in self._in_scope(hits)]

    # --- vectors ------------------------------------------------------------------------------------

    def vector(self, vectors: Sequence[Vector], *, limit: int = 50) -> list[PassageRow]:
        """See the protocol: exact for small scopes, HNSW with iterative scan for large ones."""
        size = self._scope.passage_count
        best: dict[int, PassageRow] = {}
        for vector in vectors:
            rows = self._nearest(vector, limit=limit, exact=size <= EXACT_SCAN_LIMIT)
            if len(rows) < min(limit, size):
                # The graph was left too early: a narrow scope, or many equal texts in the way.
                rows = self._nearest(vector, limit=limit, exact=True)
            for row in rows:
                known = best.get(row.passage_id)
                if known is None or known.score < row.score:
                    best[row.passage_id] = row
        return sorted(best.values(), key=lambda row: (-row.score, row.passage_id))[:limit]

    def _nearest(self, vector: Vector, *, limit: int, exact: bool) -> list[PassageRow]:
        literal = "[" + ",".join([f"{value:.6f}" for value in np.asarray(vector, np.float32).tolist()]) + "]"
        width = self._space.width
        distance = (
            "v.embedding <=> %s::vector"
            if exact
            else (f"v.embedding::halfvec({width}) <=> %s::halfvec({width})")
        )
        # The space's key is a literal: it must match the predicate of the space's partial index.
        condition, values = self._scope.of_vectors_named if exact else self._scope.of_vectors
        settings = "" if exact else _SEARCH_SETTINGS.format(ef_search=self._scope.ef_search)
        query = _NEAREST.format(distance=distance, space=int(self._space.pk), scope=condition)
        return [
            PassageRow(f"d{row[0]}", *row[1:6], row[6] or None, row[7], 1.0 - float(row[8]))
            for row in _with_settings(settings, query, [literal, self._collection.pk, *values, limit])
            if row[0] in self._documents
        ]

    # --- text ---------------------------------------------------------------------------------------

    def lines_between(
        self, document_id: str, page_start: int, line_start: int, page_end: int, line_end: int
    ) -> list[LineRow]:
        """See the protocol."""
        return self.lines_of_scopes([(document_id, page_start, line_start, page_end, line_end)])[0]

    def lines_of_scopes(self, scopes: Sequence[Span]) -> list[list[LineRow]]:
        """See the protocol; one query however many spans."""
        found: list[list[LineRow]] = [[] for _ in scopes]
        columns = self._columns(scopes)
        if columns[0]:
            with fresh_connection().cursor() as cursor:
                cursor.execute(_LINES_OF_SCOPES, [_array(column) for column in columns])
                for position, *line in cursor.fetchall():
                    found[position].append(LineRow(*line))
        return found

    def tokens_of_scopes(self, scopes: Sequence[Span]) -> list[list[bytes]]:
        """See the protocol; one query however many spans."""
        found: list[list[bytes]] = [[] for _ in scopes]
        columns = self._columns(scopes)
        if columns[0]:
            values = [*map(_array, columns), int(self._space.pk)]
            for position, packed in _binary_rows(_TOKENS_OF_SCOPES, values):
                found[position].append(packed)
        return found

    def _columns(self, scopes: Sequence[Span]) -> list[list[int]]:
        """Position and bounds of the spans whose documents are in scope, by column."""
        columns: list[list[int]] = [[], [], [], [], [], []]
        for position, (document, *rest) in enumerate(scopes):
            if (pk := _pk(document)) in self._documents:
                for column, value in zip(columns, (position, pk, *rest), strict=True):
                    column.append(value)
        return columns


def fresh_connection() -> BaseDatabaseWrapper:
    """This thread's connection, made anew if the last use of it failed. Detectors run in long-lived threads, which
    Django does not tidy up after a request or a task: a restarted database must not break them for ever.

    Age alone closes none here: the next read would only open another. Where a request or a task ends, Django looks
    at the age. A server that ends a session says so at once, so that a connection on which nothing waits to be read is
    not tried out by a statement of its own: that was a third of what a question sends."""
    if not connection.in_atomic_block:
        close_at, connection.close_at = connection.close_at, None
        connection.close_if_unusable_or_obsolete()
        if connection.connection is not None:
            connection.close_at = close_at
            connection.health_check_done = _is_silent(connection.connection)
    return connection  # type: ignore[return-value]


def _binary_rows(query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
    """The rows of a query in PostgreSQL's binary format. As text a ``bytea`` has twice its bytes; Django's cursors,
    which put the values into the query, read text alone."""
    with (
        fresh_connection().cursor() as cursor,
        cursor.db.wrap_database_errors,
        psycopg.Cursor(cursor.connection) as reading,
    ):
        reading.execute(cursor.mogrify(query, values), binary=True)
        return reading.fetchall()


def _with_settings(settings: str, query: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
    """The rows of a query under settings of its own transaction (``SET LOCAL``; may be empty)."""
    with fresh_connection().cursor() as cursor:
        if settings and are_vectors_spread():
            # Citus passes a setting on to the nodes together with all that is sent with it: the query comes later.
            with transaction.atomic():
                cursor.execute(_PASSED_ON + settings)
                cursor.execute(query, values)
                return cursor.fetchall()
        # Statements sent together are one transaction and one way to the server and back.
        cursor.execute(settings + query, values)
        while cursor.nextset():
            pass
        return cursor.fetchall()


def _is_silent(session: Any) -> bool:
    """Whether a session is open and nothing waits to be read on its socket, the end of it included."""
    if session.closed:
        return False
    waiting = select.poll()
    waiting.register(session.fileno(), select.POLLIN)
    return not waiting.poll(0)


_PASSED_ON = "SET LOCAL citus.propagate_set_commands = 'local';"
_SEARCH_SETTINGS = "SET LOCAL hnsw.ef_search = {ef_search}; SET LOCAL hnsw.iterative_scan = 'relaxed_order';"
_NAMED = "v.document_id = ANY(%s::bigint[])"
_NOT_LEFT_OUT = "v.document_id <= %s AND v.document_id <> ALL(%s::bigint[])"
_NEAREST = """
    SELECT p.document_id, p.id, p.page_start, p.line_start, p.page_end, p.line_end, p.section_id, p.text, n.distance
    FROM (
        SELECT v.passage_id, {distance} AS distance
        FROM documents_passagevector v
        WHERE v.space_id = {space} AND v.collection_id = %s AND {scope}
        ORDER BY distance LIMIT %s
    ) n JOIN documents_passage p ON p.id = n.passage_id
    ORDER BY n.distance, p.id
"""
_LINES_OF_SCOPES = """
    SELECT s.position, 'd' || l.document_id, l.page_num, l.line_num, l.text, nullif(l.section_id, '')
    FROM unnest(%s::int[], %s::bigint[], %s::int[], %s::int[], %s::int[], %s::int[])
         AS s(position, document_id, page_start, line_start, page_end, line_end)
    JOIN documents_line l
      ON l.document_id = s.document_id
     AND (l.page_num, l.line_num) >= (s.page_start, s.line_start)
     AND (l.page_num, l.line_num) <= (s.page_end, s.line_end)
    WHERE NOT l.is_furniture AND NOT l.is_hidden
    ORDER BY s.position, l.page_num, l.line_num
"""
#: Passages of a document follow one another, so those that touch a span are the last that begin before its end; an
#: anchor is never so long that it touches more. They are found first: on a cluster tokens lie on other nodes.
_TOKENS_OF_SCOPES = """
    WITH touched AS MATERIALIZED (
        SELECT s.position, s.document_id, p.id, p.ordinal
        FROM unnest(%s::int[], %s::bigint[], %s::int[], %s::int[], %s::int[], %s::int[])
             AS s(position, document_id, page_start, line_start, page_end, line_end)
        CROSS JOIN LATERAL (
            SELECT p.id, p.ordinal, p.page_end, p.line_end
            FROM documents_passage p
            WHERE p.document_id = s.document_id AND (p.page_start, p.line_start) <= (s.page_end, s.line_end)
            ORDER BY p.page_start DESC, p.line_start DESC
            LIMIT 8
        ) p
        WHERE (p.page_end, p.line_end) >= (s.page_start, s.line_start)
    )
    SELECT p.position, t.packed
    FROM touched p JOIN documents_passagetokens t
      ON t.passage_id = p.id AND t.document_id = p.document_id AND t.space_id = %s
    ORDER BY p.position, p.ordinal
"""
_OUTLINE = """
    SELECT x.document_id, x.section_id, x.level, x.parent_id, x.title, x.breadcrumb, x.start_page AS page_start,
           x.line_start, x.end_page AS page_end, x.line_end, x.own_page_end, x.own_line_end, x.has_children
    FROM documents_section x
    WHERE x.document_id = %s
    ORDER BY x.ordinal
    LIMIT %s
"""
_SECTIONS_BY_ID = """
    SELECT x.document_id, x.section_id, x.level, x.parent_id, x.title, x.breadcrumb, x.start_page AS page_start,
           x.line_start, x.end_page AS page_end, x.line_end, x.own_page_end, x.own_line_end, x.has_children
    FROM documents_section x
    JOIN unnest(%s::bigint[], %s::text[]) AS k(document_id, section_id) USING (document_id, section_id)
"""


def _array(numbers: Iterable[int]) -> str:
    """Whole numbers as PostgreSQL writes an array of them."""
    return "{" + ",".join(map(str, numbers)) + "}"


def _pk(document_id: str) -> int:
    return int(document_id.removeprefix("d"))


def _holds(payload: dict[str, Any], matcher: TermMatcher) -> bool:
    """Whether the text of an entry, or one of its lines, holds the matcher's term."""
    texts = (
        [payload["title"]] if "title" in payload else [payload["text"], *(t for _, _, t in payload["lines"])]
    )
    return any(matcher.matched_in_each(texts))


def _like(term: str) -> str:
    return term.strip().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _section(hit: Hit) -> SectionRow:
    return _section_row(f"d{hit.document_pk}", hit.payload)


def _section_row(document_id: str, row: dict[str, Any]) -> SectionRow:
    return SectionRow(document_id=document_id, **(row | {"parent_id": row["parent_id"] or None}))


def _passage(hit: Hit) -> PassageRow:
    payload = hit.payload
    return PassageRow(
        f"d{hit.document_pk}",
        payload["id"],
        *payload["span"],
        payload["section"] or None,
        payload["text"],
        hit.score,
    )
