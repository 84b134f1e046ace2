"""Tables drawn with lines: whose cells wrap, so that reading along a baseline would mix their sentences.

A table row is read cell by cell where two or more cells hold wrapped text, or one does beside cells of one line;
every other row stays what it looks like, one line from left to right. Without drawn lines there is no telling, and rows
are read along the baseline.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from arbitration.parsing.pdf_rows import Row, Segment, rows_of, segments_of, text_of
from arbitration.parsing.pdf_text import Run
from arbitration.spans import runs

Box = tuple[float, float, float, float]
_Band = tuple[float, float, list[float]]  # top, bottom, x of the lines between cells, both sides included

_THIN = 4.0  # points
_SAME = 2.5  # points between lines that are one
_JOINT = 6.0  # points between pieces of one line
_MIN_BAND = 10.0  # points
_MIN_CELL = 18.0  # points
_MAX_RULES = 1500
_GOING_ON = 0.4  # of a cell's lines after the first


@dataclass(slots=True)
class _Rule:
    """An upright line at x = ``at`` or a level line at y = ``at``, from ``start`` to ``end``."""

    at: float
    start: float
    end: float


@dataclass(slots=True)
class _Grid:
    uprights: list[_Rule]
    levels: list[_Rule]


def take_grids(
    segments: list[Segment], rules: Sequence[Box], page_size: tuple[float, float]
) -> list[Segment]:
    """The segments with ``frame`` set inside drawn tables, and each table row that needs it replaced by one segment
    whose ``block`` holds its lines."""
    if not rules or len(rules) > _MAX_RULES:
        return segments
    for grid in _grids(rules, page_size):
        bands = list(_bands(grid))
        if not bands:
            continue
        for top, bottom, edges in bands:
            segments = _take_band(segments, top, bottom, edges)
        _frame(segments, bands)
    return segments


def _frame(segments: Sequence[Segment], bands: Sequence[_Band]) -> None:
    frame = (min(edges[0] for _, _, edges in bands), max(edges[-1] for _, _, edges in bands))
    for segment in segments:
        middle, centre = (segment.y0 + segment.y1) / 2, (segment.x0 + segment.x1) / 2
        if any(
            top <= middle <= bottom and edges[0] - 3 <= centre <= edges[-1] + 3
            for top, bottom, edges in bands
        ):
            segment.frame = frame


def _grids(rules: Iterable[Box], page_size: tuple[float, float]) -> Iterator[_Grid]:
    """Groups of lines that touch each other, each with at least one inner corner."""
    uprights, levels = _lines(rules, page_size)
    if not uprights or len(levels) < 2:
        return
    pending = list(range(len(uprights)))
    free_levels = set(range(len(levels)))
    while pending:
        group, frontier = [], [pending.pop()]
        own_levels: list[int] = []
        while frontier:
            current = frontier.pop()
            group.append(current)
            touched = [number for number in free_levels if _touch(uprights[current], levels[number])]
            free_levels.difference_update(touched)
            own_levels.extend(touched)
            near = [
                other
                for other in pending
                if any(_touch(uprights[other], levels[number]) for number in touched)
            ]
            pending = [other for other in pending if other not in near]
            frontier.extend(near)
        if len(own_levels) >= 2:
            yield _Grid([uprights[number] for number in group], [levels[number] for number in own_levels])


def _touch(upright: _Rule, level: _Rule) -> bool:
    across = level.start - _JOINT <= upright.at <= level.end + _JOINT
    return across and upright.start - _JOINT <= level.at <= upright.end + _JOINT


def _lines(rules: Iterable[Box], page_size: tuple[float, float]) -> tuple[list[_Rule], list[_Rule]]:
    uprights: list[_Rule] = []
    levels: list[_Rule] = []
    width, height = page_size
    for x0, y0, x1, y1 in rules:
        if x1 - x0 >= 0.97 * width and y1 - y0 >= 0.9 * height:
            continue  # a frame or background of the whole page
        if x1 - x0 < _THIN:
            uprights.append(_Rule((x0 + x1) / 2, y0, y1))
        elif y1 - y0 < _THIN:
            levels.append(_Rule((y0 + y1) / 2, x0, x1))
        else:
            uprights.extend((_Rule(x0, y0, y1), _Rule(x1, y0, y1)))
            levels.extend((_Rule(y0, x0, x1), _Rule(y1, x0, x1)))
    return _merged(uprights), _merged(levels)


def _merged(rules: list[_Rule]) -> list[_Rule]:
    """Pieces of one line put together."""
    rules.sort(key=lambda rule: (rule.at, rule.start))
    merged: list[_Rule] = []
    for group in runs(rules, lambda group, rule: rule.at - group[0].at > _SAME):
        group.sort(key=lambda rule: rule.start)
        for rule in group:
            if merged and merged[-1].at == group[0].at and rule.start - merged[-1].end <= _JOINT:
                merged[-1].end = max(merged[-1].end, rule.end)
            else:
                merged.append(_Rule(group[0].at, rule.start, rule.end))
    return merged


def _bands(grid: _Grid) -> Iterator[_Band]:
    """The table rows with at least two cells."""
    heights = sorted({level.at for level in grid.levels})
    for top, bottom in pairwise(heights):
        if bottom - top < _MIN_BAND:
            continue
        around = [level for level in grid.levels if level.at in (top, bottom)]
        middle = (top + bottom) / 2
        inner = [rule.at for rule in grid.uprights if rule.start <= middle <= rule.end]
        left = min(level.start for level in around)
        right = max(level.end for level in around)
        edges: list[float] = []
        for edge in sorted([left, *inner, right]):
            if not edges or edge - edges[-1] >= _MIN_CELL:
                edges.append(edge)
        if len(edges) >= 3:
            yield top, bottom, edges


def _take_band(segments: list[Segment], top: float, bottom: float, edges: Sequence[float]) -> list[Segment]:
    runs: list[Run] = []
    rest: list[Segment] = []
    for segment in segments:
        middle = (segment.y0 + segment.y1) / 2
        centre = (segment.x0 + segment.x1) / 2
        if not segment.block and top <= middle <= bottom and edges[0] - 3 <= centre <= edges[-1] + 3:
            runs.extend(segment.runs)
        else:
            rest.append(segment)
    if not runs:
        return segments
    cells: list[list[Run]] = [[] for _ in edges[1:]]
    for run in runs:
        centre = (run.x0 + run.x1) / 2
        place = sum(1 for edge in edges[1:-1] if centre > edge)
        cells[place].append(run)
    rows = [rows_of(segments_of(cell)) for cell in cells]
    if not _must_be_read_by_cell([cell_rows for cell_rows in rows if cell_rows]):
        return segments
    return [*rest, _block(rows, top, edges)]


def _must_be_read_by_cell(cells: Sequence[Sequence[Row]]) -> bool:
    """Whether at least two cells hold a wrapped text, or one beside cells of one line each.

    Their words show it; or cells of several lines beside cells of one, all beginning at the top, which several
    entries below each other would not leave empty.
    """
    wrapped = sum(1 for rows in cells if _is_wrapped(rows))
    several = sum(1 for rows in cells if len(rows) > 1)
    alone = len(cells) - several
    if wrapped >= 2 or (wrapped == several == 1 and alone >= 1):
        return True
    tops = [rows[0].baseline for rows in cells]
    return several >= 2 and alone >= 1 and max(tops) - min(tops) <= _SAME


def _is_wrapped(rows: Sequence[Row]) -> bool:
    """Whether the lines of a cell are one text, not entries below each other: many go on in lower case."""
    if len(rows) < 2:
        return False
    texts = [text_of(row).text for row in rows]
    going_on = sum(1 for text in texts[1:] if text[:1].islower())
    return going_on >= _GOING_ON * (len(texts) - 1) and len(set(texts)) > len(texts) / 2


def _block(rows: Sequence[Sequence[Row]], top: float, edges: Sequence[float]) -> Segment:
    """A segment without height that stands for the lines of a table row, cell after cell.

    Beside the only cell of several lines, neighbours of one line each stay together: a row of figures.
    """
    is_only = sum(1 for cell_rows in rows if len(cell_rows) > 1) == 1
    block: list[Row] = []
    beside: Row | None = None
    for cell_rows in rows:
        is_alone = is_only and len(cell_rows) == 1
        if is_alone and beside is not None and abs(cell_rows[0].baseline - beside.baseline) <= _SAME:
            for segment in cell_rows[0].segments:
                beside.add(segment)
            continue
        for row in cell_rows[:1]:
            row.starts_cell = True
        block.extend(cell_rows)
        if cell_rows:
            beside = cell_rows[0] if is_alone else None
    return Segment([], edges[0], top, edges[-1], top, top, 0.1, 0, 0, block)
