"""Keyword co-occurrence on lines, sentences or paragraphs (engines.md, 1b)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arbitration.detectors.base import Anchor, DetectorContext, Span, span_of
from arbitration.detectors.titles import matching_sections
from arbitration.protocols import LineRow
from arbitration.questions.model import Keyword
from arbitration.settings import MethodName
from arbitration.spans import runs

_SENTENCE_END = (".", "?", "!", ":", ";")
_PARAGRAPH_GAP = 2
_SENTENCE_LINES = 4


@dataclass(frozen=True, slots=True)
class Meeting:
    """The keywords that meet in one unit of text, and what that is worth."""

    score: float
    primary: tuple[str, ...]
    secondary: tuple[str, ...]
    two_term_rule: bool

    @property
    def terms(self) -> tuple[str, ...]:
        """All terms that meet."""
        return (*self.primary, *self.secondary)


def meeting_score(
    matched: Sequence[Keyword], *, two_distinct_terms: bool, title_matches: bool, title_bonus: float = 1.5
) -> Meeting:
    """primary hits + secondary hits, each hit counting its keyword's weight; 0 when either group is missing;
    times the bonus when the section's title matches as well.

    When the question has one group only (``two_distinct_terms``), two distinct words must meet instead.
    """
    primary = tuple(k.term for k in matched if k.group == "primary")
    secondary = tuple(k.term for k in matched if k.group == "secondary")
    if two_distinct_terms:
        meets = len({k.term.lower() for k in matched if not k.is_phrase}) >= 2
    else:
        meets = bool(primary and secondary)
    hits = sum(keyword.weight for keyword in matched) if meets else 0.0
    return Meeting(hits * (title_bonus if title_matches else 1.0), primary, secondary, two_distinct_terms)


class CooccurrenceDetector:
    """Places where primary and secondary keywords meet."""

    method: MethodName = "cooccurrence"

    def detect(self, context: DetectorContext) -> list[Anchor]:
        """The best-scoring units, at most ``top_k``."""
        titles = {(row.document_id, row.section_id) for row, _ in matching_sections(context)}
        units = list(_passages(context) if context.profile.is_collection else _line_units(context))
        anchors = [
            anchor
            for unit, matched in zip(units, _matched(units, context), strict=True)
            if (anchor := self._anchor(unit, matched, context, titles))
        ]
        anchors.sort(key=lambda anchor: -anchor.score)
        return anchors[: context.settings.top_k]

    def _anchor(
        self,
        unit: _Unit,
        matched: Sequence[Keyword],
        context: DetectorContext,
        titles: set[tuple[str, str]],
    ) -> Anchor | None:
        title_matches = (unit.span.document_id, unit.section_id or "") in titles
        meeting = meeting_score(
            matched,
            two_distinct_terms=context.question.two_distinct_terms,
            title_matches=title_matches,
            title_bonus=context.settings.title_bonus,
        )
        if meeting.score <= 0:
            return None
        return Anchor(
            method=self.method,
            span=unit.span,
            score=meeting.score,
            why=_why(meeting, title_matches, unit.name),
            section_id=unit.section_id,
            matched=meeting.terms,
            met_groups=not meeting.two_term_rule,
            met_terms=meeting.terms,
            passage_id=unit.passage_id,
            text=unit.text,
        )


@dataclass(frozen=True, slots=True)
class _Unit:
    span: Span
    section_id: str | None
    text: str
    name: str
    passage_id: int | None = None


def _matched(units: Sequence[_Unit], context: DetectorContext) -> list[list[Keyword]]:
    """The keywords in each unit, those of one language found together."""
    found: list[list[Keyword]] = [[] for _ in units]
    by_matcher: dict[str, list[int]] = {}
    for place, unit in enumerate(units):
        by_matcher.setdefault(context.matcher(unit.span.document_id).language, []).append(place)
    for places in by_matcher.values():
        matcher = context.matcher(units[places[0]].span.document_id)
        terms = matcher.matched_in_each([units[place].text for place in places])
        for place, held in zip(places, terms, strict=True):
            found[place] = [context.keywords[term] for term in held]
    return found


def _why(meeting: Meeting, title_matches: bool, unit: str) -> str:
    words = [term for term in meeting.terms if " " not in term] or list(meeting.terms)
    named = " and ".join(f"'{term}'" for term in words[:4])
    rule = " (one keyword group only: two distinct terms)" if meeting.two_term_rule else ""
    title = ", under a title that matches as well" if title_matches else ""
    return f"{named} meet on one {unit}{title}{rule}"


def _passages(context: DetectorContext) -> Iterator[_Unit]:
    """In a collection the best lexical passages are the paragraphs to look at: the whole is never read."""
    rows = context.session.lexical(
        context.question.lexical_text,
        exact=context.question.exact_codes,
        limit=context.settings.top_k,
    )
    for row in rows:
        span = Span(row.document_id, row.page_start, row.line_start, row.page_end, row.line_end)
        yield _Unit(span, row.section_id, row.text, "passage", row.passage_id)


def _line_units(context: DetectorContext) -> Iterator[_Unit]:
    rows = context.session.lines_with(context.question.terms(), limit=context.settings.line_limit)
    rows = sorted(rows, key=lambda row: (row.document_id, row.page_num, row.line_num))
    for group in _grouped(rows, context.settings.cooccurrence_unit):
        first, span = group[0], span_of(group)
        name = "line" if len(group) == 1 else context.settings.cooccurrence_unit
        yield _Unit(span, first.section_id, " ".join(row.text for row in group), name)


def _grouped(rows: Sequence[LineRow], unit: str) -> Iterator[list[LineRow]]:
    """Neighbouring hit lines joined to sentences or paragraphs; single lines stay units of their own."""
    return runs(rows, lambda group, row: not _continues(group, row, unit))


def _continues(group: Sequence[LineRow], row: LineRow, unit: str) -> bool:
    last = group[-1]
    same_place = (row.document_id, row.page_num, row.section_id) == (
        last.document_id,
        last.page_num,
        last.section_id,
    )
    if unit == "line" or not same_place:
        return False
    gap = row.line_num - last.line_num
    if unit == "paragraph":
        return gap <= _PARAGRAPH_GAP
    runs_on = not last.text.rstrip().endswith(_SENTENCE_END) and not row.text.lstrip()[:1].isupper()
    return gap == 1 and len(group) < _SENTENCE_LINES and runs_on
