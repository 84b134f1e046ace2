"""Rows of a table that stands in running text, said in words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from arbitration.text import TermMatcher

#: Rows said of one table at most; a table of fewer rows than these is none.
_MOST_ROWS, _FEWEST_ROWS = 3, 2
#: Words of a column's name at most.
_LONGEST_NAME = 6
#: "7.", "(b)" and "-2-": a clause's number or a page's, which a wide space parts from what follows.
_NUMBER = re.compile(r"(?:\d{1,3}(?:\.\d{1,3})*\.|\([a-z0-9]{1,3}\)|-\s?\d{1,3}\s?-)")


def table_in_words(lines: Sequence[str], wanted: TermMatcher, *, before: Sequence[str] = ()) -> str:
    """The rows of a table that hold most of the words ``wanted``, word for word, after the sentence that introduces the
    table; empty where the lines hold no table. Cells are those that two spaces part. The names of the columns follow in
    brackets where the table's first row gives one for each cell, here or, for a table that goes on, in the lines
    ``before``; which of them a cell means is for the reader to see."""
    cells = [_cells(line) for line in lines]
    rows = [number for number, row in enumerate(cells) if len(row) > 1]
    if len(rows) < _FEWEST_ROWS:
        return ""
    body = [cells[number] for number in rows]
    goes_on, above = (False, []) if rows[0] else _begun(before)
    head = _head(above if goes_on else body)
    told = _most_wanted(body if goes_on or not head else body[1:], wanted)[:_MOST_ROWS]
    introduction = " ".join(" ".join(line.split()) for line in lines[: rows[0]])
    columns = f" ({', '.join(head)})" if head and {len(row) for row in told} == {len(head)} else ""
    return f"{introduction} {'; '.join(' '.join(row) for row in told)}{columns}".strip()


def best_row(lines: Sequence[str], wanted: TermMatcher) -> str:
    """The row that holds most of the words ``wanted``, word for word; empty where the lines hold no table."""
    body = [row for row in map(_cells, lines) if len(row) > 1]
    return " ".join(_most_wanted(body, wanted)[0]) if len(body) >= _FEWEST_ROWS else ""


def _most_wanted(body: Sequence[list[str]], wanted: TermMatcher) -> list[list[str]]:
    ranked = [(len(wanted.matched(" ".join(row))), row) for row in body]
    most = max((count for count, _ in ranked), default=0)
    return [row for count, row in ranked if count == most]


def _head(body: Sequence[list[str]]) -> list[str]:
    """The names of the columns: a first row of short cells without figures."""
    first = body[0] if body else []
    is_named = all(len(cell.split()) <= _LONGEST_NAME for cell in first)
    return first if is_named and not any(char.isdigit() for cell in first for char in cell) else []


def _begun(before: Sequence[str]) -> tuple[bool, list[list[str]]]:
    """Whether the last of some lines is a row, and the rows of its table where its first one is among them."""
    rows: list[list[str]] = []
    for line in reversed(before):
        row = _cells(line)
        if len(row) < _FEWEST_ROWS:
            return bool(rows), rows
        rows.insert(0, row)
    return bool(rows), []


def _cells(line: str) -> list[str]:
    cells = [cell.strip() for cell in line.strip().split("  ") if cell.strip()]
    return cells if not cells or not _NUMBER.fullmatch(cells[0]) else [" ".join(cells)]
