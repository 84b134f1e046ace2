"""Lines of a plain text and their way back to its characters.

The parser of plain text and the evaluation of labels that name characters use the same segmentation, so that an
anchor (page, line) can be compared with a span of characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_LINE = 160  # characters
PAGE_LINES = 50
_MIN_SENTENCE = 80  # a line is not broken after a sentence shorter than this
_HARD_LIMIT = 2 * MAX_LINE  # where a line has no white space at all
_PAGE_SLACK = 8  # lines by which a page may be shorter, to end with a paragraph
_ROW = re.compile(
    r"(?P<text>[^\r\n\f\v\x1c-\x1e\x85\u2028\u2029]*)(?P<end>\r\n|[\r\n\f\v\x1c-\x1e\x85\u2028\u2029]|$)"
)
_BLANK = " \t\u00a0\u200b\ufeff\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u3000"
_SENTENCE = re.compile(r"[.!?;:][\"'”’)\]]*(?=\s)")
# Converters that drop line breaks leave a run of spaces where a paragraph ended.
_LOST_BREAK = re.compile(
    r"(?<=[.;:\"”)])[ \t\u00a0]{3,}+(?=[\"“(\dA-ZÁÉÍÓÚÑ§•])"
    r"|(?<![ \t\u00a0])[ \t\u00a0]{3,}+(?=(?:Section|SECTION|Article|ARTICLE|Clause|Artículo|Cláusula)\s+[\dIVX])"
)
_LABEL = re.compile(r"\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxlcIVXLC]{1,6})[.):]+")
_LONG_SHARE = 0.5  # of the characters in rows longer than a line: every row is a paragraph


class TextLine(NamedTuple):
    """One line: ``text[start:end]`` of the original, without white space around it.

    ``row_start`` and ``row_end`` are the bounds of the row (up to the line break, or to where one was lost) that it
    was cut from. ``starts_block`` is set on the first line of a paragraph.
    """

    page_num: int
    line_num: int
    start: int
    end: int
    starts_block: bool
    row_start: int
    row_end: int


class _Row(NamedTuple):
    start: int
    end: int
    after_blank: bool
    after_page_break: bool


def line_spans(text: str) -> list[tuple[int, int, int, int]]:
    """(page_num, line_num, start, end) of every line, in order; ``text[start:end]`` is the line.

    ``text`` is the file decoded with its line breaks as they are (``newline=''``).
    """
    return [(line.page_num, line.line_num, line.start, line.end) for line in text_lines(text)]


def text_lines(text: str) -> list[TextLine]:
    """Lines of at most ``MAX_LINE`` characters on virtual pages of about ``PAGE_LINES`` lines.

    Rows are broken at sentence ends or spaces; a form feed begins a page; blank rows are no lines.
    """
    rows = list(_rows(text))
    is_prose = _rows_are_paragraphs(rows)
    lines: list[TextLine] = []
    page, number = 1, 0
    for row in rows:
        first = True
        for start, end in wrap(text, row.start, row.end):
            starts_block = first and (row.after_blank or is_prose or not lines)
            full = number >= PAGE_LINES or (number >= PAGE_LINES - _PAGE_SLACK and starts_block)
            if number and (full or (first and row.after_page_break)):
                page, number = page + 1, 0
            number += 1
            lines.append(TextLine(page, number, start, end, starts_block, row.start, row.end))
            first = False
    return lines


def _rows(text: str) -> Iterator[_Row]:
    """Rows that are not blank, white space around them left out."""
    after_blank = after_page_break = False
    for match in _ROW.finditer(text):
        start, end = match.span("text")
        while start < end and (text[start] in _BLANK or text[start].isspace()):
            start += 1
        while end > start and (text[end - 1] in _BLANK or text[end - 1].isspace()):
            end -= 1
        if start < end:
            for piece_start, piece_end in _paragraphs(text, start, end):
                yield _Row(piece_start, piece_end, after_blank or piece_start > start, after_page_break)
                after_page_break = False
            after_blank = False
        else:
            after_blank = True
        if match.group("end") == "\f":
            after_blank = after_page_break = True


def _paragraphs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A long row cut where paragraph breaks were lost; a short one as it is."""
    if end - start > MAX_LINE:
        for match in _LOST_BREAK.finditer(text, start, end):
            if _LABEL.fullmatch(text, start, match.start()):
                continue  # the number of a clause, set apart from its title
            yield start, match.start()
            start = match.end()
    yield start, end


def _rows_are_paragraphs(rows: list[_Row]) -> bool:
    total = sum(row.end - row.start for row in rows)
    long = sum(row.end - row.start for row in rows if row.end - row.start > MAX_LINE)
    return long > _LONG_SHARE * total


def wrap(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The row in pieces of at most ``MAX_LINE`` characters."""
    while end - start > MAX_LINE:
        stop = _break_at(text, start, end)
        piece_end = stop
        while piece_end > start and text[piece_end - 1].isspace():
            piece_end -= 1
        yield start, piece_end
        start = stop
        while start < end and text[start].isspace():
            start += 1
    if start < end:
        yield start, end


def _break_at(text: str, start: int, end: int) -> int:
    """Where the first piece ends: after the last sentence that fits, else at the last space, else by force."""
    window = text[start : start + MAX_LINE + 1]
    sentences = [match.end() for match in _SENTENCE.finditer(window) if match.end() >= _MIN_SENTENCE]
    if sentences:
        return start + sentences[-1]
    for place in range(len(window) - 1, 0, -1):
        if window[place].isspace():
            return start + place
    for place in range(start + len(window), min(end, start + _HARD_LIMIT)):
        if text[place].isspace():
            return place
    return min(end, start + _HARD_LIMIT)
