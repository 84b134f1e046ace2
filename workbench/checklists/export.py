"""A round as a file: one row a cell."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _
from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from openpyxl.styles import Font

from workbench.direction import shown, shown_in_json
from workbench.infra.exports import FORMULA_STARTS, csv_text

from .models import Round
from .selectors import Grid

COLUMNS = ("document", "question", "state", "found", "open_items", "overdue", "run", "note")


def _records(grid: Grid) -> Iterator[dict[str, Any]]:
    for row in grid.rows:
        for entry, cell in zip(grid.entries, row.cells, strict=True):
            if cell is None:
                continue
            yield {
                "document": row.document.name,
                "question": entry.text,
                "state": cell.state,
                "found": cell.found,
                "open_items": cell.open_items,
                "overdue": cell.is_overdue,
                "run": cell.run_id,
                "note": cell.failure,
            }


def round_csv(*, grid: Grid) -> str:
    """The grid as CSV, safe from formula injection."""
    return csv_text(header=COLUMNS, rows=([record[name] for name in COLUMNS] for record in _records(grid)))


def round_xlsx(*, round_: Round, grid: Grid) -> bytes:
    """The grid as a workbook: a sheet of cells with its header frozen, every text as text and never as a formula."""
    workbook = Workbook(write_only=True)
    workbook.properties.title = f"{round_.question_set.name} {round_.pk}"
    workbook.properties.creator = ""
    sheet = workbook.create_sheet(f"{_('Round')} {round_.pk}")
    sheet.freeze_panes = "A2"
    for column, width in zip("ABCDEFGH", (36, 60, 16, 10, 12, 10, 10, 40), strict=True):
        sheet.column_dimensions[column].width = width
    sheet.append([_cell(sheet, name, bold=True) for name in COLUMNS])
    for record in _records(grid):
        sheet.append([_cell(sheet, record[name]) for name in COLUMNS])
    target = io.BytesIO()
    workbook.save(target)
    return target.getvalue()


def _cell(sheet: Any, value: object, *, bold: bool = False) -> WriteOnlyCell:
    """A cell; what a spreadsheet would compute is written as the text it is."""
    is_figure = isinstance(value, bool | int | float) or value is None
    text = value if is_figure else ILLEGAL_CHARACTERS_RE.sub("", shown(str(value)))
    cell = WriteOnlyCell(sheet, value=text)
    if not is_figure:
        cell.data_type = "s"
        cell.quotePrefix = str(text).startswith(FORMULA_STARTS)
    if bold:
        cell.font = Font(bold=True)
    return cell


def round_jsonl(*, round_: Round, grid: Grid) -> str:
    """The grid as JSON lines, the round's facts in each."""
    facts = {"round": round_.pk, "set": round_.question_set.name, "strategy": round_.strategy}
    lines = (json.dumps(facts | record, ensure_ascii=False) for record in _records(grid))
    return "".join(shown_in_json(line) + "\n" for line in lines)
