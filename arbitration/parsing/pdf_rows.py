"""Visual lines from runs: words on one baseline become one line, table rows keep their cells apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from arbitration.parsing.pdf_text import CELL_GAP, Run

_SPACE_GAP = 0.1  # of the font size; a real space is at least twice that even in tightly set lines
_SAME_BASELINE = 0.25  # of the smaller font size
_SMALL = 0.82  # a font this much smaller than its neighbour's may be a superscript or subscript
_FEW_CHARACTERS = 3
_OVERLAP = 0.35
_LABEL = re.compile(
    r"[•●○◦▪■□–—*·➢✓\uf0b7-]|\(?(?:\d{1,3}|[A-Za-z]|[ivxlcIVXLC]{1,6})[.)]+|\d{1,3}(?:\.\d{1,3}){1,5}[.)]?|§+\s*[\d.]+"
)


@dataclass(slots=True)
class Segment:
    """Runs that follow each other on one baseline without a wide gap: a column's line, or a table cell.

    ``block`` holds the lines of a drawn table row that is read cell by cell and stands here as one thing; ``frame``
    is the extent in x of the drawn table that the segment is in.
    """

    runs: list[Run]
    x0: float
    y0: float
    x1: float
    y1: float
    baseline: float
    size: float
    characters: int
    longest: int  # characters of the run that sets baseline and size
    block: list[Row] = field(default_factory=list)
    frame: tuple[float, float] | None = None

    @property
    def width(self) -> float:
        """Width of the box in points."""
        return self.x1 - self.x0


def _segment_of(run: Run) -> Segment:
    length = len(run.text)
    return Segment([run], run.x0, run.y0, run.x1, run.y1, run.baseline, run.size, length, length)


def _extend(segment: Segment, run: Run) -> None:
    length = len(run.text)
    if length > segment.longest:
        segment.baseline, segment.size, segment.longest = run.baseline, run.size, length
    segment.runs.append(run)
    segment.x0, segment.y0 = min(segment.x0, run.x0), min(segment.y0, run.y0)
    segment.x1, segment.y1 = max(segment.x1, run.x1), max(segment.y1, run.y1)
    segment.characters += length


def _continues(segment: Segment, run: Run) -> bool:
    size = max(segment.size, run.size)
    gap = run.x0 - segment.x1
    if not -0.5 * size < gap < CELL_GAP * min(segment.size, run.size):
        return False
    if abs(run.baseline - segment.baseline) <= _SAME_BASELINE * min(segment.size, run.size):
        return True
    small = run.size < _SMALL * segment.size or segment.size < _SMALL * run.size
    return small and abs(run.baseline - segment.baseline) < 0.6 * size and gap < 0.5 * size


def segments_of(runs: Iterable[Run]) -> list[Segment]:
    """Runs joined to segments in the order in which the page draws them."""
    segments: list[Segment] = []
    for run in runs:
        if segments and _continues(segments[-1], run):
            _extend(segments[-1], run)
        else:
            segments.append(_segment_of(run))
    return segments


@dataclass(slots=True)
class Row:
    """Segments of one visual line; the longest one sets ``baseline`` and ``size``.

    ``starts_cell`` marks the first line of a cell that is read by itself.
    """

    segments: list[Segment]
    x0: float
    y0: float
    x1: float
    y1: float
    baseline: float
    size: float
    characters: int
    longest: int
    starts_cell: bool = False

    def add(self, segment: Segment) -> None:
        """Take a segment in."""
        if segment.characters > self.longest:
            self.baseline, self.size, self.longest = segment.baseline, segment.size, segment.characters
        self.segments.append(segment)
        self.x0, self.y0 = min(self.x0, segment.x0), min(self.y0, segment.y0)
        self.x1, self.y1 = max(self.x1, segment.x1), max(self.y1, segment.y1)
        self.characters += segment.characters

    def collides(self, segment: Segment) -> bool:
        """Whether the segment lies over one of the row's, so that it cannot be on the same line."""
        for known in self.segments:
            overlap = min(known.x1, segment.x1) - max(known.x0, segment.x0)
            if overlap > _OVERLAP * min(known.width, segment.width) and overlap > 1.0:
                return True
        return False

    def gap_to(self, segment: Segment) -> float:
        """Horizontal distance to the nearest segment of the row, in points."""
        return min(max(known.x0 - segment.x1, segment.x0 - known.x1) for known in self.segments)


def rows_of(segments: Iterable[Segment]) -> list[Row]:
    """Rows from top to bottom, with superscripts, subscripts and radicals back on their line."""
    rows: list[Row] = []
    for segment in sorted(segments, key=lambda item: (item.baseline, item.x0)):
        row = _row_at_baseline(rows, segment)
        if row is None:
            rows.append(_row_of(segment))
        else:
            row.add(segment)
    return _with_raised_and_lowered(rows)


def _row_of(segment: Segment) -> Row:
    return Row(
        [segment],
        segment.x0,
        segment.y0,
        segment.x1,
        segment.y1,
        segment.baseline,
        segment.size,
        segment.characters,
        segment.characters,
    )


def _row_at_baseline(rows: Sequence[Row], segment: Segment) -> Row | None:
    for row in reversed(rows[-4:]):
        distance = segment.baseline - row.baseline
        if distance > segment.size:
            return None
        near = abs(distance) <= _SAME_BASELINE * min(row.size, segment.size)
        if near and not row.collides(segment):
            return row
    return None


def _with_raised_and_lowered(rows: list[Row]) -> list[Row]:
    """Merge each small row into the neighbour that it overlaps vertically and touches horizontally."""
    crowded = [
        index
        for index, row in enumerate(rows)
        if any(_overlaps(row, rows[near]) for near in (index - 1, index + 1) if 0 <= near < len(rows))
    ]
    absorbed: set[int] = set()
    for index in sorted(crowded, key=lambda index: rows[index].characters):
        host = _host(rows, absorbed, index)
        if host is None:
            continue
        for segment in rows[index].segments:
            host.add(segment)
        absorbed.add(index)
    if not absorbed:
        return rows
    kept = [row for index, row in enumerate(rows) if index not in absorbed]
    return sorted(kept, key=lambda row: row.baseline)


def _overlaps(one: Row, other: Row) -> bool:
    return one.y0 < other.y1 and other.y0 < one.y1


def _host(rows: Sequence[Row], absorbed: set[int], index: int) -> Row | None:
    small = rows[index]
    best: tuple[float, Row] | None = None
    for other in range(max(0, index - 4), min(len(rows), index + 5)):
        row = rows[other]
        if other == index or other in absorbed or row.characters < small.characters:
            continue
        share = _vertical_share(small, row)
        if share < 0.4 or not _may_hang_on(small, row):
            continue
        if best is None or share > best[0]:
            best = (share, row)
    return best[1] if best else None


def _vertical_share(small: Row, row: Row) -> float:
    """Part of the small row's height that lies within the core of the other's text."""
    top, bottom = row.baseline - 0.85 * row.size, row.baseline + 0.3 * row.size
    height = max(small.y1 - small.y0, 0.1)
    return (min(small.y1, bottom) - max(small.y0, top)) / height


def _may_hang_on(small: Row, row: Row) -> bool:
    is_raised = small.size < _SMALL * row.size or small.characters <= _FEW_CHARACTERS
    # Otherwise only a line drawn in pieces, with rounding between them, is one line.
    if not is_raised and abs(small.baseline - row.baseline) > 0.3 * min(small.size, row.size):
        return False
    return all(not row.collides(part) and row.gap_to(part) < CELL_GAP * row.size for part in small.segments)


def is_label(text: str) -> bool:
    """Whether a text is only the bullet or the number of what follows it after a tab, not a cell of its own."""
    return _LABEL.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class RowText:
    """A row as text. ``cells`` counts the parts between wide gaps; style is that of most characters."""

    text: str
    cells: int
    size: float
    bold: bool
    italic: bool


def text_of(row: Row) -> RowText:
    """The row's words from left to right: one space between words, two between cells."""
    if len(row.segments) == 1 and len(row.segments[0].runs) == 1:
        only = row.segments[0].runs[0]
        return RowText(only.text, 1, only.size, only.style.bold, only.style.italic)
    runs = sorted((run for segment in row.segments for run in segment.runs), key=lambda run: run.x0)
    parts: list[str] = []
    cells = 1
    right = runs[0].x0
    for run in runs:
        gap = run.x0 - right
        if parts and gap > CELL_GAP * min(run.size, row.size) and not is_label("".join(parts)):
            parts.append("  ")
            cells += 1
        elif parts and gap > _SPACE_GAP * min(run.size, row.size):
            parts.append(" ")
        parts.append(run.text)
        right = max(right, run.x1)
    total = sum(len(run.text) for run in runs)
    bold = sum(len(run.text) for run in runs if run.style.bold)
    italic = sum(len(run.text) for run in runs if run.style.italic)
    return RowText("".join(parts), cells, _main_size(runs), bold > 0.6 * total, italic > 0.6 * total)


def _main_size(runs: Sequence[Run]) -> float:
    if len(runs) == 1:
        return runs[0].size
    characters: dict[float, int] = {}
    for run in runs:
        size = round(run.size, 1)
        characters[size] = characters.get(size, 0) + len(run.text)
    return max(characters, key=lambda size: (characters[size], size))
