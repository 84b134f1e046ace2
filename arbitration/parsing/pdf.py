"""PDF to lines, pages and headings, with pypdfium2."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from arbitration.errors import ParseFailure, PasswordRequired
from arbitration.parsing.blocks import mark_blocks
from arbitration.parsing.drafts import Draft, DraftLine, DraftPage, TocEntry, TocSource
from arbitration.parsing.furniture import mark_furniture
from arbitration.parsing.headings import find_headings
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.pdf_hidden import HiddenTextFinder
from arbitration.parsing.pdf_layout import PageLayout, lines_of, look_at, usual_columns
from arbitration.parsing.pdf_objects import read_objects
from arbitration.parsing.pdf_outline import read_outline
from arbitration.parsing.pdf_text import PageReader, PageText

USABLE_OUTLINE = 4  # entries
_UNREADABLE = 0.3
_MAX_LISTED = 20


def open_pdf(source: Path | bytes, *, password: str | None = None) -> pdfium.PdfDocument:
    """The open document, from a path or from its bytes.

    Raises :class:`PasswordRequired` (``encrypted`` or ``wrong_password``) and :class:`ParseFailure` (``corrupt``).
    """
    try:
        document = pdfium.PdfDocument(source, password=password)
        empty = len(document) == 0
    except pdfium.PdfiumError as error:
        raise _open_failure(error, password) from error
    if empty:
        raise ParseFailure(
            "corrupt", "The PDF holds no page. Save or export it again and upload the new file."
        )
    return document


def _open_failure(error: pdfium.PdfiumError, password: str | None) -> ParseFailure:
    if error.err_code == pdfium_c.FPDF_ERR_PASSWORD:
        if password:
            return PasswordRequired(
                "wrong_password", "The password does not open this PDF. Check it and try again."
            )
        return PasswordRequired("encrypted", "The PDF is encrypted. Give its password to open it.")
    if error.err_code == pdfium_c.FPDF_ERR_SECURITY:
        return ParseFailure(
            "unsupported_type",
            "The PDF uses a kind of encryption that cannot be read. Upload a copy without it.",
        )
    return ParseFailure(
        "corrupt", "The PDF is damaged and cannot be opened. Open it in a PDF program and save it again."
    )


def parse_pdf(path: Path, *, limits: ParseLimits, password: str | None = None) -> Draft:
    """The document as a draft. Raises what :func:`draft_of_pdf` raises."""
    return draft_of_pdf(path, limits=limits, password=password)


def draft_of_pdf(source: Path | bytes, *, limits: ParseLimits, password: str | None = None) -> Draft:
    """The document as a draft. Raises what :func:`open_pdf` raises, and ``too_many_pages`` or ``too_large``."""
    document = open_pdf(source, password=password)
    try:
        if len(document) > limits.max_pages:
            raise ParseFailure(
                "too_many_pages",
                f"The PDF has {len(document)} pages; at most {limits.max_pages} are read. Split it.",
            )
        return _parse(document, limits)
    finally:
        document.close()


def _parse(document: pdfium.PdfDocument, limits: ParseLimits) -> Draft:
    warnings: list[str] = []
    layouts = list(_layouts(document, limits, warnings))
    usual = usual_columns(layouts)
    pages: list[DraftPage] = []
    lines: list[DraftLine] = []
    for layout in layouts:
        page, page_lines = lines_of(layout, usual=usual)
        pages.append(page)
        lines.extend(page_lines)
    mark_furniture(pages, lines)
    _mark_blocks_by_page(lines)
    toc, source = _table_of_contents(document, lines, warnings)
    title = document.get_metadata_value("Title") or None
    return Draft("pdf", pages, lines, toc, source, title, warnings)


def _layouts(document: pdfium.PdfDocument, limits: ParseLimits, warnings: list[str]) -> Iterator[PageLayout]:
    """One layout per page; a page that cannot be loaded gives an empty one and a warning."""
    characters = 0
    empty: list[int] = []
    broken: list[int] = []
    unreadable: list[int] = []
    scanned: list[int] = []
    hidden: list[int] = []
    finder = HiddenTextFinder()
    for index in range(len(document)):
        number = index + 1
        text, is_scan = _read_page(document, index, finder)
        if text is None:
            broken.append(number)
            yield look_at(PageText(number, 612.0, 792.0, []))
            continue
        characters += sum(len(run.text) for run in text.runs)
        if characters > limits.max_characters:
            raise ParseFailure(
                "too_large",
                f"The PDF holds more than {limits.max_characters:,} characters of text. Split it and upload the parts.",
            )
        for present, numbers in (
            (not text.runs, empty),
            (text.unreadable_share > _UNREADABLE, unreadable),
            (is_scan, scanned),
            (any(run.is_hidden for run in text.runs), hidden),
        ):
            if present:
                numbers.append(number)
        yield look_at(text)
    warnings.extend(f"page {number} has no text layer" for number in empty)
    warnings.extend(f"page {number} is damaged and was left out" for number in broken)
    warnings.extend(_about(unreadable, "text may be unreadable: its font names no characters"))
    warnings.extend(_about(scanned, "text comes from the invisible layer of a scan"))
    warnings.extend(_about(hidden, "holds text that a reader does not see; it is flagged and not searched"))


def _about(numbers: list[int], message: str) -> list[str]:
    if not numbers:
        return []
    listed = ", ".join(str(number) for number in numbers[:_MAX_LISTED])
    rest = f" and {len(numbers) - _MAX_LISTED} more" if len(numbers) > _MAX_LISTED else ""
    return [f"page{'s' if len(numbers) > 1 else ''} {listed}{rest}: {message}"]


def _read_page(
    document: pdfium.PdfDocument, index: int, finder: HiddenTextFinder
) -> tuple[PageText | None, bool]:
    """The page's text (None when the page is damaged), and whether it is the layer of a scan."""
    try:
        page = document[index]
    except pdfium.PdfiumError:
        return None, False
    try:
        text_page = page.get_textpage()
    except pdfium.PdfiumError:
        page.close()
        return None, False
    try:
        text = PageReader(page, text_page, index + 1).read()
        if not text.runs:
            return text, False
        objects = read_objects(page)
        text.rules = objects.rules
        return text, finder.flag(text, objects, page)
    finally:
        text_page.close()
        page.close()


def _mark_blocks_by_page(lines: list[DraftLine]) -> None:
    start = 0
    for place in range(1, len(lines) + 1):
        if place == len(lines) or lines[place].page_num != lines[start].page_num:
            mark_blocks(lines[start:place])
            start = place


def _table_of_contents(
    document: pdfium.PdfDocument, lines: list[DraftLine], warnings: list[str]
) -> tuple[list[TocEntry], TocSource]:
    """The native outline when it is usable, else headings by their look."""
    entries = read_outline(document)
    targeted = sum(1 for entry in entries if entry.page_num is not None)
    if len(entries) >= USABLE_OUTLINE and targeted >= 0.5 * len(entries):
        if targeted < len(entries):
            warnings.append(f"{len(entries) - targeted} of {len(entries)} outline entries name no page")
        return entries, "outline"
    if entries and len(entries) >= USABLE_OUTLINE:
        warnings.append("the outline names no pages; headings were read from the text instead")
    headings = find_headings(lines)
    return headings, "headings" if headings else "none"
