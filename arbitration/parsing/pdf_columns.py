"""Reading columns of a page: where prose stands side by side, and where it is a table after all.

Columns show as prose blocks of similar width that start on a common left edge. Table cells are told apart by
what prose never does: short fills, numbers, unlike widths, and rows whose gaps run straight across.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from arbitration.parsing.pdf_rows import Row, Segment, rows_of
from arbitration.spans import runs

_EDGE_TOLERANCE = 4.0  # points; left edges this close form one column
_MIN_ROWS = 6
_MIN_GUTTER = 5.0
_MAX_COLUMNS = 4
_MIN_FILL = 0.55  # median row width over column width
_MIN_WIDTH_RATIO = 0.6  # narrowest over widest column
_SNAP = 22.0  # points by which a page's columns may lie beside those of other pages
_MIN_CHARACTERS = 14  # median characters of a row


@dataclass(frozen=True, slots=True)
class Columns:
    """Left edges of the reading columns in points, from the left. One column or none: no entry."""

    edges: tuple[float, ...] = ()

    @property
    def count(self) -> int:
        """Number of columns, at least 1."""
        return max(len(self.edges), 1)

    def index_of(self, segment: Segment) -> int | None:
        """0-based column of a segment, or None when it runs from one column into the next."""
        left, right = segment.frame or (segment.x0, segment.x1)
        index = 0
        for place, edge in enumerate(self.edges):
            if left >= edge - _EDGE_TOLERANCE:
                index = place
            elif place and right > edge + _EDGE_TOLERANCE:
                return None
        return index


SINGLE = Columns()


def find_columns(segments: Sequence[Segment], *, hint: Columns = SINGLE) -> Columns:
    """The columns of one page, read from the segments that are not in a drawn table.

    ``hint`` holds the columns of other pages of the document: a page that is too empty to decide by itself
    (a last page, a page of references) follows them when nothing on it speaks against.
    """
    everything = segments
    segments = [segment for segment in segments if segment.frame is None]
    if len(segments) < 4:
        return SINGLE
    edges = _left_edges(segments)
    left = min(segment.x0 for segment in segments)
    for count in range(min(_MAX_COLUMNS, len(edges) + 1), 1, -1):
        found = _least_crossed([Columns((left, *chosen)) for chosen in _choices(edges, count - 1)], segments)
        if found is not None:
            return found
    if hint.count > 1:
        hint = _snapped(hint, everything)
        if _follows(hint, segments):
            return hint
    return SINGLE


def _least_crossed(choices: Sequence[Columns], segments: Sequence[Segment]) -> Columns | None:
    """Of several columns that prose stands in, those that the fewest segments cross: the indented edge of a list is
    shared by many lines too, but the others of its column cross it."""
    best: tuple[int, Columns] | None = None
    for columns in choices:
        if best is not None and best[0] == 0:
            break
        if not _is_prose(columns, segments):
            continue
        crossing = sum(1 for segment in segments if columns.index_of(segment) is None)
        if best is None or crossing < best[0]:
            best = crossing, columns
    return best[1] if best else None


def _left_edges(segments: Sequence[Segment]) -> list[float]:
    """Left edges shared by many segments, strongest first, the page's leftmost text excluded."""
    starts = sorted(segments, key=lambda segment: segment.x0)
    clusters = runs(starts, lambda cluster, segment: segment.x0 - cluster[0].x0 > _EDGE_TOLERANCE)
    left, right = starts[0].x0, max(segment.x1 for segment in segments)
    width = max(right - left, 1.0)
    strong = [
        cluster
        for cluster in clusters
        if len(cluster) >= _MIN_ROWS
        and left + 0.15 * width < cluster[0].x0 < right - 0.12 * width
        and median(segment.characters for segment in cluster) >= _MIN_CHARACTERS
    ]
    strong.sort(key=lambda cluster: (-len(cluster), cluster[0].x0))
    return [cluster[0].x0 for cluster in strong[:6]]


def _choices(edges: Sequence[float], count: int) -> list[tuple[float, ...]]:
    if count == 1:
        return [(edge,) for edge in edges]
    chosen: list[tuple[float, ...]] = []
    for index, edge in enumerate(edges):
        chosen.extend(tuple(sorted((edge, *rest))) for rest in _choices(edges[index + 1 :], count - 1))
    return chosen


def _members(columns: Columns, segments: Sequence[Segment]) -> list[list[Segment]]:
    members: list[list[Segment]] = [[] for _ in columns.edges]
    for segment in segments:
        index = columns.index_of(segment)
        if index is not None:
            members[index].append(segment)
    return members


def _is_prose(columns: Columns, segments: Sequence[Segment]) -> bool:
    """Whether the largest stretch of the page that nothing spans holds prose side by side.

    The stretch, not the page: a wide figure or table on top must not hide the columns below it.
    """
    stretch, n_spanning = _largest_stretch(columns, segments)
    members = _members(columns, stretch)
    # Where most of the page spans, a few short rows side by side are more likely a list than columns.
    needed = _MIN_ROWS if n_spanning < 0.5 * len(stretch) else 2 * _MIN_ROWS
    if any(len(column) < needed for column in members) or not _may_be_prose(members, columns):
        return False
    blocks = [rows_of(column) for column in members]
    if any(len(rows) < needed for rows in blocks):
        return False
    widths = [_block_width(rows) for rows in blocks]
    if min(widths) < _MIN_WIDTH_RATIO * max(widths):
        return False
    filled = all(_fills(rows, width) for rows, width in zip(blocks, widths, strict=True))
    return filled and _side_by_side(blocks) and not _is_ruled_by_gaps(blocks)


def _largest_stretch(columns: Columns, segments: Sequence[Segment]) -> tuple[list[Segment], int]:
    """The segments of the band between two spanning lines that holds most text, and the number of spanning ones."""
    cuts = sorted(segment.baseline for segment in segments if columns.index_of(segment) is None)
    bands: dict[int, list[Segment]] = {}
    for segment in segments:
        if columns.index_of(segment) is not None:
            bands.setdefault(bisect_right(cuts, segment.baseline), []).append(segment)
    if not bands:
        return [], len(cuts)
    largest = max(bands, key=lambda place: (sum(s.characters for s in bands[place]), -place))
    return bands[largest], len(cuts)


def _may_be_prose(members: Sequence[Sequence[Segment]], columns: Columns) -> bool:
    """A cheap look before rows are built: long enough pieces that end before the next column."""
    for index, column in enumerate(members):
        if median(segment.characters for segment in column) < _MIN_CHARACTERS / 2:
            return False
        if index + 1 < len(members):
            reach = sorted(segment.x1 for segment in column)[int(0.9 * (len(column) - 1))]
            if columns.edges[index + 1] - reach < _MIN_GUTTER:
                return False
    return True


def _block_width(rows: Sequence[Row]) -> float:
    lefts = sorted(row.x0 for row in rows)
    rights = sorted(row.x1 for row in rows)
    return max(rights[int(0.9 * (len(rows) - 1))] - lefts[len(rows) // 10], 1.0)


def _fills(rows: Sequence[Row], width: float) -> bool:
    if median(row.x1 - row.x0 for row in rows) < _MIN_FILL * width:
        return False
    if median(row.characters for row in rows) < _MIN_CHARACTERS:
        return False
    several = sum(1 for row in rows if len(row.segments) > 1 and row.x1 - row.x0 > 0.5 * width)
    return several < 0.5 * len(rows)


def _is_ruled_by_gaps(blocks: Sequence[Sequence[Row]]) -> bool:
    """Whether the paragraphs of all columns start on common heights, as the rows of a table do."""
    starts = [_paragraph_starts(rows) for rows in blocks]
    fewest = min(starts, key=len)
    if len(fewest) < 3:
        return False
    others = [other for other in starts if other is not fewest]
    shared = sum(
        1 for height in fewest if all(any(abs(height - at) < 3.0 for at in other) for other in others)
    )
    return shared >= 0.7 * len(fewest)


def _paragraph_starts(rows: Sequence[Row]) -> list[float]:
    pitches = [below.baseline - above.baseline for above, below in pairwise(rows)]
    if not pitches:
        return []
    usual = median(pitches)
    return [below.baseline for below, pitch in zip(rows[1:], pitches, strict=True) if pitch > 1.35 * usual]


def _side_by_side(blocks: Sequence[Sequence[Row]]) -> bool:
    """Whether the columns stand beside each other, unlike blocks set left and right in turns down the page."""
    fewest = min(blocks, key=len)
    for other in blocks:
        if other is fewest:
            continue
        beside = sum(
            1 for row in fewest if any(abs(row.baseline - mate.baseline) <= 1.2 * row.size for mate in other)
        )
        if beside < 0.6 * len(fewest):
            return False
    return True


def reads_in_columns(blocks: Sequence[Sequence[Row]]) -> bool:
    """Whether a band of a page with columns is prose in columns, rather than labels of a figure or a few cells."""
    filled = [block for block in blocks if block]
    if len(filled) < 2:
        return True
    if max(len(block) for block in filled) <= 2 and _on_common_lines(filled):
        return False
    return all(median(row.characters for row in block) >= _MIN_CHARACTERS / 2 for block in filled)


def _on_common_lines(blocks: Sequence[Sequence[Row]]) -> bool:
    first = blocks[0]
    return all(
        any(abs(row.baseline - other.baseline) < 0.25 * row.size for other in first)
        for block in blocks[1:]
        for row in block
    )


def _snapped(hint: Columns, segments: Sequence[Segment]) -> Columns:
    """The hint moved to the edges of this page: left and right pages have different margins."""
    edges = [hint.edges[0]]
    for edge in hint.edges[1:]:
        starts = Counter(
            round(segment.frame[0] if segment.frame else segment.x0)
            for segment in segments
            if abs((segment.frame[0] if segment.frame else segment.x0) - edge) <= _SNAP
        )
        best = max(starts, key=lambda start: (starts[start], -start), default=None)
        edges.append(float(best - 1) if best is not None and starts[best] >= 3 else edge)
    return Columns(tuple(edges))


def _follows(hint: Columns, segments: Sequence[Segment]) -> bool:
    """Whether a page fits the columns of its neighbours: little spans them, and rows start on their edges."""
    members = _members(hint, segments)
    inside = sum(len(column) for column in members)
    if inside < 0.7 * len(segments):
        return False
    blocks = [rows_of(column) for column in members]
    rows = [(row, edge) for block, edge in zip(blocks, hint.edges, strict=True) for row in block]
    on_edge = sum(1 for row, edge in rows if row.x0 - edge < 30.0)
    if on_edge < 0.5 * len(rows) or len(blocks[0]) < 3:
        return False
    filled = [block for block in blocks if block]
    if len(filled) == 1:
        return True
    readable = all(median(row.characters for row in block) >= _MIN_CHARACTERS / 2 for block in filled)
    return readable and _side_by_side(filled) and not _is_ruled_by_gaps(filled)
