"""From a line anchor back to the source: the unit it stands in and the characters it covers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arbitration.evaluation.records import RankedAnchor, SpanEvidence


@dataclass(frozen=True, slots=True)
class LinePosition:
    """One line: where it is printed (page, line; 1-based), and which characters of which unit it shows.

    ``unit_id`` is the source's section, passage or segment id, empty for a plain text file. ``start`` and
    ``end`` are character offsets into that unit's text; equal for a printed heading, which is not part of it.
    """

    page_num: int
    line_num: int
    unit_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class UnitSpan:
    """Characters ``start`` to ``end`` (exclusive) of one unit."""

    unit_id: str
    start: int
    end: int


class LineMap:
    """The lines of one document in reading order, with the texts of its units."""

    def __init__(self, positions: Sequence[LinePosition], texts: Mapping[str, str]) -> None:
        self._positions = sorted(positions, key=lambda line: (line.page_num, line.line_num))
        self._keys = [(line.page_num, line.line_num) for line in self._positions]
        self._texts = texts

    def spans(self, anchor: RankedAnchor) -> tuple[UnitSpan, ...]:
        """What the anchor covers, one span per unit in reading order; empty when it covers no line."""
        first = bisect_left(self._keys, (anchor.page_start, anchor.line_start))
        last = bisect_right(self._keys, (anchor.page_end, anchor.line_end))
        spans: list[UnitSpan] = []
        for line in self._positions[first:last]:
            if spans and spans[-1].unit_id == line.unit_id:
                spans[-1] = UnitSpan(line.unit_id, spans[-1].start, max(spans[-1].end, line.end))
            else:
                spans.append(UnitSpan(line.unit_id, line.start, line.end))
        return tuple(spans)

    def word_count(self, spans: Sequence[UnitSpan]) -> int:
        """Words in the spans, as a reader counts them: runs between white space."""
        return sum(len(self._texts[span.unit_id][span.start : span.end].split()) for span in spans)

    def covers(self, span: UnitSpan | SpanEvidence) -> bool:
        """Whether any line shows some of the span's characters."""
        return any(
            line.unit_id == span.unit_id and line.start < span.end and span.start < line.end
            for line in self._positions
        )
