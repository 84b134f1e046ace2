"""Files that people open in other programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from workbench.direction import shown

#: First characters that make a spreadsheet read a cell as a formula (OWASP, "CSV Injection").
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def safe_cell(value: object) -> str:
    """The value as text that no spreadsheet takes for a formula and that reads in order; numbers stay numbers."""
    if value is None:
        return ""
    text = shown(str(value))
    if isinstance(value, int | float):
        return text
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def csv_text(*, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A CSV file with a byte order mark, so that spreadsheets read it as UTF-8."""
    target = io.StringIO()
    writer = csv.writer(target)
    writer.writerow([safe_cell(name) for name in header])
    writer.writerows([safe_cell(value) for value in row] for row in rows)
    return "\ufeff" + target.getvalue()
