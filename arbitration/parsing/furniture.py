"""Running headers, footers and page numbers: recognised because they repeat across pages."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from arbitration.parsing.drafts import DraftLine, DraftPage

_ZONE = 0.15  # share of the page height in which running lines are looked for, at the top and at the bottom
_MARGIN = 0.1  # share of the page's width or height in which a turned line is a stamp or a tab
_SAME_HEIGHT = 8.0  # points by which a running line may move from page to page
_NUMBER = re.compile(r"\d+")
_ROMAN = re.compile(r"\b[ivxlc]+\b")
_TIGHT = 0.5  # of the font size; running lines keep more distance from the text
_MAX_LENGTH = 200
_COUNTING_SHARE = 0.6  # of the lines whose number is the page's, but for a constant
_COUNTED_DIVISION = re.compile(
    r"\b(?:volume|part|chapter|article|section|schedule|annex|appendix|exhibit|attachment|item|note|table|figure|"
    r"step|question|parte|capítulo|artículo|sección|anexo|apéndice|tabla|figura|nota)\W{0,2}\d",
    re.IGNORECASE,
)


def mark_furniture(pages: Sequence[DraftPage], lines: Iterable[DraftLine]) -> None:
    """Set ``is_furniture`` on the lines that repeat at the top or bottom of pages, and on stamps in the margin.

    A line counts as running only when nothing but running lines stands between it and the edge of the page, so
    that a repeated phrase in the text is left alone.
    """
    by_page: dict[int, list[DraftLine]] = defaultdict(list)
    for line in lines:
        if line.y0 is not None and not line.is_hidden:
            by_page[line.page_num].append(line)
    heights = {page.page_num: page.height or 0.0 for page in pages}
    for page in pages:
        _mark_stamps(page, by_page[page.page_num])
    for side in ("top", "bottom"):
        edge_lines = {
            number: _from_edge(by_page[number], height, side) for number, height in heights.items() if height
        }
        _mark_running(edge_lines, len(pages))


def _mark_stamps(page: DraftPage, lines: Iterable[DraftLine]) -> None:
    """Turned text in the outer margin (a repository's stamp, a thumb tab) belongs to no paragraph."""
    width, height = page.width or 0.0, page.height or 0.0
    for line in lines:
        if line.is_upright or line.x0 is None or line.x1 is None or line.y0 is None or line.y1 is None:
            continue
        across = line.x1 < _MARGIN * width or line.x0 > (1 - _MARGIN) * width
        along = line.y1 < _MARGIN * height or line.y0 > (1 - _MARGIN) * height
        line.is_furniture = across or along


def _from_edge(lines: Iterable[DraftLine], height: float, side: str) -> list[DraftLine]:
    """The upright lines of one zone, from the edge of the page inwards."""
    upright = [line for line in lines if line.is_upright and not line.is_furniture]
    if side == "top":
        zone = [line for line in upright if (line.y0 or 0.0) < _ZONE * height]
        return sorted(zone, key=lambda line: line.y0 or 0.0)
    zone = [line for line in upright if (line.y1 or 0.0) > (1 - _ZONE) * height]
    return sorted(zone, key=lambda line: -(line.y1 or 0.0))


def _mark_running(edge_lines: Mapping[int, Sequence[DraftLine]], n_pages: int) -> None:
    groups: dict[str, list[DraftLine]] = defaultdict(list)
    for lines in edge_lines.values():
        for line in lines:
            groups[_key(line.text)].append(line)
    needed = 2 if n_pages <= 3 else 3
    running = {id(line) for key, group in groups.items() for line in _repeated(group, needed) if key}
    for lines in edge_lines.values():
        for place, line in enumerate(lines):
            if id(line) not in running:
                break
            inner = lines[place + 1] if place + 1 < len(lines) else None
            if place and inner is not None and id(inner) not in running and _adjoins(line, inner):
                break
            line.is_furniture = True


def _adjoins(line: DraftLine, inner: DraftLine) -> bool:
    """Whether a line is set as tight to the text as the text's own lines are."""
    upper, lower = sorted((line, inner), key=lambda item: item.y0 or 0.0)
    return (lower.y0 or 0.0) - (upper.y1 or 0.0) < _TIGHT * max(line.size, 1.0)


def _key(text: str) -> str:
    """Text with numbers made equal; roman page numbers too when they stand alone."""
    if len(text) > _MAX_LENGTH:
        return ""
    folded = _NUMBER.sub("#", text.casefold())
    if len(folded) <= 12:
        folded = _ROMAN.sub("#", folded)
    return "".join(folded.split())


def _repeated(group: Sequence[DraftLine], needed: int) -> list[DraftLine]:
    """Members of the group that stand at the height of enough others on other pages, and run like page numbers."""
    if len(group) < needed:
        return []
    found: list[DraftLine] = []
    for line in group:
        level = [other for other in group if abs((other.y0 or 0.0) - (line.y0 or 0.0)) <= _SAME_HEIGHT]
        if len({other.page_num for other in level}) >= needed and _numbers_run(level):
            found.append(line)
    return found


def _numbers_run(lines: Sequence[DraftLine]) -> bool:
    """Whether the numbers in lines of one pattern stay the same, or one of them counts the pages.

    "Schedule 1", "Schedule 2" at the head of one page each are headings, not page numbers.
    """
    numbers = [[int(found[-9:]) for found in _NUMBER.findall(line.text)] for line in lines]
    if all(found == numbers[0] for found in numbers):
        return True
    if not any(c.isalpha() for c in _key(lines[0].text)):
        return True
    if _COUNTED_DIVISION.search(lines[0].text):
        return False
    for column in zip(*numbers, strict=False):
        offsets = Counter(number - line.page_num for number, line in zip(column, lines, strict=True))
        if len(set(column)) > 1 and max(offsets.values()) >= _COUNTING_SHARE * len(lines):
            return True
    return False
