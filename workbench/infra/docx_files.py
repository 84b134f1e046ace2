"""DOCX files that the product writes: the page they begin with, and text as XML can hold it."""

from __future__ import annotations

from docx import Document
from docx.document import Document as DocxDocument
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Length, Mm

from workbench.direction import shown

from .exports import MEDIA_TYPES

MEDIA_TYPE = MEDIA_TYPES["docx"]
#: What XML cannot hold; the rest of Unicode may stand in a file.
_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127, 0xFFFE, 0xFFFF))


_SIDE = Mm(20)


def docx_file(*, title: str, language: str, side: Length = _SIDE) -> DocxDocument:
    """An empty A4 document, its margins left and right as wide as ``side``, with the language for the spelling check
    and screen readers."""
    file = Document()
    page = file.sections[0]
    page.page_width, page.page_height = Mm(210), Mm(297)
    page.left_margin = page.right_margin = side
    page.top_margin = page.bottom_margin = Mm(20)
    spoken = OxmlElement("w:lang")
    spoken.set(qn("w:val"), language)
    file.styles["Normal"].element.get_or_add_rPr().append(spoken)
    file.core_properties.title = docx_text(title)[:255]
    file.core_properties.author = "Arbiter Workbench"
    file.core_properties.language = language
    return file


def docx_text(text: str) -> str:
    """What a document or a person wrote, as plain text that the file can hold."""
    return shown(text.translate(_CONTROLS))
