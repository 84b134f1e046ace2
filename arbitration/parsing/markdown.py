"""Markdown to lines and headings: the source's lines, with markup lightly removed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from arbitration.parsing.drafts import Draft, DraftLine, DraftPage, TocEntry
from arbitration.parsing.offsets import PAGE_LINES, wrap
from arbitration.spans import without_code_marks, without_spans

_FRONT_MATTER = re.compile(
    r"\A\ufeff?---[ \t]*\r?\n(?P<body>.*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL
)
_FRONT_TITLE = re.compile(r"^title:[ \t]*(?P<title>\S.*)$", re.MULTILINE)
_LINK = re.compile(
    r"!?\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]"
    r"\((?P<target>[^()\s]*(?:\([^()]*\)[^()\s]*)*)(?:\s+\"[^\"]*\")?\)"
)
_REFERENCE_LINK = re.compile(r"\[(?P<text>[^\[\]]+)\]\[[^\[\]]*\]")
_EMPHASIS = re.compile(r"(?<![\w*\\])(\*{1,3})(?=\S)(?P<text>[^*]+?)(?<=[^\s\\])\1(?![\w*])")
_UNDERSCORE = re.compile(r"(?<![\w_\\])(_{1,3})(?=\S)(?P<text>[^_]+?)(?<=[^\s\\])\1(?![\w_])")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_HEADING_MARK = re.compile(r"^ {0,3}#{1,6}[ \t]+|(?<![ \t])[ \t]+#+[ \t]*$")
_QUOTE_MARK = re.compile(r"^(?:[ \t]{0,3}>[ \t]?)+")
_BULLET = re.compile(r"^[ \t]*[-*+][ \t]+(?:\[[ xX]\][ \t]+)?")
_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+.!<>|~-])")
_ATTRIBUTES = re.compile(r"(?<!\s)\s*\{[#.:][^{}]*\}\s*$")
_BLOCKS = frozenset({"paragraph_open", "heading_open", "list_item_open", "html_block"})
_MAX_INLINE = 20_000  # characters; a longer row is no prose, and patterns would take long on it
_RULE_MARKS, _TABLE_MARKS = frozenset("-*_="), frozenset(" \t:|-")


def draft_of_markdown(text: str) -> Draft:
    """Lines on virtual pages, headings as sections, tables as rows with two spaces between cells."""
    title, skipped = _front_matter(text)
    rows = text.splitlines()
    tokens = MarkdownIt("commonmark", {"maxNesting": 50}).enable("table").parse("\n".join(rows))
    kinds = _row_kinds(tokens, len(rows))
    headings = _headings(tokens)
    lines, toc = _lines(rows, kinds, headings, skipped)
    n_pages = max((line.page_num for line in lines), default=0)
    pages = [DraftPage(number) for number in range(1, n_pages + 1)]
    return Draft("markdown", pages, lines, toc, "markup" if toc else "none", title)


def _front_matter(text: str) -> tuple[str | None, int]:
    """The title of the front matter, and the number of rows that it takes."""
    match = _FRONT_MATTER.match(text)
    if match is None:
        return None, 0
    found = _FRONT_TITLE.search(match.group("body"))
    title = found.group("title").strip().strip("'\" ") if found else None
    return title or None, len(match.group(0).splitlines())


def _row_kinds(tokens: Sequence[Token], n_rows: int) -> list[str]:
    """For each row: ``code``, ``table``, ``start`` (a block begins) or ``text``."""
    kinds = ["text"] * n_rows
    for token in tokens:
        if token.map is None:
            continue
        first, last = token.map
        if token.type in ("fence", "code_block"):
            kinds[first:last] = ["code"] * (min(last, n_rows) - first)
        elif token.type == "table_open":
            kinds[first:last] = ["table"] * (min(last, n_rows) - first)
        elif token.type in _BLOCKS and first < n_rows and kinds[first] == "text":
            kinds[first] = "start"
    return kinds


def _headings(tokens: Sequence[Token]) -> dict[int, tuple[int, str]]:
    """(level, title) by the row a heading starts on; headings inside quotes and lists count too."""
    found: dict[int, tuple[int, str]] = {}
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.map is not None:
            title = plain(inline.content)
            if title:
                found[token.map[0]] = (int(token.tag[1:]), title)
    return found


def _lines(
    rows: Sequence[str], kinds: Sequence[str], headings: dict[int, tuple[int, str]], skipped: int
) -> tuple[list[DraftLine], list[TocEntry]]:
    lines: list[DraftLine] = []
    toc: list[TocEntry] = []
    page, number = 1, 0
    after_blank = False
    for place, row in enumerate(rows):
        text = "" if place < skipped else _row_text(row, kinds[place])
        if not text:
            after_blank = True
            continue
        starts = after_blank or kinds[place] in ("start", "table") or place in headings
        after_blank = False
        for part, piece in enumerate(_pieces(text)):
            if number >= PAGE_LINES or (number >= PAGE_LINES - 8 and starts and part == 0):
                page, number = page + 1, 0
            number += 1
            lines.append(
                DraftLine(page, piece, number, parsing_method="markdown", starts_block=starts and part == 0)
            )
            if part == 0 and place in headings:
                level, title = headings[place]
                toc.append(TocEntry(title, level, page, line_num=number))
    return lines, toc


def _row_text(row: str, kind: str) -> str:
    """One row without its markup; rows that hold markup only become empty."""
    if kind == "code":
        return "" if row.strip().startswith(("```", "~~~")) else row.rstrip()
    if _is_rule(row):
        return ""
    if kind == "table":
        return "  ".join(cell for cell in (plain(cell) for cell in _cells(row)) if cell)
    text = _QUOTE_MARK.sub("", row)
    text = _HEADING_MARK.sub("", text)
    bullet = _BULLET.match(text)
    rest = plain(text[bullet.end() :]) if bullet else plain(text)
    return f"• {rest}" if bullet and rest else rest


def _is_rule(row: str) -> bool:
    """Whether a row holds marks only: a line across the page, an underline, or what parts a table's head from its
    body."""
    marks = "".join(row.split())
    if len(marks) >= 3 and _RULE_MARKS.issuperset(marks):
        return True
    return _TABLE_MARKS.issuperset(row) and 0 <= row.find("-") < row.rfind("|")


def _cells(row: str) -> list[str]:
    return re.split(r"(?<!\\)\|", row.strip().strip("|"))


def plain(text: str) -> str:
    """Inline Markdown as readable text: link texts without targets, no emphasis marks, no tags."""
    if len(text) > _MAX_INLINE:
        return " ".join(text.split())
    for _ in range(3):
        reduced = _LINK.sub(lambda match: match.group("text"), text)
        if reduced == text:
            break
        text = reduced
    text = _REFERENCE_LINK.sub(lambda match: match.group("text"), text)
    text = _TAG.sub("", without_spans(text, "<!--", "-->"))
    text = without_code_marks(text)
    for _ in range(2):
        text = _EMPHASIS.sub(lambda match: match.group("text"), text)
        text = _UNDERSCORE.sub(lambda match: match.group("text"), text)
    text = _ATTRIBUTES.sub("", text)
    return " ".join(_ESCAPE.sub(r"\1", text).split())


def _pieces(text: str) -> Iterator[str]:
    """Lines of at most 160 characters, broken after sentences or at spaces."""
    yield from (text[start:end] for start, end in wrap(text, 0, len(text)))
