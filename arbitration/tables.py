"""Rows of a table that stands in running text, said in words."""

from __future__ import annotations

from collections.abc import Sequence

from arbitration.text import TermMatcher

#: Rows said of one table at most; a table of fewer rows than these is none.
_MOST_ROWS, _FEWEST_ROWS = 3, 2


def table_in_words(lines: Sequence[str], wanted: TermMatcher) -> str:
    """The rows of a table that hold most of the words ``wanted``, after the sentence that introduces the table; empty
    where the lines hold no table. Cells are those that two spaces part."""
    cells = [_cells(line) for line in lines]
    rows = [number for number, row in enumerate(cells) if len(row) > 1]
    if len(rows) < _FEWEST_ROWS:
        return ""
    head, *body = (cells[number] for number in rows)
    ranked = [(len(wanted.matched(" ".join(row))), row) for row in body]
    most = max(count for count, _ in ranked)
    told = [row for count, row in ranked if count == most][:_MOST_ROWS]
    introduction = " ".join(" ".join(line.split()) for line in lines[: rows[0]])
    return f"{introduction} {'; '.join(_row(head, row) for row in told)}".strip()


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().split("  ") if cell.strip()]


def _row(head: Sequence[str], row: Sequence[str]) -> str:
    """ "Critical: 48 hours (Systems on the internet), 7 days (All others)"; without a heading for each cell, the cells
    alone."""
    first, *others = row
    if len(head) == len(row):
        others = [f"{cell} ({name})" for name, cell in zip(head[1:], others, strict=True)]
    return f"{first}: {', '.join(others)}"
