"""Files that people open in other programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from django.http import HttpResponse

from workbench.direction import shown

#: By the ending of a file's name.
MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "json": "application/json; charset=utf-8",
    "jsonl": "application/x-ndjson; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "zip": "application/zip",
}
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


def download(body: str | bytes, name: str) -> HttpResponse:
    """A file to keep, under a name whose ending says what it is; any other ending is plain text."""
    media_type = MEDIA_TYPES.get(name.rpartition(".")[2], "text/plain; charset=utf-8")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(body, content_type=media_type, headers=headers)
