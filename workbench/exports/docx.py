"""A record as DOCX: the same blocks as in HTML and PDF, with Word's own headings, tables and alternative texts."""

from __future__ import annotations

import io
from collections.abc import Iterable

from docx.document import Document as DocxDocument
from docx.enum.text import WD_BREAK
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.oxml.xmlchemy import BaseOxmlElement
from docx.shared import Mm, Pt, RGBColor
from docx.table import Table as DocxTable
from docx.text.paragraph import Paragraph

from workbench.infra.docx_files import docx_file, docx_text

from .blocks import Block, Card, Facts, Figure, Report, Row, Section, Table, Text

_SOFT, _ACCENT = RGBColor(0x6A, 0x63, 0x55), RGBColor(0x9A, 0x2F, 0x1C)
_ROLES = {
    "primary": RGBColor(0x12, 0x63, 0x4A),
    "supporting": RGBColor(0x24, 0x55, 0x8F),
    "tangential": RGBColor(0x7F, 0x54, 0x00),
    "discarded": _SOFT,
}
_SIZES = {"lead": 11.5, "note": 9.0, "plain": 10.0}


def report_docx(report: Report) -> bytes:
    """The file; everything a document or a person wrote is placed as plain text."""
    file = docx_file(title=report.title, language=report.language, side=Mm(21))
    _set_up(file, report)
    _line(file, report.kicker, size=9, colour=_ACCENT, bold=True)
    file.add_heading(docx_text(report.title), level=1)
    _facts(file, report.facts.rows)
    _sections(file, report.sections)
    if report.annex:
        file.add_paragraph().add_run().add_break(WD_BREAK.PAGE)
        file.add_heading(docx_text(report.annex_title), level=1)
        _sections(file, report.annex)
    body = io.BytesIO()
    file.save(body)
    return body.getvalue()


def _set_up(file: DocxDocument, report: Report) -> None:
    """The type, and a footer with the number of the page."""
    normal = file.styles["Normal"]
    normal.font.size, normal.font.name = Pt(10), "Georgia"
    normal.paragraph_format.space_after = Pt(4)
    footer = file.sections[0].footer.paragraphs[0]
    _run(footer, f"{report.footer} · ", size=8, colour=_SOFT)
    footer._p.append(_page_number())  # python-docx has no call for a field


def _page_number() -> BaseOxmlElement:
    field = OxmlElement("w:fldSimple")
    field.set(qn("w:instr"), "PAGE")
    run = OxmlElement("w:r")
    text = OxmlElement("w:t")
    text.text = "1"
    run.append(text)
    field.append(run)
    return field


def _sections(file: DocxDocument, sections: Iterable[Section]) -> None:
    for section in sections:
        file.add_heading(docx_text(section.title), level=2)
        for block in section.blocks:
            _block(file, block)


def _block(file: DocxDocument, block: Block) -> None:
    match block:
        case Facts():
            _facts(file, block.rows)
        case Text():
            _line(file, block.text, size=_SIZES[block.tone], colour=_SOFT if block.tone == "note" else None)
        case Card():
            _card(file, block)
        case Figure():
            _figure(file, block)
        case Table():
            _table(file, block)


def _facts(file: DocxDocument, rows: Iterable[Row]) -> None:
    shown_rows = list(rows)
    if not shown_rows:
        return
    table = file.add_table(rows=0, cols=2)
    table.autofit = False
    for row in shown_rows:
        label, value = table.add_row().cells
        label.width, value.width = Mm(42), Mm(126)
        _run(label.paragraphs[0], row.label, size=8.5, colour=_SOFT)
        _run(value.paragraphs[0], row.value, size=7.5 if row.is_code else 9.5, mono=row.is_code)
    file.add_paragraph()


def _card(file: DocxDocument, card: Card) -> None:
    head = file.add_heading(level=3)
    _run(head, f"{card.role_word}  ", size=8.5, colour=_ROLES.get(card.role, _ACCENT), bold=True)
    _run(head, card.title, size=10.5, bold=True)
    _line(file, card.place, size=8.5, colour=_SOFT)
    if card.evidence:
        quoted = _line(file, card.evidence, size=10)
        quoted.paragraph_format.left_indent = Mm(4)
    _facts(file, card.rows)


def _figure(file: DocxDocument, figure: Figure) -> None:
    picture = file.add_picture(io.BytesIO(figure.image), width=Mm(160 if figure.is_clip else 150))
    picture._inline.docPr.set("descr", docx_text(figure.caption))  # what a screen reader says
    _line(file, figure.caption, size=8.5, colour=_SOFT)


def _table(file: DocxDocument, block: Table) -> None:
    table = file.add_table(rows=1, cols=len(block.header))
    table.style = "Light List"
    for cell, name in zip(table.rows[0].cells, block.header, strict=True):
        _run(cell.paragraphs[0], name, size=8, bold=True)
    _repeat_header(table)
    for cells in block.rows:
        for cell, value in zip(table.add_row().cells, cells, strict=True):
            _run(cell.paragraphs[0], value, size=8)
    file.add_paragraph()


def _repeat_header(table: DocxTable) -> None:
    mark = OxmlElement("w:tblHeader")
    table.rows[0]._tr.get_or_add_trPr().append(mark)


def _line(
    file: DocxDocument, text: str, *, size: float, colour: RGBColor | None = None, bold: bool = False
) -> Paragraph:
    paragraph = file.add_paragraph()
    _run(paragraph, text, size=size, colour=colour, bold=bold)
    return paragraph


def _run(
    paragraph: Paragraph,
    text: str,
    *,
    size: float,
    colour: RGBColor | None = None,
    bold: bool = False,
    mono: bool = False,
) -> None:
    run = paragraph.add_run(docx_text(text))
    run.font.size, run.bold = Pt(size), bold or None
    if colour is not None:
        run.font.color.rgb = colour
    if mono:
        run.font.name = "Courier New"
