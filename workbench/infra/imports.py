"""Tables that people send: CSV files, read so that whatever is wrong can be told by its line."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from workbench.errors import WorkbenchError

MEGABYTE = 1_000_000
#: Columns of a table: every row holds a cell for each of them.
MOST_COLUMNS = 200
#: After an apostrophe these say that our own export made a cell safe (``infra.exports.safe_cell``).
_FORMULA_STARTS = frozenset("=+-@＝＋－＠")


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A row that was not taken in; ``line`` is its line in the file, the header being line 1."""

    line: int
    text: str
    problem: str


def file_text(content: bytes, *, max_megabytes: int) -> str:
    """The file as text. Raises :class:`WorkbenchError` for one that is too large or not UTF-8."""
    if len(content) > max_megabytes * MEGABYTE:
        raise WorkbenchError(
            _("The file is larger than %(limit)d MB. Split it.") % {"limit": max_megabytes}, code="too_large"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WorkbenchError(
            _("The file is not UTF-8 text. Save it as “CSV UTF-8” and try again."), code="not_text"
        ) from error


def csv_rows(text: str, *, required: Collection[str], missing: str) -> Iterator[tuple[int, dict[str, str]]]:
    """(line in the file, cells by lower-case column name) of every row that is not empty; commas or semicolons.

    A short row has empty cells at its end, and what stands beyond the header is left out. Raises
    :class:`WorkbenchError`: with the words of ``missing`` when the header lacks a required column, for more than
    :data:`MOST_COLUMNS`, with the line for what is no CSV.
    """
    first = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=";" if ";" in first else ",", strict=True)
    try:
        names = next(reader, [])
        if len(names) > MOST_COLUMNS:
            raise WorkbenchError(
                _("The table has %(n)d columns; at most %(most)d are read. Remove those that are not needed.")
                % {"n": len(names), "most": MOST_COLUMNS},
                code="too_many_columns",
            )
        header = [name.strip().lower() for name in names]
        if not set(required) <= set(header):
            raise WorkbenchError(missing, code="columns_missing")
        for cells in reader:
            if any(cell.strip() for cell in cells):
                padded = [*cells, *[""] * (len(header) - len(cells))]
                yield reader.line_num, dict(zip(header, map(plain_cell, padded), strict=False))
    except csv.Error as error:
        raise WorkbenchError(
            _("Line %(line)d is not CSV: %(error)s.") % {"line": reader.line_num, "error": error},
            code="not_csv",
        ) from error


def plain_cell(cell: str) -> str:
    """The cell without the apostrophe that our own export puts before what looks like a formula."""
    cell = cell.strip()
    return cell[1:].strip() if cell.startswith("'") and cell[1:2] in _FORMULA_STARTS else cell
