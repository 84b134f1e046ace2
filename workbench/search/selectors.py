"""Full-text search over the documents that a person may read.

The passages come from the index of words of each collection, which is derived from the documents and brought up to date
first. Only documents that the person may see, that are ready and that no later version has replaced are
searched; an older version is searched when it is named.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice

from arbitration.text import supported_language
from workbench.accounts.models import User
from workbench.documents.models import Collection, Document, DocumentQuerySet, Section
from workbench.documents.narrowing import ScopeFilter, keys_matching
from workbench.documents.search_backend import text_index
from workbench.documents.text_index import PASSAGE, Hit, TextIndex

from .words import Words

PAGE_SIZE = 20
#: Further than this nobody turns pages; a narrower search is quicker.
FARTHEST = 1000
#: Passages of one collection and language, best first, that are read at most.
_READ_AT_MOST = 2000
#: A place is at most this many lines long.
_PLACE_LINES = 3
_LONGEST_CONTEXT = 600
_Line = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What is looked for and where. ``collection`` and ``document`` are those of the person, None for all."""

    words: Words
    collection: Collection | None = None
    document: Document | None = None
    section: str = ""
    any_word: bool = False
    filters: ScopeFilter = field(default_factory=ScopeFilter)


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that holds the words. The place is that of the lines that do; ``marks`` are offsets into ``text``,
    which has a line more on each side."""

    document: Document
    section: Section | None
    page_start: int
    line_start: int
    page_end: int
    line_end: int
    text: str
    marks: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class SearchPage:
    """Some of the passages, best match first. ``absent`` are words that none of the documents holds, told where
    nothing was found; ``has_documents`` whether there was anything to search."""

    found: list[Found]
    has_more: bool
    absent: tuple[str, ...] = ()
    has_documents: bool = True


def searchable(*, user: User) -> DocumentQuerySet:
    """The documents that a search of everything reads."""
    return Document.objects.visible_to(user).ready().newest()


def search(*, user: User, request: SearchRequest, offset: int = 0, size: int = PAGE_SIZE) -> SearchPage:
    """The passages that hold the words, from an offset on."""
    parts = _parts(user=user, request=request)
    sections = _sections_named(request, parts)
    if sections is not None:
        holding = {document for document, _ in sections}
        parts = [part for part in (part.narrowed(holding) for part in parts) if part.documents]
    every = heapq.merge(*(_passages(part, request) for part in parts), key=lambda hit: -hit.score)
    hits = (hit for hit in every if sections is None or (hit.document_pk, hit.payload["section"]) in sections)
    page = list(islice(hits, offset, offset + size + 1))
    found = _described(user=user, hits=page[:size], request=request)
    absent = () if page or offset else _absent(parts, request)
    is_last = len(page) <= size or offset + size >= FARTHEST
    return SearchPage(found, has_more=not is_last, absent=absent, has_documents=bool(parts))


@dataclass(frozen=True, slots=True)
class _Part:
    """The documents of one language in one collection."""

    index: TextIndex
    language: str
    documents: list[int]

    def narrowed(self, documents: set[int]) -> _Part:
        return _Part(self.index, self.language, [pk for pk in self.documents if pk in documents])


def _parts(*, user: User, request: SearchRequest) -> list[_Part]:
    """What is searched, each part with its index. Three queries, however many collections there are."""
    collections = {c.pk: c for c in Collection.objects.visible_to(user)}
    documents = searchable(user=user)
    if request.document is not None:
        documents = Document.objects.visible_to(user).ready().filter(pk=request.document.pk)
    if request.collection is not None:
        documents = documents.filter(collection=request.collection)
    kept = keys_matching(documents, request.filters) if request.filters else None
    keys: dict[tuple[int, str], list[int]] = {}
    rows = documents.order_by("pk").values_list("pk", "collection_id", "language")
    for pk, collection, language in rows:
        if (kept is None or pk in kept) and collection in collections:
            keys.setdefault((collection, supported_language(language)), []).append(pk)
    indexes = {
        pk: text_index(collections[pk], epoch=collections[pk].index_epoch)
        for pk in sorted({collection for collection, _ in keys})
    }
    return [_Part(indexes[collection], language, pks) for (collection, language), pks in sorted(keys.items())]


def _sections_named(request: SearchRequest, parts: Sequence[_Part]) -> frozenset[tuple[int, str]] | None:
    """The sections with this in their heading, or in that of a section around them; None where any will do."""
    if not request.section:
        return None
    documents = [pk for part in parts for pk in part.documents]
    named = Section.objects.filter(document__in=documents, breadcrumb__icontains=request.section)
    return frozenset(named.order_by().values_list("document_id", "section_id"))


def _passages(part: _Part, request: SearchRequest) -> Iterator[Hit]:
    """The passages of a part that hold the words, best first; each is read when it is wanted."""
    wanted = request.words.in_language(part.language)
    query = wanted.query(part.index.term_queries(PASSAGE), part.language, any_word=request.any_word)
    hits = part.index.look(kind=PASSAGE, any_of=[query], documents=part.documents, limit=_READ_AT_MOST)
    for hit in hits:
        texts = [hit.payload["text"], *(text for _, _, text in hit.payload["lines"])]
        if wanted.stand_in(texts, part.language, any_word=request.any_word):
            yield hit


def _absent(parts: Sequence[_Part], request: SearchRequest) -> tuple[str, ...]:
    """The words that no document searched holds."""
    return tuple(
        term for term in request.words.terms if parts and not any(_holds(part, term) for part in parts)
    )


def _holds(part: _Part, term: str) -> bool:
    query = Words.of_term(term, part.index.term_queries(PASSAGE), part.language)
    return part.index.count(kind=PASSAGE, any_of=[query], documents=part.documents) > 0


# --- what is shown of a hit -------------------------------------------------------------------------


def _described(*, user: User, hits: Sequence[Hit], request: SearchRequest) -> list[Found]:
    """The hits with their documents and sections. Two queries; a document that went meanwhile takes its hits along."""
    keys = {hit.document_pk for hit in hits}
    ready = Document.objects.visible_to(user).ready()
    documents = ready.select_related("collection").in_bulk(keys)
    ids = {hit.payload["section"] for hit in hits if hit.payload["section"]}
    of_documents = Section.objects.filter(document__in=keys, section_id__in=ids)
    sections = {(row.document_id, row.section_id): row for row in of_documents} if ids else {}
    return [
        _found(
            hit, documents[hit.document_pk], sections.get((hit.document_pk, hit.payload["section"])), request
        )
        for hit in hits
        if hit.document_pk in documents
    ]


def _found(hit: Hit, document: Document, section: Section | None, request: SearchRequest) -> Found:
    wanted = request.words.in_language(supported_language(document.language))
    page_start, line_start, *_ = hit.payload["span"]
    lines: list[_Line] = [tuple(line) for line in hit.payload["lines"]]
    lines = lines or [(page_start, line_start, hit.payload["text"])]
    first, last = _place(lines, wanted, document.language)
    around = lines[max(first - 1, 0) : last + 2]
    text, marks = _cut(" ".join(text for _, _, text in around), wanted, document.language)
    return Found(
        document=document,
        section=section,
        page_start=lines[first][0],
        line_start=lines[first][1],
        page_end=lines[last][0],
        line_end=lines[last][1],
        text=text,
        marks=marks,
    )


def _place(lines: Sequence[_Line], wanted: Words, language: str) -> tuple[int, int]:
    """First and last of the few lines that hold most of the words, as places in ``lines``; of equals the fewest
    lines, then the first."""
    matches = _matches(lines, wanted, language)
    spans = [
        (first, last)
        for first in {first for first, _, _ in matches}
        for last in {last for _, last, _ in matches}
        if first <= last < first + _PLACE_LINES
    ]
    if not spans:  # a word broken at the end of a line: in the passage, but in none of its lines
        return 0, min(len(lines), _PLACE_LINES) - 1

    def worth(span: tuple[int, int]) -> tuple[int, int, int]:
        held = {term for first, last, term in matches if span[0] <= first and last <= span[1]}
        return len(held), span[0] - span[1], -span[0]

    return max(spans, key=worth)


def _matches(lines: Sequence[_Line], wanted: Words, language: str) -> set[tuple[int, int, Words]]:
    """In which line each match begins, in which it ends, and of what; a phrase may go on in the next line."""
    ends = list(accumulate(len(text) + 1 for _, _, text in lines))  # with the blank that joins them
    text = " ".join(line for _, _, line in lines)
    return {
        (bisect_right(ends, start), bisect_right(ends, end - 1), term)
        for term in wanted.each()
        for start, end in term.spans(text, language)
    }


def _cut(text: str, wanted: Words, language: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The text with its marks; of an overlong one the part around the first mark."""
    marks = wanted.spans(text, language)
    if len(text) <= _LONGEST_CONTEXT:
        return text, tuple(marks)
    begin = max(0, min((marks[0][0] if marks else 0) - _LONGEST_CONTEXT // 3, len(text) - _LONGEST_CONTEXT))
    before, after = "… " if begin else "", " …" if begin + _LONGEST_CONTEXT < len(text) else ""
    shift = len(before) - begin
    shown = text[begin : begin + _LONGEST_CONTEXT]
    inside = [
        (max(start, begin) + shift, min(end, begin + _LONGEST_CONTEXT) + shift)
        for start, end in marks
        if start < begin + _LONGEST_CONTEXT and end > begin
    ]
    return f"{before}{shown}{after}", tuple(inside)
