"""A round as DOCX: a heading for each document, its questions in a table below."""

from __future__ import annotations

import io

from django.utils import translation
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from docx.shared import Mm
from docx.table import Table

from workbench.infra.docx_files import docx_file, docx_text

from .models import Entry, Round
from .presenters import STATE_LABELS
from .selectors import Grid, GridCell

_WIDTHS = (Mm(90), Mm(30), Mm(22), Mm(28))


def round_docx(*, round_: Round, grid: Grid) -> bytes:
    """The grid as a document; every text is placed as plain text."""
    file = docx_file(title=str(round_), language=translation.get_language() or "en")
    file.add_heading(docx_text(str(round_.question_set)), level=1)
    asked = {"date": date_format(round_.created_at, "DATE_FORMAT"), "who": round_.requested_by}
    file.add_paragraph(docx_text(_("Asked on %(date)s by %(who)s") % asked))
    file.add_paragraph(
        _("%(ended)d of %(total)d questions decided") % {"ended": grid.ended, "total": grid.total}
    )
    for row in grid.rows:
        file.add_heading(docx_text(str(row.document)), level=2)
        answered = [pair for pair in zip(grid.entries, row.cells, strict=True) if pair[1] is not None]
        table = file.add_table(rows=len(answered) + 1, cols=len(_WIDTHS), style="Table Grid")
        _fill(table, answered)
    body = io.BytesIO()
    file.save(body)
    return body.getvalue()


def _fill(table: Table, answered: list[tuple[Entry, GridCell | None]]) -> None:
    table.autofit = False
    lines = [[_("Question"), _("State"), _("Found"), _("Run")]]
    lines += [_line(entry, cell) for entry, cell in answered if cell is not None]
    for number, (row, line) in enumerate(zip(table.rows, lines, strict=True)):
        for place, text, width in zip(row.cells, line, _WIDTHS, strict=True):
            place.width = width
            place.paragraphs[0].add_run(docx_text(text)).bold = number == 0


def _line(entry: Entry, cell: GridCell) -> list[str]:
    found = "" if cell.found is None else _("yes") if cell.found else _("no")
    state = str(STATE_LABELS[cell.state]) + (f", {_('overdue')}" if cell.is_overdue else "")
    state = f"{state}: {cell.failure}" if cell.failure else state
    return [entry.text, state, found, str(cell.run_id or "")]
