"""The demo regulation as a PDF: native outline, running header and footer, a table. Same source, same bytes.

The source is plain text. ``Name: value`` lines up to the first empty line describe the document; ``=``, ``==`` and
``===`` begin headings of levels 1 to 3; lines between bars are rows of a table, the first its header; a paragraph
beginning with ``(1)`` or ``(a)`` is indented. Paragraphs are separated by empty lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib import colors
from reportlab.lib.enums import TA_CENTER
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import BaseDocTemplate, Flowable, Frame, PageTemplate, Paragraph, Spacer, Table

_HEADING = re.compile(r"(={1,3}) (.+)")
_FIRST_NUMBER = re.compile(r"\((\d+|[a-z])\) ")
_LEFT, _TOP, _BOTTOM = 28 * mm, 32 * mm, 28 * mm
_WIDTH = A4[0] - 2 * _LEFT

_BODY = ParagraphStyle("body", fontName="Times-Roman", fontSize=10.5, leading=14, spaceAfter=6)
_STYLES = {
    "title": ParagraphStyle(
        "title", fontName="Helvetica-Bold", fontSize=19, leading=24, alignment=TA_CENTER, spaceAfter=8
    ),
    "cover": ParagraphStyle("cover", parent=_BODY, alignment=TA_CENTER, spaceAfter=4),
    "body": _BODY,
    "paragraph": ParagraphStyle("paragraph", parent=_BODY, leftIndent=18, firstLineIndent=-18),
    "item": ParagraphStyle("item", parent=_BODY, leftIndent=36, firstLineIndent=-18),
    "heading1": ParagraphStyle(
        "heading1", fontName="Helvetica-Bold", fontSize=15, leading=19, spaceBefore=16, spaceAfter=6, keepWithNext=1
    ),
    "heading2": ParagraphStyle(
        "heading2", fontName="Helvetica-Bold", fontSize=12.5, leading=16, spaceBefore=10, spaceAfter=5,
        keepWithNext=1,
    ),
    "heading3": ParagraphStyle(
        "heading3", fontName="Helvetica-Bold", fontSize=10.5, leading=14, spaceBefore=8, spaceAfter=4,
        keepWithNext=1,
    ),
    "cell": ParagraphStyle("cell", parent=_BODY, fontSize=9.5, leading=12, spaceAfter=0),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Source:
    """The parsed source text: its description and its blocks in order."""

    title: str
    number: str
    issuer: str
    date: str
    blocks: tuple[str, ...]


class _Heading(Paragraph):  # type: ignore[misc]
    """A heading that makes an entry of the outline pointing at its own top edge."""

    def __init__(self, text: str, level: int, key: str) -> None:
        super().__init__(escape(text), _STYLES[f"heading{level}"])
        self.outline_text, self.outline_level, self.outline_key = text, level, key

    def draw(self) -> None:
        canvas: Canvas = self.canv
        _, top = canvas.absolutePosition(0, self.height)
        canvas.bookmarkPage(self.outline_key, fit="XYZ", left=0, top=top)
        canvas.addOutlineEntry(self.outline_text, self.outline_key, self.outline_level - 1, closed=False)
        super().draw()


def regulation_pdf(source_text: str) -> bytes:
    """The PDF of a source text (see the module). Raises :class:`ValueError` when its description is incomplete."""
    source = parse_source(source_text)
    buffer = BytesIO()
    template = BaseDocTemplate(
        buffer,
        pagesize=A4,
        title=source.title,
        author=source.issuer,
        subject=source.number,
        lang="en",
        invariant=1,  # no time stamp and no random id
    )
    frame = Frame(_LEFT, _BOTTOM, _WIDTH, A4[1] - _TOP - _BOTTOM, leftPadding=0, rightPadding=0)
    template.addPageTemplates(
        PageTemplate(frames=[frame], onPage=lambda canvas, _: _furniture(canvas, source))
    )
    template.build(_story(source))
    return buffer.getvalue()


def parse_source(text: str) -> Source:
    """Splits a source text into its description and its blocks."""
    head, *blocks = (block.strip() for block in re.split(r"\n[ \t]*\n", text.strip()))
    described = dict(line.partition(": ")[::2] for line in head.splitlines())
    missing = {"Title", "Number", "Issuer", "Date"} - set(described)
    if missing:
        raise ValueError(f"the source does not say its {', '.join(sorted(missing))}")
    return Source(
        title=described["Title"],
        number=described["Number"],
        issuer=described["Issuer"],
        date=described["Date"],
        blocks=tuple(block for block in blocks if block),
    )


def _story(source: Source) -> list[Flowable]:
    story: list[Flowable] = [
        Paragraph(escape(source.title), _STYLES["title"]),
        *(Paragraph(escape(line), _STYLES["cover"]) for line in (source.number, source.issuer, source.date)),
        Spacer(1, 6 * mm),
    ]
    story += [_flowable(block, number) for number, block in enumerate(source.blocks)]
    return story


def _flowable(block: str, number: int) -> Flowable:
    if block.startswith("|"):
        return _table(block)
    heading = _HEADING.fullmatch(block)
    if heading:
        return _Heading(heading[2], len(heading[1]), f"h{number}")
    numbered = _FIRST_NUMBER.match(block)
    style = "body" if not numbered else "paragraph" if numbered[1].isdigit() else "item"
    return Paragraph(escape(" ".join(block.split())), _STYLES[style])


def _table(block: str) -> Table:
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
    cells: list[list[Any]] = [[Paragraph(escape(cell), _STYLES["cell"]) for cell in row] for row in rows]
    return Table(
        cells,
        colWidths=[0.14 * _WIDTH, 0.60 * _WIDTH, 0.26 * _WIDTH],
        repeatRows=1,
        spaceBefore=4,
        spaceAfter=10,
        style=[
            ("GRID", (0, 0), (-1, -1), 0.5, colors.HexColor("#888888")),
            ("BACKGROUND", (0, 0), (-1, 0), colors.HexColor("#e8e8e8")),
            ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ],
    )


def _furniture(canvas: Canvas, source: Source) -> None:
    """Running header and footer of each page."""
    canvas.saveState()
    canvas.setFont("Helvetica", 8)
    canvas.drawString(_LEFT, A4[1] - 18 * mm, source.title)
    canvas.drawRightString(A4[0] - _LEFT, A4[1] - 18 * mm, source.number)
    canvas.drawString(_LEFT, 15 * mm, source.issuer)
    canvas.drawRightString(A4[0] - _LEFT, 15 * mm, f"Page {canvas.getPageNumber()}")
    canvas.restoreState()
