"""From anchors to candidates: small pieces to judge, each inside its structural unit.

A candidate's *anchor* is a passage or a few lines: one page at most and at most ``anchor_words`` words, so that
what is judged and boxed is what was found. Its *context* is the section where that is short, else the
neighbourhood in the section. Anchors of several detectors that share lines become one candidate; a section
found by its title or number is cut into pieces, so that each of its paragraphs can be judged.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from arbitration.detectors.base import (
    Anchor,
    DetectorContext,
    Span,
    StoreSession,
    section_span,
    span_of,
    subtree_span,
)
from arbitration.protocols import LineRow, SectionRow
from arbitration.settings import EngineSettings
from arbitration.text import word_count

SectionKey = tuple[str, str]

_PARAGRAPH_WORDS = 50  # a paragraph end closes a piece once it has this many words
_SHORT_LINE = 0.85  # a line shorter than this share of the widest ends its paragraph
_CRUMB_WORDS = 8  # less than this beside a candidate is not a candidate of its own
_SECTION_PAGES = 3  # a section found as a whole is read over at most so many pages
_SECTIONS_READ = 10
_CLOSERS = tuple(".?!:;")
#: Of a line that stands in many contexts its words are counted once.
_words_of = lru_cache(maxsize=4096)(word_count)


class LineTable:
    """Lines read for one question, each once, looked up by span. A run holds lines of one document."""

    def __init__(self, runs: Iterable[Sequence[LineRow]]) -> None:
        by_document: dict[str, dict[tuple[int, int], LineRow]] = defaultdict(dict)
        for run in runs:
            if run:
                by_document[run[0].document_id].update({(line.page_num, line.line_num): line for line in run})
        self._keys = {document: sorted(lines) for document, lines in by_document.items()}
        self._lines = {
            document: [by_document[document][key] for key in keys] for document, keys in self._keys.items()
        }

    def between(self, span: Span) -> list[LineRow]:
        """The lines read that lie in a span, in reading order."""
        keys = self._keys.get(span.document_id, [])
        first, last = bisect_left(keys, span.start), bisect_right(keys, span.end)
        return self._lines[span.document_id][first:last] if first < last else []


@dataclass(slots=True)
class Unit:
    """A candidate in the making: its anchor's lines and the detectors' anchors on it."""

    lines: list[LineRow]
    section_id: str | None
    anchors: list[Anchor] = field(default_factory=list)
    context: list[LineRow] = field(default_factory=list)
    section: SectionRow | None = None
    span: Span = field(init=False)
    """The anchor's lines as a span."""

    def __post_init__(self) -> None:
        self.span = span_of(self.lines)

    @property
    def text(self) -> str:
        """The anchor's text, one line per line."""
        return "\n".join([line.text for line in self.lines])

    def scores(self) -> dict[str, float]:
        """Best score of each method on this unit."""
        best: dict[str, float] = {}
        for anchor in self.anchors:
            best[anchor.method] = max(best.get(anchor.method, anchor.score), anchor.score)
        return best


def aggregate(anchors: Sequence[Anchor], context: DetectorContext) -> list[Unit]:
    """Candidates from the anchors of all detectors, in no particular order. Two store queries."""
    whole = _sections_to_read([anchor for anchor in anchors if anchor.section is not None])
    places = [anchor for anchor in anchors if anchor.section is None]
    sections = _section_rows(anchors, context.session)
    table = _read(places, whole, sections, context)
    # Nearly all of these are asked for below, a few at a time.
    context.match(
        line for anchor in places if anchor.passage_id is not None for line in table.between(anchor.span)
    )
    builder = _Builder(table, context)
    for anchor in sorted(places, key=lambda a: a.passage_id is None):
        builder.place(anchor)
    for anchor in whole:
        builder.expand(anchor, sections)
    return [_with_context(unit, sections, table, context.settings) for unit in builder.units]


def split_lines(lines: Sequence[LineRow], max_words: int) -> list[list[LineRow]]:
    """Consecutive lines cut into pieces of at most ``max_words`` words, never across a page or a section,
    rather at the end of a paragraph. A single longer line stays whole."""
    widest = max((len(line.text) for line in lines), default=0)
    pieces: list[list[LineRow]] = []
    size = 0
    for line in lines:
        length = _words_of(line.text)
        if pieces and not _must_cut(pieces[-1], line, size, length, max_words, widest):
            pieces[-1].append(line)
            size += length
        else:
            pieces.append([line])
            size = length
    return pieces


def _must_cut(
    piece: Sequence[LineRow], line: LineRow, size: int, length: int, max_words: int, widest: int
) -> bool:
    last = piece[-1]
    if (last.page_num, last.section_id) != (line.page_num, line.section_id) or size + length > max_words:
        return True
    ends_paragraph = last.text.rstrip("\"')] ").endswith(_CLOSERS) and len(last.text) < _SHORT_LINE * widest
    return ends_paragraph and size >= _PARAGRAPH_WORDS


class _Builder:
    """Places anchors on units; makes new units where none covers the anchor."""

    def __init__(self, table: LineTable, context: DetectorContext) -> None:
        self.units: list[Unit] = []
        self._table = table
        self._context = context
        self._words = context.settings.anchor_words
        self._by_document: dict[str, list[Unit]] = defaultdict(list)
        self._by_passage: dict[tuple[str, int], Unit] = {}

    def place(self, anchor: Anchor) -> None:
        """Put a passage or line anchor on the units that hold it, or on a new one."""
        key = (anchor.span.document_id, anchor.passage_id) if anchor.passage_id is not None else None
        unit = self._by_passage.get(key) if key else self._holding(anchor.span)
        if unit is not None:
            unit.anchors.append(anchor)
            return
        units = self._new_units(anchor)
        for unit in units:
            unit.anchors.append(anchor)
        if key and units:
            self._by_passage[key] = units[0]

    def expand(self, anchor: Anchor, sections: Mapping[SectionKey, SectionRow]) -> None:
        """Put a section anchor on the units inside the section, and on new ones for its other lines."""
        section = anchor.section
        if section is None:
            return
        span = _capped(_readable_span(section))
        lines = self._table.between(span)
        inside = [unit for unit in self._by_document[span.document_id] if span.holds(unit.span)]
        covered = {(line.page_num, line.line_num) for unit in inside for line in unit.lines}
        pieces = [piece for gap in _gaps(lines, covered) for piece in split_lines(gap, self._words)]
        room = max(self._context.settings.section_chunks - len(inside), 1 if not inside else 0)
        inside += [self._add(piece) for piece in self._most_telling(pieces, room)]
        for unit in inside:
            unit.anchors.append(anchor)

    def _holding(self, span: Span) -> Unit | None:
        return next((u for u in self._by_document[span.document_id] if u.span.holds(span)), None)

    def _overlapping(self, span: Span) -> list[Unit]:
        return [u for u in self._by_document[span.document_id] if u.span.overlaps(span)]

    def _new_units(self, anchor: Anchor) -> list[Unit]:
        """The best piece of a passage; all of a run of lines, those that other units have included."""
        lines = self._table.between(anchor.span)
        taken = self._overlapping(anchor.span)
        covered = {(line.page_num, line.line_num) for unit in taken for line in unit.lines}
        pieces = [piece for gap in _gaps(lines, covered) for piece in split_lines(gap, self._words)]
        if not pieces:
            return taken
        if anchor.passage_id is not None:
            return [self._add(self._most_telling(pieces, 1)[0])]
        if taken:
            pieces = [piece for piece in pieces if _words_in(piece) >= _CRUMB_WORDS]
        elif len(pieces) == 1:
            pieces = [self._grown(pieces[0])]
        return taken + [self._add(piece) for piece in pieces]

    def _grown(self, lines: list[LineRow]) -> list[LineRow]:
        """A line anchor stretched to the piece of its section it stands in, so that it can be read."""
        first, last = lines[0], lines[-1]
        margin = self._context.settings.context_margin_lines
        start = max(1, first.line_num - margin)
        around = Span(first.document_id, first.page_num, start, last.page_num, last.line_num + margin)
        covered = {
            (line.page_num, line.line_num) for unit in self._overlapping(around) for line in unit.lines
        }
        own = [line for line in self._table.between(around) if line.section_id == first.section_id]
        pieces = (piece for gap in _gaps(own, covered) for piece in split_lines(gap, self._words))
        return next((piece for piece in pieces if first in piece and last in piece), lines)

    def _add(self, lines: list[LineRow]) -> Unit:
        unit = Unit(lines=lines, section_id=lines[0].section_id)
        self.units.append(unit)
        self._by_document[lines[0].document_id].append(unit)
        return unit

    def _most_telling(self, pieces: list[list[LineRow]], room: int) -> list[list[LineRow]]:
        """The pieces with the most keywords, in reading order; the first piece wins ties."""
        if len(pieces) <= room:
            return pieces
        self._context.match(line for piece in pieces for line in piece)
        counts = [len(self._context.matched_in(piece)) for piece in pieces]
        best = sorted(range(len(pieces)), key=lambda index: (-counts[index], index))[:room]
        return [pieces[index] for index in sorted(best)]


def _words_in(lines: Sequence[LineRow]) -> int:
    return sum([_words_of(line.text) for line in lines])


def _gaps(lines: Sequence[LineRow], covered: set[tuple[int, int]]) -> list[list[LineRow]]:
    gaps: list[list[LineRow]] = [[]]
    for line in lines:
        if (line.page_num, line.line_num) in covered:
            gaps.append([])
        else:
            gaps[-1].append(line)
    return [gap for gap in gaps if gap]


def _sections_to_read(anchors: Sequence[Anchor]) -> list[Anchor]:
    """The sections to read as a whole: those named by number first, then exact titles, then partial ones."""
    order = sorted(anchors, key=lambda a: (a.method != "pattern", a.title_match != "exact", -a.score))
    named = [anchor for anchor in order if anchor.method == "pattern" or anchor.title_match == "exact"]
    return (named + [anchor for anchor in order if anchor not in named])[
        : max(_SECTIONS_READ, len(named[:30]))
    ]


def _readable_span(section: SectionRow) -> Span:
    return section_span(section) if section.has_children else subtree_span(section)


def _capped(span: Span) -> Span:
    if span.page_end - span.page_start < _SECTION_PAGES:
        return span
    last = span.page_start + _SECTION_PAGES - 1
    return Span(span.document_id, span.page_start, span.line_start, last, 10_000)


def _section_rows(anchors: Sequence[Anchor], session: StoreSession) -> dict[SectionKey, SectionRow]:
    known = {
        (a.section.document_id, a.section.section_id): a.section for a in anchors if a.section is not None
    }
    wanted = {(a.span.document_id, a.section_id) for a in anchors if a.section_id is not None}
    missing = sorted(key for key in wanted if key not in known)
    return known | session.sections_by_id(missing)


def _read(
    places: Sequence[Anchor],
    whole: Sequence[Anchor],
    sections: Mapping[SectionKey, SectionRow],
    context: DetectorContext,
) -> LineTable:
    spans = {_capped(_readable_span(anchor.section)) for anchor in whole if anchor.section is not None}
    for anchor in places:
        section = sections.get((anchor.span.document_id, anchor.section_id or ""))
        spans.add(_context_span(anchor.span, section, context.settings))
        spans.add(anchor.span)
    return LineTable(context.session.lines_of_spans(_outermost(spans)))


def _outermost(spans: Iterable[Span]) -> list[Span]:
    """Spans that lie in no other: each line is read once."""
    ordered = sorted(spans, key=lambda s: (s.document_id, s.start, (-s.page_end, -s.line_end)))
    kept: list[Span] = []
    for span in ordered:
        if not (kept and kept[-1].holds(span)):
            kept.append(span)
    return kept


def _context_span(span: Span, section: SectionRow | None, settings: EngineSettings) -> Span:
    """The whole section where it is short enough to be read along, else the lines around the anchor."""
    margin = settings.context_margin_lines
    near = Span(
        span.document_id,
        span.page_start,
        max(1, span.line_start - margin),
        span.page_end,
        span.line_end + margin,
    )
    if section is None:
        return near
    own = section_span(section)
    short = own.page_start == own.page_end and own.line_end - own.line_start < settings.context_words // 8
    return own if short and own.holds(span) else near


def _with_context(
    unit: Unit,
    sections: Mapping[SectionKey, SectionRow],
    table: LineTable,
    settings: EngineSettings,
) -> Unit:
    unit.section = sections.get((unit.span.document_id, unit.section_id or ""))
    around = table.between(_context_span(unit.span, unit.section, settings))
    if unit.section is not None:
        own = {(line.page_num, line.line_num) for line in unit.lines}
        around = [
            line
            for line in around
            if line.section_id == unit.section_id or (line.page_num, line.line_num) in own
        ]
    unit.context = _trimmed(around, unit.lines, settings.context_words) or unit.lines
    return unit


def _trimmed(around: Sequence[LineRow], anchor: Sequence[LineRow], max_words: int) -> list[LineRow]:
    """The anchor with as many lines before and after it, alternately, as the size allows."""
    places = {(line.page_num, line.line_num): index for index, line in enumerate(around)}
    low = places.get((anchor[0].page_num, anchor[0].line_num))
    high = places.get((anchor[-1].page_num, anchor[-1].line_num))
    if low is None or high is None:
        return list(anchor)
    sizes = [_words_of(line.text) for line in around]
    size = sum(sizes[low : high + 1])
    grew = True
    while grew:
        grew = False
        for index in (low - 1, high + 1):
            if 0 <= index < len(around) and size + sizes[index] <= max_words:
                size += sizes[index]
                low, high = min(low, index), max(high, index)
                grew = True
    return list(around[low : high + 1])
