"""An in-memory :class:`~arbitration.protocols.CandidateStore` over parsed documents.

It answers the same queries as the product's store, by the same matching rules (:mod:`arbitration.text`), with plain
BM25 and exact cosine search. Meant for up to some thousand pages: every question reads every line. Indexes and
vectors are made when they are first needed, or all at once by :meth:`InMemoryStore.prepare`; threads may share a store.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from arbitration.documents import Line, ParsedDocument, Section
from arbitration.late_interaction import gives_tokens, passage_tokens
from arbitration.protocols import (
    DocumentProfile,
    Embedder,
    LineRow,
    PassageRow,
    ScopeProfile,
    SectionRow,
    TokenVectors,
    Vector,
)
from arbitration.questions.references import reference_score
from arbitration.text import TermMatcher, content_stems, exact_codes, fold

K1, B = 1.2, 0.75
_EXACT_REPEATS = 2
_SENTENCE = re.compile(r"(?<=[.;:?!])\s+")
_SHORTEST_SENTENCE = 4  # words


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A parsed document with the name and id it has in a store."""

    document_id: str
    name: str
    parsed: ParsedDocument
    document_type: str = ""
    effective_date: str | None = None  # ISO 8601; says which of two documents prevails
    issuer: str = ""


class InMemoryStore:
    """Every query of :class:`~arbitration.protocols.CandidateStore` over documents held in memory."""

    def __init__(
        self,
        documents: Sequence[StoredDocument],
        *,
        embedder: Embedder | None = None,
        doc_id: str | None = None,
        sentence_vectors: bool = False,
    ) -> None:
        """``sentence_vectors``: a passage's cosine is the MAX over itself and its sentences."""
        self._documents = tuple(documents)
        self._embedder = embedder
        self._sentence_vectors = sentence_vectors
        self._doc_id = doc_id or (documents[0].document_id if len(documents) == 1 else "collection")
        self._lines = {
            d.document_id: [line for line in d.parsed.lines if not (line.is_furniture or line.is_hidden)]
            for d in documents
        }
        self._line_keys = {
            document_id: [(line.page_num, line.line_num) for line in lines]
            for document_id, lines in self._lines.items()
        }
        self._matchers: dict[tuple[tuple[str, ...], str], TermMatcher] = {}

    def prepare(self) -> None:
        """Make the indexes and, with an embedder, the vectors now and not at the first question."""
        assert self._bm25
        if self._embedder is not None and self._passages:
            assert self._vectors
            assert self._tokens is not None

    def profile(self) -> ScopeProfile:
        """The documents in scope."""
        return ScopeProfile(
            doc_id=self._doc_id,
            documents=tuple(self._profile(document) for document in self._documents),
            is_collection=len(self._documents) > 1,
        )

    def _profile(self, document: StoredDocument) -> DocumentProfile:
        parsed = document.parsed
        return DocumentProfile(
            document_id=document.document_id,
            name=document.name,
            page_count=len(parsed.pages),
            has_usable_toc=bool(parsed.sections),
            language=parsed.language,
            document_type=document.document_type,
            effective_date=document.effective_date,
            issuer=document.issuer,
            character_count=sum(line.character_count for line in parsed.lines),
            line_count=len(self._lines[document.document_id]),
            section_count=len(parsed.sections),
            title=parsed.title or document.name,
        )

    # --- titles and sections ---------------------------------------------------------------------

    @cached_property
    def _sections(self) -> dict[tuple[str, str], SectionRow]:
        rows = (row for document in self._documents for row in section_rows(document))
        return {(row.document_id, row.section_id): row for row in rows}

    def title_hits(self, terms: Sequence[str], *, limit: int = 200) -> list[SectionRow]:
        """Sections whose title holds any of the terms, those with most terms first."""
        counted = [
            (len(self._matcher(terms, row.document_id).matched(row.title)), row)
            for row in self._sections.values()
        ]
        hits = sorted((item for item in counted if item[0]), key=lambda item: -item[0])
        return [row for _, row in hits[:limit]]

    def sections_numbered(self, references: Sequence[str], *, limit: int = 50) -> list[SectionRow]:
        """Sections that answer a reference, the best match first."""
        scored = [
            (
                max(reference_score(ref, title=row.title, breadcrumb=row.breadcrumb) for ref in references),
                row,
            )
            for row in self._sections.values()
        ]
        found = sorted((item for item in scored if item[0] > 0), key=lambda item: -item[0])
        return [row for _, row in found[:limit]]

    def sections_by_id(self, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], SectionRow]:
        """Sections by (document_id, section_id)."""
        return {key: self._sections[key] for key in keys if key in self._sections}

    def outline(self, document_id: str, *, limit: int = 2000) -> list[SectionRow]:
        """The sections of one document in reading order."""
        return [row for (owner, _), row in self._sections.items() if owner == document_id][:limit]

    # --- lines -----------------------------------------------------------------------------------

    def _matcher(self, terms: Sequence[str], document_id: str) -> TermMatcher:
        language = next(d.parsed.language for d in self._documents if d.document_id == document_id)
        key = (tuple(terms), language)
        matcher = self._matchers.get(key)
        if (
            matcher is None
        ):  # detectors ask from several threads: what one replaces another may just be reading
            matcher = TermMatcher(terms, language)
            self._matchers = {key: matcher}
        return matcher

    def lines_with(self, terms: Sequence[str], *, limit: int = 2000) -> list[LineRow]:
        """Body lines that hold any of the terms."""
        found: list[LineRow] = []
        for document_id, lines in self._lines.items():
            matcher = self._matcher(terms, document_id)
            found += (_line_row(document_id, line) for line in lines if matcher.matched(line.text))
            if len(found) >= limit:
                break
        return found[:limit]

    def count_hits(self, terms: Sequence[str]) -> dict[str, int]:
        """For each term, the number of lines and titles that hold it."""
        counts: Counter[str] = Counter(dict.fromkeys(terms, 0))
        for document_id, lines in self._lines.items():
            matcher = self._matcher(terms, document_id)
            for line in lines:
                counts.update(matcher.matched(line.text))
        for row in self._sections.values():
            counts.update(self._matcher(terms, row.document_id).matched(row.title))
        return dict(counts)

    def substring_pages(self, terms: Sequence[str], *, limit: int = 200) -> list[tuple[str, int]]:
        """Pages whose text holds any term as a case-insensitive substring."""
        wanted = [fold(term) for term in terms]
        pages = [
            (document.document_id, page.page_num)
            for document in self._documents
            for page in document.parsed.pages
            if any(term in fold(page.text) for term in wanted)
        ]
        return pages[:limit]

    def lines_between(
        self, document_id: str, page_start: int, line_start: int, page_end: int, line_end: int
    ) -> list[LineRow]:
        """The body lines of a span, in reading order."""
        keys = self._line_keys.get(document_id, [])
        first = bisect_left(keys, (page_start, line_start))
        last = bisect_right(keys, (page_end, line_end))
        return [_line_row(document_id, line) for line in self._lines.get(document_id, [])[first:last]]

    def lines_of_scopes(self, scopes: Sequence[tuple[str, int, int, int, int]]) -> list[list[LineRow]]:
        """``lines_between`` for many spans."""
        return [self.lines_between(*scope) for scope in scopes]

    # --- passages --------------------------------------------------------------------------------

    @cached_property
    def _passages(self) -> list[PassageRow]:
        rows: list[PassageRow] = []
        for document in self._documents:
            for passage in document.parsed.passages:
                rows.append(
                    PassageRow(
                        document_id=document.document_id,
                        passage_id=len(rows),
                        page_start=passage.page_start,
                        line_start=passage.line_start,
                        page_end=passage.page_end,
                        line_end=passage.line_end,
                        section_id=passage.section_id,
                        text=passage.text,
                        score=0.0,
                    )
                )
        return rows

    @cached_property
    def _bm25(self) -> _Bm25:
        languages = {d.document_id: d.parsed.language for d in self._documents}
        return _Bm25(_passage_terms(row.text, languages[row.document_id]) for row in self._passages)

    @cached_property
    def _vectors(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.intp]]:
        """Unit vectors, and for each the index of its passage."""
        if self._embedder is None:
            raise ValueError("This store was built without an embedder; give one to search by vector.")
        if not self._sentence_vectors and self._encoded:
            return self._encoded[0], np.arange(len(self._passages), dtype=np.intp)
        texts = [(index, text) for index, row in enumerate(self._passages) for text in self._units(row.text)]
        owners = np.array([index for index, _ in texts], dtype=np.intp)
        return self._embedder.embed([text for _, text in texts]), owners

    def _units(self, text: str) -> list[str]:
        sentences = [s for s in _SENTENCE.split(text) if len(s.split()) >= _SHORTEST_SENTENCE]
        return [text, *sentences] if self._sentence_vectors and len(sentences) > 1 else [text]

    def lexical(self, query: str, *, exact: Sequence[str] = (), limit: int = 50) -> list[PassageRow]:
        """Top passages by BM25; passages that hold a code as a whole string count it double."""
        language = self._documents[0].parsed.language if self._documents else "en"
        terms = _passage_terms(query, language)
        scores = self._bm25.scores(terms + [f"={fold(code)}" for code in exact] * _EXACT_REPEATS)
        return self._top(scores, limit)

    @cached_property
    def _encoded(self) -> tuple[npt.NDArray[np.float32], list[TokenVectors]] | None:
        """Vectors of passages and of their tokens in one pass; None without an encoder of tokens."""
        if not gives_tokens(self._embedder):
            return None
        return self._embedder.embed_tokens([row.text for row in self._passages])

    @cached_property
    def _tokens(self) -> list[bytes]:
        """The packed tokens of each passage; empty without an encoder of tokens."""
        if not gives_tokens(self._embedder) or self._encoded is None:
            return []
        _, tokens = self._encoded
        crumbs = list(dict.fromkeys(section.breadcrumb for section in self._sections.values()))
        headings = dict(zip(crumbs, self._embedder.embed_tokens(crumbs)[1], strict=True))
        return [
            passage_tokens(
                of_text,
                text=row.text,
                lines=self._placed_lines(row),
                heading=headings.get(self._breadcrumb(row)),
            ).packed()
            for row, of_text in zip(self._passages, tokens, strict=True)
        ]

    def _breadcrumb(self, row: PassageRow) -> str:
        section = self._sections.get((row.document_id, row.section_id or ""))
        return section.breadcrumb if section else ""

    def _placed_lines(self, row: PassageRow) -> list[tuple[tuple[int, int], str]]:
        span = (row.document_id, row.page_start, row.line_start, row.page_end, row.line_end)
        return [((line.page_num, line.line_num), line.text) for line in self.lines_between(*span)]

    def tokens_of_scopes(self, scopes: Sequence[tuple[str, int, int, int, int]]) -> list[list[bytes]]:
        """The packed tokens of the passages that share a line with each span."""
        if not self._tokens:
            return [[] for _ in scopes]
        return [
            [
                tokens
                for row, tokens in zip(self._passages, self._tokens, strict=True)
                if row.document_id == document_id
                and (row.page_start, row.line_start) <= (page_end, line_end)
                and (page_start, line_start) <= (row.page_end, row.line_end)
            ]
            for document_id, page_start, line_start, page_end, line_end in scopes
        ]

    def vector(self, vectors: Sequence[Vector], *, limit: int = 50) -> list[PassageRow]:
        """Top passages by cosine; with several query vectors the MAX."""
        if not self._passages:
            return []
        units, owners = self._vectors
        cosines = np.max(units @ np.stack(list(vectors)).T, axis=1).astype(np.float64)
        scores = np.full(len(self._passages), -1.0)
        np.maximum.at(scores, owners, cosines)
        return self._top(scores, limit, floor=-1.0)

    def _top(self, scores: npt.NDArray[np.float64], limit: int, *, floor: float = 0.0) -> list[PassageRow]:
        order = np.argsort(-scores, kind="stable")[:limit]
        return [replace(self._passages[i], score=float(scores[i])) for i in order if scores[i] > floor]


class _Bm25:
    """Okapi BM25 over lists of terms, one list per passage."""

    def __init__(self, passages: Iterable[Sequence[str]]) -> None:
        postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        lengths: list[int] = []
        for index, terms in enumerate(passages):
            lengths.append(len(terms))
            for term, count in Counter(terms).items():
                postings[term].append((index, count))
        self._count = len(lengths)
        average = (sum(lengths) / self._count if self._count else 0.0) or 1.0
        self._norms = K1 * (1 - B + B * np.array(lengths, dtype=np.float64) / average)
        self._postings = {
            term: (np.array([i for i, _ in hits]), np.array([n for _, n in hits], dtype=np.float64))
            for term, hits in postings.items()
        }

    def scores(self, terms: Sequence[str]) -> npt.NDArray[np.float64]:
        """BM25 of every passage for the query terms; repeated terms count repeatedly."""
        total = np.zeros(self._count)
        for term, repeats in Counter(terms).items():
            if term not in self._postings:
                continue
            rows, counts = self._postings[term]
            idf = math.log(1 + (self._count - len(rows) + 0.5) / (len(rows) + 0.5))
            total[rows] += repeats * idf * counts * (K1 + 1) / (counts + self._norms[rows])
        return total


def section_rows(document: StoredDocument) -> list[SectionRow]:
    """The sections of a document with their extents in lines, by the lines' own section ids."""
    by_section: dict[str, list[Line]] = defaultdict(list)
    for line in document.parsed.lines:
        if line.section_id is not None:
            by_section[line.section_id].append(line)
    children: dict[str | None, list[Section]] = defaultdict(list)
    for section in document.parsed.sections:
        children[section.parent_id].append(section)
    return [_section_row(document.document_id, s, by_section, children) for s in document.parsed.sections]


def _section_row(
    document_id: str,
    section: Section,
    by_section: dict[str, list[Line]],
    children: dict[str | None, list[Section]],
) -> SectionRow:
    own = by_section.get(section.section_id, [])
    whole = own + [line for child in _descendants(section, children) for line in by_section.get(child, [])]
    start = (section.start_page, section.start_line or 1)
    first = min(((line.page_num, line.line_num) for line in whole), default=start)
    last = max(((line.page_num, line.line_num) for line in whole), default=start)
    own_last = max(((line.page_num, line.line_num) for line in own), default=(first[0], first[1] - 1))
    return SectionRow(
        document_id=document_id,
        section_id=section.section_id,
        level=section.level,
        parent_id=section.parent_id,
        title=section.title,
        breadcrumb=section.breadcrumb,
        page_start=first[0],
        line_start=first[1],
        page_end=last[0],
        line_end=last[1],
        own_page_end=own_last[0],
        own_line_end=own_last[1],
        has_children=bool(children.get(section.section_id)),
    )


def _descendants(section: Section, children: dict[str | None, list[Section]]) -> list[str]:
    direct = children.get(section.section_id, [])
    return [s.section_id for s in direct] + [d for s in direct for d in _descendants(s, children)]


def _line_row(document_id: str, line: Line) -> LineRow:
    return LineRow(document_id, line.page_num, line.line_num, line.text, line.section_id)


def _passage_terms(text: str, language: str) -> list[str]:
    return content_stems(text, language) + [f"={fold(code)}" for code in exact_codes(text)]
