"""Title match: the question's keywords against the titles of the table of contents (engines.md, 1a)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from arbitration.detectors.base import Anchor, DetectorContext, section_span
from arbitration.pool import MatchType
from arbitration.protocols import SectionRow
from arbitration.questions.lexicon import SCOPE_WORDS
from arbitration.questions.model import ParsedQuestion
from arbitration.questions.references import heading_text
from arbitration.settings import MethodName
from arbitration.text import content_stems, join_letter_spaced, stem


@dataclass(frozen=True, slots=True)
class TitleMatch:
    """How a title answers a question. ``score`` is 1.0 for an exact match and below 1.0 for a partial one."""

    kind: MatchType
    score: float
    similarity: float
    matched: tuple[str, ...] = ()


NO_TITLE_MATCH = TitleMatch("none", 0.0, 0.0)


class TitleMatcher:
    """Compares titles with one question; build once per question and language."""

    def __init__(self, context: DetectorContext, document_id: str | None = None) -> None:
        self._context = context
        self._terms = context.matcher(document_id)
        self._language = self._terms.language
        self._question = frozenset(
            part for term in context.question.terms() for part in content_stems(term, self._language)
        )
        self._phrases = [frozenset(s) for s in _noun_phrases(context.question, self._language)]
        self._weights = {
            keyword.term: keyword.weight for keyword in context.question.keywords if not keyword.is_phrase
        }

    def match(self, title: str) -> TitleMatch:
        """Exact when the title holds a whole noun phrase of two or more words, or says nothing but words of the
        question (a single word only where that is all the question is about); partial when it holds any keyword."""
        return self.match_each([title])[0]

    def match_each(self, titles: Sequence[str]) -> list[TitleMatch]:
        """:meth:`match` of every title."""
        plain = [title_words(title) for title in titles]
        return [
            self._match(title, tuple(matched)) if matched else NO_TITLE_MATCH
            for title, matched in zip(plain, self._terms.matched_in_each(plain), strict=True)
        ]

    def _match(self, plain: str, matched: tuple[str, ...]) -> TitleMatch:
        title_stems = frozenset(_meaningful_stems(plain, self._language))
        similarity = _jaccard(title_stems, self._question)
        if self._is_exact(title_stems):
            return TitleMatch("exact", 1.0, similarity, matched)
        total = sum(self._weights.values()) or 1.0
        covered = sum(self._weights.get(term, 0.0) for term in matched) / total
        return TitleMatch("partial", 0.5 * covered + 0.45 * similarity, similarity, matched)

    def _is_exact(self, title_stems: frozenset[str]) -> bool:
        if not title_stems:
            return False
        holds_phrase = any(len(phrase) > 1 and phrase <= title_stems for phrase in self._phrases)
        says_nothing_else = title_stems <= self._question
        return holds_phrase or (says_nothing_else and (len(title_stems) > 1 or len(self._phrases) == 1))


class TitleDetector:
    """Sections whose title holds keywords of the question."""

    method: MethodName = "toc"

    def detect(self, context: DetectorContext) -> list[Anchor]:
        """One anchor per matching section, best title first."""
        matches = matching_sections(context)
        anchors = [self._anchor(section, match) for section, match in matches]
        return sorted(anchors, key=lambda anchor: -anchor.score)

    def _anchor(self, section: SectionRow, match: TitleMatch) -> Anchor:
        named = ", ".join(f"'{term}'" for term in match.matched)
        return Anchor(
            method=self.method,
            span=section_span(section),
            score=match.score,
            why=f"title '{section.title}' {'matches exactly' if match.kind == 'exact' else 'holds'} {named}",
            section_id=section.section_id,
            matched=match.matched,
            section=section,
            title_match=match.kind,
        )


def matching_sections(context: DetectorContext) -> list[tuple[SectionRow, TitleMatch]]:
    """Sections the store found by title, with their match; the detectors share this one query and its reading."""
    return context.session.once(("matching sections",), lambda: _matching_sections(context))


def _matching_sections(context: DetectorContext) -> list[tuple[SectionRow, TitleMatch]]:
    terms = context.question.terms()
    if not terms or not context.profile.has_usable_toc:
        return []
    rows = context.session.title_hits(terms, limit=context.settings.title_limit)
    matches = title_matches(rows, context)
    return [
        (row, match) for row in rows if (match := matches[row.document_id, row.section_id]).kind != "none"
    ]


def title_matches(
    sections: Iterable[SectionRow], context: DetectorContext
) -> dict[tuple[str, str], TitleMatch]:
    """How the title of each section answers the question, by document and section; those of one language are read
    together."""
    by_language: dict[str, list[SectionRow]] = {}
    for section in sections:
        by_language.setdefault(context.matcher(section.document_id).language, []).append(section)
    found: dict[tuple[str, str], TitleMatch] = {}
    for rows in by_language.values():
        matches = TitleMatcher(context, rows[0].document_id).match_each([row.title for row in rows])
        keys = [(row.document_id, row.section_id) for row in rows]
        found.update(zip(keys, matches, strict=True))
    return found


@lru_cache(maxsize=20_000)
def title_words(title: str) -> str:
    """A title without its number, letter-spacing joined."""
    return heading_text(join_letter_spaced(title))


@cache
def _scope_stems(language: str) -> frozenset[str]:
    return frozenset(stem(word, language) for word in SCOPE_WORDS)


def _meaningful_stems(text: str, language: str) -> list[str]:
    scope = _scope_stems(language)
    return [part for part in content_stems(text, language) if part not in scope and not part.isdigit()]


def _noun_phrases(question: ParsedQuestion, language: str) -> Sequence[Sequence[str]]:
    """Whole noun phrases: the multi-word ones, and single words that are part of none."""
    phrases = [term for term in question.terms("primary") if " " in term]
    inside = {word.lower() for phrase in phrases for word in phrase.split()}
    single = [t for t in question.terms("primary") if " " not in t and t.lower() not in inside]
    return [content_stems(term, language) for term in (*phrases, *single) if content_stems(term, language)]


def _jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    union = left | right
    return len(left & right) / len(union) if union else 0.0
