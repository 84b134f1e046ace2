"""Sections that own lines: each entry of a table of contents is tied to the line where it starts.

A line belongs to the deepest section that has started: the last start at or before it in reading order. Several
sections may share a page, so the heading's text decides where each starts, then its position, then its page.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from arbitration.parsing.drafts import DraftLine, DraftSection, TocEntry
from arbitration.parsing.labels import named_by_heading, names_nothing

BREADCRUMB = " › "
_MAX_TITLE = 300
_NUMBER = re.compile(
    r"^(?:(?:section|article|chapter|part|appendix|annex|schedule|exhibit|title|item|clause|rule"
    r"|sección|artículo|capítulo|parte|anexo|apéndice|título|cláusula)\s+)?"
    r"(?:§+\s*)?(?:\d+(?:\.\d+)*|[ivxlcdm]+|[a-z])(?:[.):\]]|(?=\s))+\s*",
    re.IGNORECASE,
)
_FAR = 60.0  # points between a destination and a merely similar line that are too much
_ABOVE = 4.0  # points by which a destination may lie below the top of its heading's middle
_MIN_RUN_IN = 4
_MIN_SIMILAR = 0.86

Place = tuple[int, int]  # (page_num, line_num)


@dataclass(frozen=True, slots=True)
class _Start:
    """Where an entry starts; ``line`` is None when nothing of the body follows on its page."""

    place: Place
    line: DraftLine | None


def build_sections(entries: Sequence[TocEntry], lines: Sequence[DraftLine]) -> list[DraftSection]:
    """Sections ``s1``, ``s2``, ... of the entries, in their order; sets ``section_id`` of the body lines.

    Entries without a page take that of their first descendant, else the page their title is found on, else they
    are dropped. A bookmark whose title names nothing ("Page 4") takes the heading on its page. Furniture and hidden
    lines belong to no section.
    """
    body = [line for line in lines if line.is_body]
    entries = _with_pages(_clean(entries), body)
    if not entries:
        return []
    index = _BodyIndex(body)
    entries, starts = _named(entries, _locate(entries, index), lines)
    sections = _linked(entries, starts)
    _assign(sections, starts, body)
    _close(sections, body)
    return sections


def _clean(entries: Iterable[TocEntry]) -> list[TocEntry]:
    cleaned = []
    for entry in entries:
        title = " ".join("".join(c if c.isprintable() else " " for c in entry.title).split())[:_MAX_TITLE]
        if title or entry.line_num is None:
            cleaned.append(TocEntry(title, entry.level, entry.page_num, entry.y, entry.x, entry.line_num))
    return cleaned


def _with_pages(entries: Sequence[TocEntry], body: Sequence[DraftLine]) -> list[TocEntry]:
    """Entries that have a page, the missing ones found where possible."""
    titles: dict[str, int] | None = None
    placed: list[TocEntry] = []
    for place, entry in enumerate(entries):
        if entry.page_num is None:
            entry.page_num = _page_of_descendant(entries, place)
        if entry.page_num is None:
            if titles is None:
                titles = {}
                for line in body:
                    titles.setdefault(folded(line.text), line.page_num)
                titles.pop("", None)
            entry.page_num = titles.get(folded(entry.title))
        if entry.page_num is not None:
            placed.append(entry)
    return placed


def _page_of_descendant(entries: Sequence[TocEntry], place: int) -> int | None:
    for later in entries[place + 1 :]:
        if later.level <= entries[place].level:
            return None
        if later.page_num is not None:
            return later.page_num
    return None


def folded(text: str) -> str:
    """Letters and digits only, without case and width: what a heading and its entry have in common."""
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())


def without_number(text: str) -> str:
    """The text without a leading number such as ``3.2.``, ``Article IV`` or ``(a)``."""
    rest = _NUMBER.sub("", text.lstrip("([ "), count=1)
    return rest if any(c.isalpha() for c in rest) else text


class _BodyIndex:
    """Body lines by page, with their folded texts made when first asked for."""

    def __init__(self, body: Sequence[DraftLine]) -> None:
        self._pages: dict[int, list[DraftLine]] = {}
        for line in body:
            self._pages.setdefault(line.page_num, []).append(line)
        self._folded: dict[int, list[tuple[str, str]]] = {}

    def lines(self, page_num: int) -> list[DraftLine]:
        """Body lines of one page in reading order."""
        return self._pages.get(page_num, [])

    def folded(self, page_num: int) -> list[tuple[str, str]]:
        """(folded text, folded text without its number) of each of them."""
        if page_num not in self._folded:
            self._folded[page_num] = [
                (folded(line.text), folded(without_number(line.text))) for line in self.lines(page_num)
            ]
        return self._folded[page_num]


def _named(
    entries: Sequence[TocEntry], starts: Sequence[_Start], lines: Sequence[DraftLine]
) -> tuple[list[TocEntry], list[_Start]]:
    """The entries under the titles that people read; one without any is left out."""
    titles = named_by_heading(entries, [start.place for start in starts], lines)
    kept = [
        (TocEntry(title, entry.level, entry.page_num, entry.y, entry.x, entry.line_num), start)
        for entry, title, start in zip(entries, titles, starts, strict=True)
        if title
    ]
    return [entry for entry, _ in kept], [start for _, start in kept]


def _locate(entries: Sequence[TocEntry], index: _BodyIndex) -> list[_Start]:
    starts: list[_Start] = []
    previous: Place = (0, 0)
    for entry in entries:
        start = _start_of(entry, index, previous)
        starts.append(start)
        previous = start.place
    return starts


def _start_of(entry: TocEntry, index: _BodyIndex, previous: Place) -> _Start:
    page = entry.page_num or 1
    if entry.line_num is not None:
        line = next((line for line in index.lines(page) if line.line_num >= entry.line_num), None)
        return _Start((page, entry.line_num), line)
    line = None if names_nothing(entry.title, page) else _by_text(entry, index, page, previous)
    if line is None:
        line = _on_next_page(entry, index, page) or _by_position(entry, index, page, previous)
    if line is None:
        return _Start((page, 1_000_000), None)
    return _Start((line.page_num, line.line_num), line)


def _by_text(entry: TocEntry, index: _BodyIndex, page: int, previous: Place) -> DraftLine | None:
    """The line of the page that reads like the title: the best match, then the nearest to the destination."""
    best: tuple[float, DraftLine] | None = None
    for place, line in enumerate(index.lines(page)):
        quality = _likeness(entry.title, index.folded(page), place)
        if not quality:
            continue
        score = float(quality)
        if (line.page_num, line.line_num) <= previous:
            score -= 0.4
        if entry.y is not None and line.y0 is not None:
            distance = abs(line.y0 - entry.y)
            if quality < 2 and distance > _FAR:
                continue
            score -= min(distance, 500.0) / 1000.0
        if best is None or score > best[0]:
            best = (score, line)
    return best[1] if best else None


def _likeness(title: str, texts: Sequence[tuple[str, str]], place: int) -> int:
    """How well the line at ``place``, alone or with the lines after it, reads like the title.

    3 the same; 2 the same but for the number, or wrapped over several lines; 1 the title runs into the text,
    or is nearly the same.
    """
    whole, bare = folded(title), folded(without_number(title))
    text, plain = texts[place]
    if not text or not whole:
        return 0
    if text == whole:
        return 3
    if bare and plain == bare and _have_other_numbers(whole.removesuffix(bare), text.removesuffix(plain)):
        return 0  # the same words under another number
    if bare and (plain in (bare, whole) or text == bare):
        return 2
    if len(text) < len(whole) and _wrapped(whole, bare, texts, place):
        return 2
    if len(bare) >= _MIN_RUN_IN and (text.startswith(whole) or plain.startswith(bare)):
        return 1
    return 1 if _is_similar(whole, text) else 0


def _have_other_numbers(one: str, other: str) -> bool:
    return bool(one) and bool(other) and one != other


def _wrapped(whole: str, bare: str, texts: Sequence[tuple[str, str]], place: int) -> bool:
    """Whether the title is spread over this line and the next ones."""
    for wanted, joined in ((whole, texts[place][0]), (bare, texts[place][1])):
        if len(joined) < 3 or not wanted.startswith(joined):
            continue
        for text, _ in texts[place + 1 : place + 4]:
            joined += text
            if joined == wanted:
                return True
            if not wanted.startswith(joined):
                break
    return False


def _is_similar(one: str, other: str) -> bool:
    if not 0.75 < len(one) / max(len(other), 1) < 1.33 or len(one) < 6:
        return False
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.quick_ratio() >= _MIN_SIMILAR and matcher.ratio() >= _MIN_SIMILAR


def _on_next_page(entry: TocEntry, index: _BodyIndex, page: int) -> DraftLine | None:
    """The heading at the head of the next page, where a destination at the foot of a page means it."""
    here = index.lines(page)
    lowest = max((line.y1 or 0.0 for line in here), default=0.0)
    if here and (entry.y is None or entry.y < lowest - 30.0):
        return None
    for place, line in enumerate(index.lines(page + 1)[:8]):
        if _likeness(entry.title, index.folded(page + 1), place) >= 2:
            return line
    return None


def _by_position(entry: TocEntry, index: _BodyIndex, page: int, previous: Place) -> DraftLine | None:
    """The first line at or below the destination, in the destination's column; else the page's first line."""
    lines = index.lines(page)
    if not lines:
        return None
    if entry.y is None or lines[0].y0 is None:
        later = [line for line in lines if (line.page_num, line.line_num) > previous]
        return (later or lines)[0]
    below = [line for line in lines if _middle(line) >= entry.y - _ABOVE]
    if entry.x is not None and any(line.column_position for line in below):
        in_column = [line for line in below if line.x1 is not None and line.x1 > entry.x + 10.0]
        left = min((line.x0 or 0.0 for line in in_column), default=0.0)
        below = [line for line in in_column if (line.x0 or 0.0) < max(left, entry.x) + 40.0] or in_column
    return below[0] if below else None


def _middle(line: DraftLine) -> float:
    return ((line.y0 or 0.0) + (line.y1 or 0.0)) / 2


def _linked(entries: Sequence[TocEntry], starts: Sequence[_Start]) -> list[DraftSection]:
    """Sections with ids, parents and breadcrumbs; levels without gaps."""
    sections: list[DraftSection] = []
    open_entries: list[tuple[int, DraftSection]] = []
    for number, (entry, start) in enumerate(zip(entries, starts, strict=True), start=1):
        while open_entries and open_entries[-1][0] >= entry.level:
            open_entries.pop()
        parent = open_entries[-1][1] if open_entries else None
        section = DraftSection(
            section_id=f"s{number}",
            level=len(open_entries) + 1,
            parent_id=parent.section_id if parent else None,
            title=entry.title,
            breadcrumb=f"{parent.breadcrumb}{BREADCRUMB}{entry.title}" if parent else entry.title,
            start_page=start.place[0],
            end_page=start.place[0],
            start_y=start.line.y0 if start.line is not None else entry.y,
            start_line=start.line.line_num if start.line is not None else None,
        )
        sections.append(section)
        open_entries.append((entry.level, section))
    return sections


def _assign(sections: Sequence[DraftSection], starts: Sequence[_Start], body: Iterable[DraftLine]) -> None:
    """Give each body line to the last section that starts at or before it; on a tie, to the later entry."""
    order = sorted(range(len(sections)), key=lambda number: (starts[number].place, number))
    places = [starts[number].place for number in order]
    for line in body:
        position = bisect_right(places, (line.page_num, line.line_num))
        line.section_id = sections[order[position - 1]].section_id if position else None


def _close(sections: Sequence[DraftSection], body: Iterable[DraftLine]) -> None:
    """Set ``end_page`` to the last page that holds a line of the section or of one below it."""
    by_id = {section.section_id: section for section in sections}
    for line in body:
        section = by_id.get(line.section_id or "")
        if section is not None:
            section.end_page = max(section.end_page, line.page_num)
    for section in reversed(sections):
        if section.parent_id is not None:
            parent = by_id[section.parent_id]
            parent.end_page = max(parent.end_page, section.end_page)
