"""Small Word documents made for one test each; all wording is ours."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from xml.sax.saxutils import escape

from arbitration.parsing.docx import draft_of_docx
from arbitration.parsing.drafts import Draft
from arbitration.parsing.limits import ParseLimits

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
HEAD = f'<w:document xmlns:w="{_W}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"><w:body>'
TAIL = "</w:body></w:document>"
STYLES = f"""<w:styles xmlns:w="{_W}">
<w:docDefaults><w:rPrDefault><w:rPr><w:sz w:val="20"/></w:rPr></w:rPrDefault></w:docDefaults>
<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="H2"><w:name w:val="heading 2"/><w:basedOn w:val="H1"/>
<w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style>
</w:styles>"""
NUMBERING = f"""<w:numbering xmlns:w="{_W}"><w:abstractNum w:abstractNumId="0">
<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl>
<w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="lowerRoman"/><w:lvlText w:val="(%3)"/></w:lvl>
</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>"""


def run(words: str, properties: str = "") -> str:
    """A ``w:r``; ``properties`` is the inside of its ``w:rPr``."""
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{escape(words)}</w:t></w:r>'


def paragraph(*runs: str, style: str = "", level: int | None = None, bold: bool = False) -> str:
    """A ``w:p`` of runs or plain words; with ``level`` it is numbered."""
    inside = "".join(item if item.startswith("<") else run(item, "<w:b/>" if bold else "") for item in runs)
    numbered = (
        f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr>' if level is not None else ""
    )
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{numbered}</w:pPr>{inside}</w:p>"


def table(*rows: tuple[str, ...]) -> str:
    """A ``w:tbl``; a cell is words or the XML of its paragraphs."""
    inside = "".join(
        "<w:tr>"
        + "".join(f"<w:tc>{cell if cell.startswith('<') else paragraph(cell)}</w:tc>" for cell in row)
        + "</w:tr>"
        for row in rows
    )
    return f"<w:tbl>{inside}</w:tbl>"


def package(body: str, parts: Mapping[str, str] | None = None) -> bytes:
    """A DOCX with the given body."""
    files = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "word/document.xml": HEAD + body + TAIL,
        "word/styles.xml": STYLES,
        "word/numbering.xml": NUMBERING,
        **(parts or {}),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


def read(body: str, parts: Mapping[str, str] | None = None) -> Draft:
    """The draft of a DOCX with the given body, read in this process."""
    return draft_of_docx(package(body, parts), limits=ParseLimits())
