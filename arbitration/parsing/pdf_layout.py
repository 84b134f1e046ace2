"""From the runs of a page to its lines in reading order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from arbitration.parsing.drafts import DraftLine, DraftPage
from arbitration.parsing.pdf_columns import SINGLE, Columns, find_columns, reads_in_columns
from arbitration.parsing.pdf_grid import take_grids
from arbitration.parsing.pdf_rows import Row, Segment, rows_of, segments_of, text_of
from arbitration.parsing.pdf_text import PageText, Run

Box = tuple[float, float, float, float]

_UPRIGHT = 0.06  # radians
_UPRIGHT_SHARE = 0.25  # of a page's characters; with this much upright text the page is upright


@dataclass(slots=True)
class PageLayout:
    """A page between the two looks at it: first every page by itself, then in the light of the others.

    ``turn`` is the number of quarter turns (counter-clockwise) of the page's main direction of text; segments are in
    that direction's frame. ``others`` holds runs in any other direction.
    """

    page: PageText
    turn: int
    segments: list[Segment]
    hidden: list[Segment]
    others: list[Run]
    columns: Columns


def look_at(page: PageText) -> PageLayout:
    """Sort the runs of one page by direction and find its columns from the page alone."""
    runs = _without_overprints(page.runs)
    turn = _main_turn(runs)
    main: list[Run] = []
    others: list[Run] = []
    for run in runs:
        (main if _quarter_turns(run) == turn else others).append(run)
    if turn:
        main = [_turned(run, turn, page.width, page.height) for run in main]
    segments = segments_of(run for run in main if not run.is_hidden)
    hidden = segments_of(run for run in main if run.is_hidden)
    if not turn:
        segments = take_grids(segments, page.rules, (page.width, page.height))
    return PageLayout(page, turn, segments, hidden, others, find_columns(segments))


def usual_columns(layouts: Iterable[PageLayout]) -> Columns:
    """The columns that most pages with columns have; single when columns are the exception."""
    layouts = list(layouts)
    found = [layout.columns for layout in layouts if layout.columns.count > 1]
    if len(found) < max(2, 0.3 * len(layouts)):
        return SINGLE
    keys = Counter(tuple(round(edge / 10) for edge in columns.edges[1:]) for columns in found)
    common = max(keys, key=lambda key: (keys[key], key))
    same = [columns for columns in found if tuple(round(edge / 10) for edge in columns.edges[1:]) == common]
    middle = sorted(same, key=lambda columns: columns.edges)[len(same) // 2]
    return Columns((min(columns.edges[0] for columns in same), *middle.edges[1:]))


def lines_of(layout: PageLayout, *, usual: Columns = SINGLE) -> tuple[DraftPage, list[DraftLine]]:
    """The page and its lines in reading order, numbered from 1."""
    page = layout.page
    columns = layout.columns
    if columns.count == 1 and usual.count > 1:
        columns = find_columns(layout.segments, hint=usual)
    lines: list[DraftLine] = []
    for column, row in _in_reading_order(layout.segments, columns):
        block = row.segments[0].block
        lines.extend(_line(part, layout, column) for part in block or (row,))
    for row in rows_of(layout.hidden):
        line = _line(row, layout, 0)
        line.is_hidden = True
        lines.append(line)
    lines.extend(_lines_in_other_directions(layout))
    for number, line in enumerate(lines, start=1):
        line.line_num = number
    used = max((line.column_position for line in lines), default=0)
    return DraftPage(page.page_num, max(used, 1), page.width, page.height), lines


def _without_overprints(runs: Iterable[Run]) -> list[Run]:
    """Drop runs drawn a second time on the same spot, as writers do to fake bold or a shadow."""
    seen: set[tuple[str, int, int]] = set()
    kept: list[Run] = []
    for run in runs:
        key = (run.text, round(run.x0 / 2), round(run.baseline / 2))
        if key in seen:
            continue
        seen.add(key)
        kept.append(run)
    return kept


def _quarter_turns(run: Run) -> int:
    """Quarter turns of a run's direction, or -1 for an oblique one."""
    angle = run.style.angle
    if abs(angle) <= _UPRIGHT:
        return 0
    turns = round(angle / (math.pi / 2))
    return turns % 4 if abs(angle - turns * math.pi / 2) <= _UPRIGHT else -1


def _main_turn(runs: Sequence[Run]) -> int:
    characters: Counter[int] = Counter()
    for run in runs:
        characters[_quarter_turns(run)] += len(run.text)
    del characters[-1]
    # Labels of a figure may outweigh its caption; a landscape page has next to nothing upright.
    if characters[0] >= _UPRIGHT_SHARE * sum(characters.values()):
        return 0
    return max(characters, key=lambda turn: (characters[turn], -turn))


def _turned(run: Run, turn: int, width: float, height: float) -> Run:
    """The run in a frame in which its text is horizontal and reads from left to right."""
    if turn == 1:
        box = (height - run.y1, run.x0, height - run.y0, run.x1)
    elif turn == 2:
        box = (width - run.x1, height - run.y1, width - run.x0, height - run.y0)
    else:
        box = (run.y0, width - run.x1, run.y1, width - run.x0)
    descent = 0.2 * run.size
    return replace(run, x0=box[0], y0=box[1], x1=box[2], y1=box[3], baseline=box[3] - descent)


def _turned_back(
    box: tuple[float, float, float, float], turn: int, width: float, height: float
) -> tuple[float, float, float, float]:
    x0, y0, x1, y1 = box
    if turn == 1:
        return y0, height - x1, y1, height - x0
    if turn == 2:
        return width - x1, height - y1, width - x0, height - y0
    if turn == 3:
        return width - y1, x0, width - y0, x1
    return box


def _line(row: Row, layout: PageLayout, column: int, *, turn: int | None = None) -> DraftLine:
    page = layout.page
    quarter = layout.turn if turn is None else turn
    x0, y0, x1, y1 = _turned_back((row.x0, row.y0, row.x1, row.y1), quarter, page.width, page.height)
    words, confidence = text_of(row), _confidence(row)
    return DraftLine(
        page_num=page.page_num,
        text=words.text,
        x0=x0,
        y0=y0,
        x1=x1,
        y1=y1,
        column_position=column,
        size=words.size,
        bold=words.bold,
        italic=words.italic,
        cells=words.cells,
        is_upright=quarter == layout.turn,
        starts_block=row.starts_cell,
        parsing_method="native" if confidence is None else "ocr",
        confidence=confidence,
    )


def _confidence(row: Row) -> float | None:
    """Mean confidence over the characters of a recognised row; None for text that the file itself holds."""
    runs = [run for segment in row.segments for run in segment.runs]
    known = [(run.confidence, len(run.text)) for run in runs if run.confidence is not None]
    if not known:
        return None
    return round(sum(value * length for value, length in known) / sum(length for _, length in known), 4)


def _lines_in_other_directions(layout: PageLayout) -> list[DraftLine]:
    """Margin stamps, watermarks and labels of figures: each direction by itself, after the page's own text."""
    page = layout.page
    lines: list[DraftLine] = []
    for turn in (0, 1, 2, 3):
        runs = [run for run in layout.others if _quarter_turns(run) == turn]
        if turn:
            runs = [_turned(run, turn, page.width, page.height) for run in runs]
        for hidden in (False, True):
            for row in rows_of(segments_of(run for run in runs if run.is_hidden is hidden)):
                line = _line(row, layout, 0, turn=turn)
                line.is_hidden, line.is_upright = hidden, False
                lines.append(line)
    for run in layout.others:
        if _quarter_turns(run) < 0:
            box = (run.x0, run.y0, run.x1, run.y1)
            lines.append(
                DraftLine(
                    page.page_num, run.text, 0, *box, size=run.size, is_upright=False, is_hidden=run.is_hidden
                )
            )
    return lines


def _in_reading_order(segments: Sequence[Segment], columns: Columns) -> list[tuple[int, Row]]:
    """(column_position, row) in reading order. Lines that span the columns cut the page into bands."""
    if columns.count == 1:
        return [(0, row) for row in rows_of(segments)]
    spanning = [segment for segment in segments if columns.index_of(segment) is None]
    inside = [segment for segment in segments if columns.index_of(segment) is not None]
    wide_rows, inside = _complete_rows(rows_of(spanning), inside)
    ordered: list[tuple[int, Row]] = []
    top = -math.inf
    for row in [*wide_rows, None]:
        bottom = math.inf if row is None else row.baseline
        band = [segment for segment in inside if top <= segment.baseline < bottom]
        ordered.extend(_band(band, columns))
        if row is not None:
            ordered.append((0, row))
        top = bottom
    return ordered


def _complete_rows(rows: list[Row], inside: list[Segment]) -> tuple[list[Row], list[Segment]]:
    """Give each spanning row the segments beside it on its baseline, such as the number of an equation."""
    left: list[Segment] = []
    for segment in inside:
        tolerance = 0.25 * segment.size
        host = next((row for row in rows if abs(row.baseline - segment.baseline) <= tolerance), None)
        if host is not None and not host.collides(segment):
            host.add(segment)
        else:
            left.append(segment)
    return rows, left


def _band(segments: Sequence[Segment], columns: Columns) -> list[tuple[int, Row]]:
    members: list[list[Segment]] = [[] for _ in columns.edges]
    for segment in segments:
        members[columns.index_of(segment) or 0].append(segment)
    blocks = [rows_of(column) for column in members]
    filled = [block for block in blocks if block]
    if not filled:
        return []
    if not reads_in_columns(blocks):
        return [(0, row) for row in rows_of(segments)]
    if len(filled) == 1 and len(filled[0]) <= 2:
        return [(0, row) for row in filled[0]]
    return [(index + 1, row) for index, block in enumerate(blocks) for row in block]
