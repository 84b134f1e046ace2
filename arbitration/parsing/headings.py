"""Headings of a PDF without a usable outline: read from type size, weight, capitals, numbers and space.

Conservative: a missed heading costs little, a sentence taken for a heading cuts a section in two.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from arbitration.parsing.clauses import find_clauses
from arbitration.parsing.drafts import DraftLine, TocEntry
from arbitration.parsing.levels import Look, levels_of
from arbitration.parsing.numbering import HeadingNumber, heading_number, is_list_item, is_upper_case

_BIG = 1.12  # times the body size
_MAX_CHARACTERS = 120
_MAX_WORDS = 16
_MAX_LINES = 3
_MAX_SHARE = 0.25  # of the body lines; more "headings" than that are something else
_COVER_SHARE = 0.5  # of a page's lines; more than that are a cover, not headings
_REPEATED = 3  # times that an unnumbered heading may not come again word for word
_MIN_HEADINGS = 2
_LEADERS = re.compile(r"\.{4,}|(?:\.\s){4,}|…{2,}|_{4,}|-{4,}")
_PAGE_AT_END = re.compile(r"\s\d{1,4}$")
_CONTENTS_LINE = re.compile(r"(?:\.{3,}|(?:\.\s){3,}|…|\s{2,}|_{3,}|-{3,})\s*(?:\d{1,4}|[ivxl]{1,6})$")
_LINE_END = 60  # characters in which leaders and a page number are looked for
_PAGE_CHARACTERS = frozenset("0123456789ivxl")
_MIN_CONTENTS = 5
_ABSTRACT = re.compile(
    r"^(?:abstract|executive summary|summary|resumen|resumen ejecutivo)\W*$", re.IGNORECASE
)
_CAPTION = re.compile(
    r"^(?:table|figure|fig\.|chart|exhibit \d+:|tabla|figura|source:|note:)\s*\d*", re.IGNORECASE
)
_SIGNATURE = re.compile(
    r"^(?:by|name|title|date|signature|signed|attest|witness|dated?|its|firma|nombre|fecha)\s*:",
    re.IGNORECASE,
)
_OPEN_END = re.compile(
    r"(?:[,;(–—-]|\b(?:a|an|the|of|and|or|to|for|in|on|by|with|from|that|which|are|is|be|as|at|de|la|el|los|las|y|o|"
    r"que|en|por|para|con))$",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Heading:
    """Consecutive lines of one look that together are a heading. ``place`` is that of the first body line."""

    place: int
    lines: list[DraftLine]
    number: HeadingNumber | None
    is_big: bool
    is_caps: bool
    run_in_title: str | None = None

    @property
    def title(self) -> str:
        if self.run_in_title is not None:
            return self.run_in_title
        title = " ".join(" ".join(line.text.split()) for line in self.lines)
        first = self.lines[0]
        return _PAGE_AT_END.sub("", title) if first.cells == 2 and self.number is None else title

    @property
    def look(self) -> Look:
        first = self.lines[0]
        bold = first.bold if self.run_in_title is None else False
        return Look(_half(first.size), bold, self.is_caps, _kind(self.title, self.number))


def _half(size: float) -> float:
    return round(size * 2) / 2


def _kind(title: str, number: HeadingNumber | None) -> tuple[str, int]:
    if number is None:
        return ("item", 0) if is_list_item(title) else ("none", 0)
    if number.is_named:
        return ("named", number.rank)
    return ("decimal" if number.text.strip("§ ")[:1].isdigit() else "letter", number.depth)


def find_headings(lines: Sequence[DraftLine]) -> list[TocEntry]:
    """Entries for the headings among the lines, with level, page, height and line; empty when none can be trusted."""
    body = [line for line in lines if line.is_body and line.is_upright]
    contents = _contents_pages(body)
    body = [line for line in body if line.page_num not in contents]
    if len(body) < 5:
        return []
    body_size, body_bold = _usual_look(body)
    found = list(_joined(_candidates(body, body_size, body_bold=body_bold), body))
    found = _with_clauses(_without_repeats(_without_covers(found, body)), body)
    found = _without_opening(found)
    if len(found) < _MIN_HEADINGS or sum(len(h.lines) for h in found) > _MAX_SHARE * len(body):
        return []
    levels = levels_of(heading.look for heading in found)
    return [
        TocEntry(
            heading.title,
            level,
            heading.lines[0].page_num,
            y=heading.lines[0].y0,
            x=heading.lines[0].x0,
            line_num=heading.lines[0].line_num,
        )
        for heading, level in zip(found, levels, strict=True)
    ]


def _contents_pages(body: Iterable[DraftLine]) -> set[int]:
    """Pages that print a table of contents: most of their lines end with a page number."""
    total: Counter[int] = Counter()
    ending: Counter[int] = Counter()
    for line in body:
        total[line.page_num] += 1
        if line.text[-1:] in _PAGE_CHARACTERS and _CONTENTS_LINE.search(line.text[-_LINE_END:]):
            ending[line.page_num] += 1
    return {page for page, count in ending.items() if count >= _MIN_CONTENTS and count >= 0.4 * total[page]}


def _usual_look(body: Iterable[DraftLine]) -> tuple[float, bool]:
    """Size and weight of most characters."""
    sizes: Counter[float] = Counter()
    bold = total = 0
    for line in body:
        sizes[_half(line.size)] += len(line.text)
        total += len(line.text)
        bold += len(line.text) if line.bold else 0
    return max(sizes, key=lambda size: (sizes[size], size)), bold > 0.5 * total


def _candidates(body: Sequence[DraftLine], body_size: float, *, body_bold: bool) -> Iterator[_Heading]:
    for place, line in enumerate(body):
        if line.cells > 2 or not _could_be(line.text):
            continue
        number = heading_number(line.text)
        if line.cells == 2 and number is None:
            continue
        above = body[place - 1] if place else None
        below = body[place + 1] if place + 1 < len(body) else None
        big = line.size >= _BIG * body_size
        if number is None and not big and below is not None and below.cells > 2:
            continue  # the head of a table
        bold = line.bold and not body_bold
        caps = is_upper_case(line.text)
        ends = below is None or below.starts_block or below.page_num != line.page_num or _differ(line, below)
        stands_out = big or bold or ((caps or (number is not None and number.is_named)) and ends)
        apart = line.starts_block or above is None or above.page_num != line.page_num
        goes_on = above is not None and (big or bold or caps) and not _differ(line, above)
        if not (apart and stands_out) and not goes_on:
            continue
        if not big and line.size < 0.93 * body_size:
            continue
        yield _Heading(place, [line], number, big, caps)


def _could_be(text: str) -> bool:
    if len(text) > _MAX_CHARACTERS or len(text.split()) > _MAX_WORDS:
        return False
    if text[:1] in "•●○◦▪■-*·" or text[:1].islower():
        return False
    letters = sum(map(str.isalpha, text))
    if letters < 3 or letters < 0.5 * (len(text) - sum(map(str.isspace, text))):
        return False
    return not (_LEADERS.search(text) or _CAPTION.match(text) or _SIGNATURE.match(text))


def _differ(line: DraftLine, other: DraftLine) -> bool:
    return line.bold != other.bold or abs(line.size - other.size) > 0.4


def _joined(candidates: Iterable[_Heading], body: Sequence[DraftLine]) -> Iterator[_Heading]:
    """Wrapped headings put together; those that turn out to be paragraphs or broken sentences left out."""
    current: _Heading | None = None
    for heading in candidates:
        if current is not None and _wraps(current, heading):
            current.lines.extend(heading.lines)
            continue
        if current is not None and _is_heading(current, body):
            yield current
        current = heading
    if current is not None and _is_heading(current, body):
        yield current


def _wraps(current: _Heading, heading: _Heading) -> bool:
    line, above = heading.lines[0], current.lines[-1]
    if heading.place != current.place + len(current.lines) or line.page_num != above.page_num:
        return False
    if heading.number is not None or _differ(line, above) or line.column_position != above.column_position:
        return False
    if heading.is_caps != current.is_caps:
        return False
    if not line.starts_block:
        return True
    # A wide gap inside a large title; elsewhere a new block is a new heading.
    return bool(_OPEN_END.search(above.text)) and current.is_big


def _is_heading(heading: _Heading, body: Sequence[DraftLine]) -> bool:
    first, last = heading.lines[0], heading.lines[-1]
    if len(heading.lines) > _MAX_LINES or not first.starts_block:
        return False
    after = heading.place + len(heading.lines)
    below = body[after] if after < len(body) else None
    if below is not None and below.page_num == last.page_num and not below.starts_block:
        if not _differ(below, last):
            return False  # the block goes on in the same look: a bold paragraph
        if (last.x1 or 0.0) > (below.x1 or 0.0) - 2 * last.size:
            return False  # a full line that goes on in another look: a paragraph that begins in bold
    if _OPEN_END.search(last.text.rstrip()):
        return False
    ends_like_sentence = last.text.rstrip().endswith((".", ";")) and not heading.is_caps
    return heading.is_big or not ends_like_sentence or heading.number is not None


def _without_covers(headings: Sequence[_Heading], body: Sequence[DraftLine]) -> list[_Heading]:
    """Drop the "headings" of pages that hold little else: covers and dividers keep only their largest line."""
    total = Counter(line.page_num for line in body)
    by_page: dict[int, list[_Heading]] = defaultdict(list)
    for heading in headings:
        by_page[heading.lines[0].page_num].append(heading)
    kept: list[_Heading] = []
    for page, found in by_page.items():
        if len(found) > 1 and sum(len(heading.lines) for heading in found) > _COVER_SHARE * total[page]:
            kept.append(max(found, key=lambda heading: (heading.lines[0].size, -heading.place)))
        else:
            kept.extend(found)
    return kept


def _without_repeats(headings: Sequence[_Heading]) -> list[_Heading]:
    """Drop column heads that a table repeats on every page."""
    times = Counter(heading.title.casefold() for heading in headings)
    return [
        heading
        for heading in headings
        if heading.look.kind[0] in ("decimal", "named") or times[heading.title.casefold()] < _REPEATED
    ]


def _without_opening(headings: list[_Heading]) -> list[_Heading]:
    """Drop title and authors: what stands before the abstract, and a single heading above all others."""
    for place, heading in enumerate(headings):
        if heading.lines[0].page_num > 2:
            break
        if _ABSTRACT.match(heading.title):
            headings = headings[place:]
            break
    if len(headings) < 3 or headings[0].lines[0].page_num > 2 or headings[0].number is not None:
        return headings
    levels = levels_of(heading.look for heading in headings)
    return headings[1:] if levels.count(1) == 1 else headings


def _with_clauses(headings: list[_Heading], body: Sequence[DraftLine]) -> list[_Heading]:
    """Add numbered clauses whose headings run into the text."""
    taken = {heading.place for heading in headings}
    starts = ((place, line.text) for place, line in enumerate(body) if line.starts_block)
    for clause in find_clauses(starts):
        if clause.key not in taken:
            line = body[clause.key]
            number = heading_number(line.text)
            headings.append(_Heading(clause.key, [line], number, False, False, clause.title))
    return sorted(headings, key=lambda heading: heading.place)
