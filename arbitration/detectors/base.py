"""What a detector is: a small class that reads the store by query and returns anchors with reasons."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Protocol, TypeVar, cast

from arbitration.pool import MatchType, PatternKind
from arbitration.protocols import (
    CandidateStore,
    ChatModel,
    Embedder,
    LineRow,
    PassageRow,
    ScopeProfile,
    SectionRow,
    Vector,
)
from arbitration.questions.model import Keyword, ParsedQuestion
from arbitration.settings import EngineSettings, MethodName
from arbitration.text import TermMatcher, term_matcher

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Span:
    """Lines of one document, both ends inclusive, 1-based."""

    document_id: str
    page_start: int
    line_start: int
    page_end: int
    line_end: int

    @property
    def start(self) -> tuple[int, int]:
        """(page, line) of the first line."""
        return self.page_start, self.line_start

    @property
    def end(self) -> tuple[int, int]:
        """(page, line) of the last line."""
        return self.page_end, self.line_end

    def as_tuple(self) -> tuple[str, int, int, int, int]:
        """The form the store takes."""
        return self.document_id, self.page_start, self.line_start, self.page_end, self.line_end

    def holds(self, other: Span) -> bool:
        """Whether the other span lies inside this one."""
        return self.document_id == other.document_id and self.start <= other.start and other.end <= self.end

    def overlaps(self, other: Span) -> bool:
        """Whether the two share a line."""
        return self.document_id == other.document_id and self.start <= other.end and other.start <= self.end


def span_of(lines: Sequence[LineRow]) -> Span:
    """The span from the first to the last of some lines of one document."""
    first, last = lines[0], lines[-1]
    return Span(first.document_id, first.page_num, first.line_num, last.page_num, last.line_num)


@dataclass(frozen=True, slots=True)
class Anchor:
    """One place a detector points at, with the score it gives and the one-line reason why it fired.

    ``raw`` is the bare measure behind the score (cosine before the title bonus). ``section`` is set when the
    anchor means a whole section; aggregation then cuts it into small pieces.
    """

    method: MethodName
    span: Span
    score: float
    why: str
    section_id: str | None = None
    raw: float | None = None
    matched: tuple[str, ...] = ()
    section: SectionRow | None = None
    passage_id: int | None = None
    text: str | None = None
    title_match: MatchType = "none"
    met_groups: bool = False
    met_terms: tuple[str, ...] = ()
    pattern_kind: PatternKind = "none"


class StoreSession:
    """The store for the length of one question: the same query is asked once, whoever asks it when."""

    def __init__(self, store: CandidateStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._answers: dict[Hashable, Future[object]] = {}

    def title_hits(self, terms: Sequence[str], *, limit: int) -> list[SectionRow]:
        """See :meth:`CandidateStore.title_hits`."""
        return self.once(("title", *terms, limit), lambda: self._store.title_hits(terms, limit=limit))

    def lines_with(self, terms: Sequence[str], *, limit: int) -> list[LineRow]:
        """See :meth:`CandidateStore.lines_with`."""
        return self.once(("lines", *terms, limit), lambda: self._store.lines_with(terms, limit=limit))

    def count_hits(self, terms: Sequence[str]) -> dict[str, int]:
        """See :meth:`CandidateStore.count_hits`."""
        return self.once(("count", *terms), lambda: self._store.count_hits(terms))

    def sections_numbered(self, references: Sequence[str], *, limit: int) -> list[SectionRow]:
        """See :meth:`CandidateStore.sections_numbered`."""
        key = ("numbered", *references, limit)
        return self.once(key, lambda: self._store.sections_numbered(references, limit=limit))

    def lexical(self, query: str, *, exact: Sequence[str], limit: int) -> list[PassageRow]:
        """See :meth:`CandidateStore.lexical`."""
        key = ("lexical", query, *exact, limit)
        return self.once(key, lambda: self._store.lexical(query, exact=exact, limit=limit))

    def vector(self, vectors: Sequence[Vector], *, limit: int) -> list[PassageRow]:
        """See :meth:`CandidateStore.vector`."""
        return self._store.vector(vectors, limit=limit)

    def sections_by_id(self, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], SectionRow]:
        """See :meth:`CandidateStore.sections_by_id`."""
        return self._store.sections_by_id(keys) if keys else {}

    def outline(self, document_id: str, *, limit: int) -> list[SectionRow]:
        """See :meth:`CandidateStore.outline`."""
        key = ("outline", document_id, limit)
        return self.once(key, lambda: self._store.outline(document_id, limit=limit))

    def lines_of_spans(self, spans: Sequence[Span]) -> list[list[LineRow]]:
        """The lines of many spans in one query; see :meth:`CandidateStore.lines_of_scopes`."""
        return self._store.lines_of_scopes([span.as_tuple() for span in spans]) if spans else []

    def tokens_of_spans(self, spans: Sequence[Span]) -> list[list[bytes]]:
        """The packed tokens of the passages that many spans touch, in one query; see
        :meth:`CandidateStore.tokens_of_scopes`."""
        return self._store.tokens_of_scopes([span.as_tuple() for span in spans]) if spans else []

    def once(self, key: Hashable, ask: Callable[[], T]) -> T:
        """The answer to what is asked under this key, found by whoever asks first."""
        with self._lock:
            future = self._answers.get(key)
            first = future is None
            if future is None:
                future = self._answers[key] = Future()
        if first:
            try:
                future.set_result(ask())
            except BaseException as error:
                future.set_exception(error)
        return cast("T", future.result())


@dataclass(frozen=True)
class DetectorContext:
    """What every detector is given."""

    question: ParsedQuestion
    session: StoreSession
    profile: ScopeProfile
    settings: EngineSettings
    embedder: Embedder | None = None
    hits: Mapping[str, int] = field(default_factory=dict)  # lines and titles that hold each keyword
    chat: ChatModel | None = None
    notes: list[str] = field(default_factory=list)  # what detectors put on record
    _matchers: dict[str, TermMatcher] = field(default_factory=dict)
    #: By language of the matcher, then by line.
    _matched: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)

    def matcher(self, document_id: str | None = None) -> TermMatcher:
        """Matches all keywords of the question in the language of a document."""
        return self._matcher_of(self.languages.get(document_id or "", self.profile_language))

    def _matcher_of(self, language: str) -> TermMatcher:
        if language not in self._matchers:
            self._matchers[language] = term_matcher(self.terms, language)
        return self._matchers[language]

    def matched(self, document_id: str, text: str) -> tuple[str, ...]:
        """The keywords that stand in a line; asked once per line, however many steps need it."""
        matcher = self.matcher(document_id)
        known = self._known(matcher)
        held = known.get(text)
        if held is None:
            held = known[text] = tuple(matcher.matched(text))
        return held

    def _known(self, matcher: TermMatcher) -> dict[str, tuple[str, ...]]:
        return self._matched.setdefault(matcher.language, {})

    def match(self, lines: Iterable[LineRow]) -> None:
        """Finds the keywords of many lines at once, for :meth:`matched` to know."""
        texts: dict[str, list[str]] = {}
        languages, default = self.languages, self.profile_language
        for line in lines:
            texts.setdefault(languages.get(line.document_id, default), []).append(line.text)
        for language, wanted in texts.items():
            matcher = self._matcher_of(language)
            known = self._known(matcher)
            new = [text for text in dict.fromkeys(wanted) if text not in known]
            if new:
                known.update(zip(new, map(tuple, matcher.matched_in_each(new)), strict=True))

    def matched_in_each(self, lines: Sequence[LineRow]) -> list[tuple[str, ...]]:
        """The keywords in each of some lines of one document."""
        if not lines:
            return []
        known = self._known(self.matcher(lines[0].document_id))
        held = [known.get(line.text) for line in lines]
        return [
            self.matched(line.document_id, line.text) if found is None else found
            for line, found in zip(lines, held, strict=True)
        ]

    def matched_in(self, lines: Sequence[LineRow]) -> tuple[str, ...]:
        """The keywords that stand in any of some lines of one document, in the question's order."""
        present = set(chain.from_iterable(self.matched_in_each(lines)))
        return tuple([term for term in self.terms if term in present]) if present else ()

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """All keywords of the question, in order."""
        return self.question.terms()

    @cached_property
    def rarity(self) -> dict[str, float]:
        """Inverse document frequency of each single-word keyword over the lines in scope, at least 0."""
        lines = max(1, self.profile.line_count)
        return {
            keyword.term: max(0.0, math.log((lines + 1) / (self.hits.get(keyword.term, 0) + 0.5)))
            for keyword in self.question.keywords
            if not keyword.is_phrase
        }

    @property
    def languages(self) -> dict[str, str]:
        """Language of each document in scope."""
        return self.profile.languages

    @cached_property
    def profile_language(self) -> str:
        """Language of the first document, the default."""
        return self.profile.documents[0].language if self.profile.documents else self.question.language

    @cached_property
    def keywords(self) -> dict[str, Keyword]:
        """Keywords by term."""
        return {keyword.term: keyword for keyword in self.question.keywords}


class Detector(Protocol):
    """Finds anchors for one question by one method."""

    @property
    def method(self) -> MethodName:
        """The method's name, as logged."""

    def detect(self, context: DetectorContext) -> list[Anchor]:
        """Anchors, best first, each with the reason it fired."""


def section_span(section: SectionRow) -> Span:
    """A section's own lines; the whole subtree when it has no own lines before its first child."""
    has_own = (section.own_page_end, section.own_line_end) >= (section.page_start, section.line_start)
    page_end = section.own_page_end if has_own else section.page_end
    line_end = section.own_line_end if has_own else section.line_end
    return Span(section.document_id, section.page_start, section.line_start, page_end, line_end)


def subtree_span(section: SectionRow) -> Span:
    """A section with everything below it."""
    return Span(
        section.document_id, section.page_start, section.line_start, section.page_end, section.line_end
    )
