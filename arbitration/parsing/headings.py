"""Headings of a PDF without a usable outline: read from type size, weight, capitals, numbers and space.

Conservative: a missed heading costs little, a sentence taken for a heading cuts a section in two.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from arbitration.parsing.drafts import DraftLine, TocEntry
from arbitration.parsing.numbering import HeadingNumber, heading_number, is_upper_case

_BIG = 1.12  # times the body size
_MAX_CHARACTERS = 120
_MAX_WORDS = 16
_MAX_SHARE = 0.25  # of the body lines; more "headings" than that are something else
_MIN_HEADINGS = 2
_LEADERS = re.compile(r"\.{4,}|(?:\.\s){4,}|…{2,}|_{4,}")
_PAGE_AT_END = re.compile(r"\s\d{1,4}$")
_CAPTION = re.compile(
    r"^(?:table|figure|fig\.|chart|exhibit \d+:|tabla|figura|source:|note:)\s*\d*", re.IGNORECASE
)
_SIGNATURE = re.compile(
    r"^(?:by|name|title|date|signature|signed|attest|witness|dated?|its|firma|nombre|fecha)\s*:",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Heading:
    """Consecutive lines of one look that together are a heading."""

    lines: list[DraftLine]
    number: HeadingNumber | None
    is_big: bool
    is_caps: bool

    @property
    def title(self) -> str:
        return " ".join(line.text for line in self.lines)

    @property
    def key(self) -> tuple[float, int, int, int, int]:
        """Order of importance, smaller is higher: size, named division, capitals, weight, depth of the number."""
        first = self.lines[0]
        rank, depth = (self.number.rank, self.number.depth) if self.number else (20, 1)
        if self.number and self.number.is_named:
            return (-_half(first.size), rank, 0 if self.is_caps else 1, 0 if first.bold else 1, depth)
        return (-_half(first.size), 19 + (depth > 1), 0 if self.is_caps else 1, 0 if first.bold else 1, depth)


def _half(size: float) -> float:
    return round(size * 2) / 2


def find_headings(lines: Sequence[DraftLine]) -> list[TocEntry]:
    """Entries for the headings among the lines, with level, page, height and line; empty when none can be trusted."""
    body = [line for line in lines if line.is_body and line.is_upright]
    if len(body) < 5:
        return []
    body_size, body_bold = _usual_look(body)
    found = list(_joined(_candidates(body, body_size, body_bold)))
    found = _without_title(found)
    if len(found) < _MIN_HEADINGS or sum(len(h.lines) for h in found) > _MAX_SHARE * len(body):
        return []
    return list(_entries(found))


def _usual_look(body: Iterable[DraftLine]) -> tuple[float, bool]:
    """Size and weight of most characters."""
    sizes: Counter[float] = Counter()
    bold = total = 0
    for line in body:
        sizes[_half(line.size)] += len(line.text)
        total += len(line.text)
        bold += len(line.text) if line.bold else 0
    return max(sizes, key=lambda size: (sizes[size], size)), bold > 0.5 * total


def _candidates(
    body: Sequence[DraftLine], body_size: float, body_bold: bool
) -> Iterator[tuple[int, _Heading]]:
    for place, line in enumerate(body):
        if not _could_be(line.text) or line.cells > 2:
            continue
        above = body[place - 1] if place else None
        below = body[place + 1] if place + 1 < len(body) else None
        number = heading_number(line.text)
        if line.cells == 2 and number is None:
            continue
        big = line.size >= _BIG * body_size
        bold = line.bold and not body_bold
        caps = is_upper_case(line.text)
        apart = line.starts_block or above is None or above.page_num != line.page_num
        ends = (
            below is None
            or below.starts_block
            or below.page_num != line.page_num
            or _looks_unlike(line, below)
        )
        stands_out = big or bold or ((caps or (number is not None and number.is_named)) and ends)
        if not (apart and stands_out) and not _continues_heading(line, above, big=big, bold=bold):
            continue
        if not big and line.text.rstrip().endswith((".", ";")) and not (number or caps):
            continue
        if not big and line.size < 0.93 * body_size:
            continue
        yield place, _Heading([line], number, big, caps)


def _could_be(text: str) -> bool:
    if len(text) > _MAX_CHARACTERS or len(text.split()) > _MAX_WORDS:
        return False
    letters = sum(c.isalpha() for c in text)
    if letters < 3 or letters < 0.5 * sum(not c.isspace() for c in text):
        return False
    if text.rstrip().endswith((",", "-", "—")) or text[:1] in "•●○◦▪■-*·":
        return False
    if text[:1].islower():
        return False
    return not (_LEADERS.search(text) or _CAPTION.match(text) or _SIGNATURE.match(text))


def _looks_unlike(line: DraftLine, below: DraftLine) -> bool:
    return line.bold != below.bold or abs(line.size - below.size) > 0.4


def _continues_heading(line: DraftLine, above: DraftLine | None, *, big: bool, bold: bool) -> bool:
    """Whether a line goes on with a heading that wrapped: same look, no block of its own."""
    return above is not None and (big or bold) and not _looks_unlike(line, above)


def _joined(candidates: Iterable[tuple[int, _Heading]]) -> Iterator[_Heading]:
    """Wrapped headings put together."""
    current: _Heading | None = None
    last = -2
    for place, heading in candidates:
        line = heading.lines[0]
        if current is not None and place == last + 1 and _wraps(current, heading):
            current.lines.append(line)
        else:
            if current is not None:
                yield current
            current = heading
        last = place
    if current is not None:
        yield current


def _wraps(current: _Heading, heading: _Heading) -> bool:
    line, above = heading.lines[0], current.lines[-1]
    if line.starts_block or heading.number is not None or line.page_num != above.page_num:
        return False
    return len(current.lines) < 3 and not _looks_unlike(line, above) and heading.is_caps == current.is_caps


def _without_title(headings: list[_Heading]) -> list[_Heading]:
    """Drop the document's title: larger than every other heading, once, on the first page."""
    if len(headings) < 3:
        return headings
    first = headings[0]
    size = _half(first.lines[0].size)
    if first.lines[0].page_num > 2 or first.number is not None:
        return headings
    others = max(_half(heading.lines[0].size) for heading in headings[1:])
    return headings[1:] if size > others else headings


def _entries(headings: Iterable[_Heading]) -> Iterator[TocEntry]:
    open_keys: list[tuple[float, int, int, int, int]] = []
    for heading in headings:
        key = heading.key
        while open_keys and open_keys[-1] >= key:
            open_keys.pop()
        open_keys.append(key)
        line = heading.lines[0]
        title = (
            _PAGE_AT_END.sub("", heading.title)
            if line.cells == 2 and heading.number is None
            else heading.title
        )
        yield TocEntry(title, len(open_keys), line.page_num, y=line.y0, x=line.x0, line_num=line.line_num)
