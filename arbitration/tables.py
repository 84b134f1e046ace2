"""Rows of a table that stands in running text, said in words."""

from __future__ import annotations

from collections.abc import Sequence

from arbitration.text import TermMatcher

#: Rows said of one table at most; a table of fewer rows than these is none.
_MOST_ROWS, _FEWEST_ROWS = 3, 2


def table_in_words(lines: Sequence[str], wanted: TermMatcher) -> str:
    """The rows of a table that hold most of the words ``wanted``, word for word, after the sentence that introduces the
    table; empty where the lines hold no table. Cells are those that two spaces part. The names of the columns follow in
    brackets where the first row gives one for each cell; which of them a cell means is for the reader to see."""
    cells = [_cells(line) for line in lines]
    rows = [number for number, row in enumerate(cells) if len(row) > 1]
    if len(rows) < _FEWEST_ROWS:
        return ""
    body = [cells[number] for number in rows]
    head = body[0] if not any(char.isdigit() for cell in body[0] for char in cell) else []
    ranked = [(len(wanted.matched(" ".join(row))), row) for row in (body[1:] if head else body)]
    most = max(count for count, _ in ranked)
    told = [row for count, row in ranked if count == most][:_MOST_ROWS]
    introduction = " ".join(" ".join(line.split()) for line in lines[: rows[0]])
    columns = f" ({', '.join(head)})" if head and {len(row) for row in told} == {len(head)} else ""
    return f"{introduction} {'; '.join(' '.join(row) for row in told)}{columns}".strip()


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().split("  ") if cell.strip()]
