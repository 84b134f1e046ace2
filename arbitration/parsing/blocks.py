"""Where paragraphs, list items, headings and table rows begin on a page that has coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median

from arbitration.parsing.drafts import DraftLine
from arbitration.parsing.numbering import is_list_item

_WIDE_PITCH = 1.28  # times the page's usual distance between lines
_INDENT = 7.0  # points


def mark_blocks(lines: Iterable[DraftLine]) -> None:
    """Set ``starts_block`` on the body lines of one page, given in reading order; marks already set stay."""
    body = [line for line in lines if line.is_body and line.y0 is not None and line.is_upright]
    if not body:
        return
    pitch = _usual_pitch(body)
    body[0].starts_block = True
    for above, line in pairwise(body):
        line.starts_block = line.starts_block or _begins(above, line, pitch)


def _usual_pitch(body: Sequence[DraftLine]) -> float:
    """Usual distance from line to line in units of the font size; prose sets it, so the lower half decides."""
    pitches = [
        distance / line.size
        for above, line in pairwise(body)
        if 0 < (distance := _distance(above, line)) < 3.5 * line.size and abs(above.size - line.size) < 0.5
    ]
    if not pitches:
        return 1.25
    pitches.sort()
    return median(pitches[: max(len(pitches) * 2 // 3, 1)])


def _distance(above: DraftLine, line: DraftLine) -> float:
    return (line.y1 or 0.0) - (above.y1 or 0.0)


def _begins(above: DraftLine, line: DraftLine, pitch: float) -> bool:
    if is_list_item(line.text) or line.cells > 1 or above.cells > 1:
        return True
    goes_on = line.text[:1].islower()
    if line.bold != above.bold and not goes_on and abs(_distance(above, line)) > 0.5 * line.size:
        return True
    if abs(line.size - above.size) > 0.08 * above.size:
        return True
    distance = _distance(above, line)
    if distance < 0:  # the next column goes on with the paragraph
        return False
    if distance > _WIDE_PITCH * pitch * line.size:
        return True
    indent = (line.x0 or 0.0) - (above.x0 or 0.0)
    return _INDENT < indent < 60.0 and above.text.rstrip().endswith((".", ":", "?", "!", ";"))
