"""A round as DOCX: a heading for each document, its questions in a table below."""

from __future__ import annotations

import io

from django.utils import translation
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from docx import Document
from docx.document import Document as DocxDocument
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Mm
from docx.table import Table

from workbench.direction import shown

from .models import Entry, Round
from .presenters import STATE_LABELS
from .selectors import Grid, GridCell

#: What XML cannot hold.
_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127, 0xFFFE, 0xFFFF))
_WIDTHS = (Mm(90), Mm(30), Mm(22), Mm(28))


def round_docx(*, round_: Round, grid: Grid) -> bytes:
    """The grid as a document; every text is placed as plain text."""
    file = Document()
    _set_up(file, round_)
    file.add_heading(_clean(str(round_.question_set)), level=1)
    asked = {"date": date_format(round_.created_at, "DATE_FORMAT"), "who": round_.requested_by}
    file.add_paragraph(_clean(_("Asked on %(date)s by %(who)s") % asked))
    file.add_paragraph(
        _("%(ended)d of %(total)d questions decided") % {"ended": grid.ended, "total": grid.total}
    )
    for row in grid.rows:
        file.add_heading(_clean(str(row.document)), level=2)
        answered = [pair for pair in zip(grid.entries, row.cells, strict=True) if pair[1] is not None]
        table = file.add_table(rows=len(answered) + 1, cols=len(_WIDTHS), style="Table Grid")
        _fill(table, answered)
    body = io.BytesIO()
    file.save(body)
    return body.getvalue()


def _set_up(file: DocxDocument, round_: Round) -> None:
    """A4, and the language for the spelling check and screen readers."""
    page = file.sections[0]
    page.page_width, page.page_height = Mm(210), Mm(297)
    page.left_margin = page.right_margin = page.top_margin = page.bottom_margin = Mm(20)
    language = OxmlElement("w:lang")
    language.set(qn("w:val"), translation.get_language() or "en")
    file.styles["Normal"].element.get_or_add_rPr().append(language)
    file.core_properties.title = _clean(str(round_))[:255]
    file.core_properties.author = "Arbiter Workbench"


def _fill(table: Table, answered: list[tuple[Entry, GridCell | None]]) -> None:
    table.autofit = False
    lines = [[_("Question"), _("State"), _("Found"), _("Run")]]
    lines += [_line(entry, cell) for entry, cell in answered if cell is not None]
    for number, (row, line) in enumerate(zip(table.rows, lines, strict=True)):
        for place, text, width in zip(row.cells, line, _WIDTHS, strict=True):
            place.width = width
            place.paragraphs[0].add_run(_clean(text)).bold = number == 0


def _line(entry: Entry, cell: GridCell) -> list[str]:
    found = "" if cell.found is None else _("yes") if cell.found else _("no")
    state = str(STATE_LABELS[cell.state]) + (f", {_('overdue')}" if cell.is_overdue else "")
    state = f"{state}: {cell.failure}" if cell.failure else state
    return [entry.text, state, found, str(cell.run_id or "")]


def _clean(text: str) -> str:
    return shown(text).translate(_CONTROLS)
