"""PDF to lines, pages and headings, with pypdfium2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
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
from arbitration.parsing.pdf_objects import PageObjects, read_objects, shows_something
from arbitration.parsing.pdf_outline import read_outline
from arbitration.parsing.pdf_recognised import page_of_lines
from arbitration.parsing.pdf_text import PageReader, PageText, page_frame
from arbitration.parsing.recognised import NOTHING_RECOGNISED, Recognised, RecognisedLine

USABLE_OUTLINE = 4  # entries
_UNREADABLE = 0.3
_FEW_CHARACTERS = 120
_IMAGE_SHARE = 0.5  # of the page's area
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


def draft_of_pdf(
    source: Path | bytes,
    *,
    limits: ParseLimits,
    password: str | None = None,
    recognised: Recognised = NOTHING_RECOGNISED,
) -> Draft:
    """The document as a draft; pages among ``recognised`` take their text from there.

    Raises what :func:`open_pdf` raises, and ``too_many_pages`` or ``too_large``."""
    document = open_pdf(source, password=password)
    try:
        if len(document) > limits.max_pages:
            raise ParseFailure(
                "too_many_pages",
                f"The PDF has {len(document)} pages; at most {limits.max_pages} are read. Split it.",
            )
        return _parse(document, limits, recognised)
    finally:
        document.close()


def _parse(document: pdfium.PdfDocument, limits: ParseLimits, recognised: Recognised) -> Draft:
    found = _Findings()
    layouts = list(_layouts(document, limits, recognised, found))
    warnings = found.warnings()
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
    return Draft("pdf", pages, lines, toc, source, title, warnings, found.unread)


@dataclass(slots=True)
class _Findings:
    """Pages (1-based) of which people are told something."""

    empty: list[int] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)
    unreadable: list[int] = field(default_factory=list)
    scanned: list[int] = field(default_factory=list)
    hidden: list[int] = field(default_factory=list)
    recognised: list[int] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)

    def note(self, number: int, read: _ReadPage) -> None:
        """Take in what one page turned out to be."""
        text = read.text
        if text is None:
            self.broken.append(number)
            return
        unreadable = text.unreadable_share > _UNREADABLE
        for present, numbers in (
            (not text.runs, self.empty),
            (unreadable, self.unreadable),
            (read.is_scan_layer, self.scanned),
            (any(run.is_hidden for run in text.runs), self.hidden),
            (read.is_recognised, self.recognised),
            (unreadable or read.shows, self.unread),
        ):
            if present:
                numbers.append(number)

    def warnings(self) -> list[str]:
        """What people are told, in words."""
        return [
            *(f"page {number} has no text layer" for number in self.empty),
            *(f"page {number} is damaged and was left out" for number in self.broken),
            *_about(self.unreadable, "text may be unreadable: its font names no characters"),
            *_about(self.scanned, "text comes from the invisible layer of a scan"),
            *_about(self.hidden, "holds text that a reader does not see; it is flagged and not searched"),
            *_about(
                self.recognised, "text was recognised on the image of the page (OCR); see the confidence"
            ),
        ]


@dataclass(slots=True)
class _ReadPage:
    """One page. ``text`` is None when it is damaged; ``shows`` is set when its image says more than its text."""

    text: PageText | None
    is_scan_layer: bool = False
    is_recognised: bool = False
    shows: bool = False


def _layouts(
    document: pdfium.PdfDocument, limits: ParseLimits, recognised: Recognised, found: _Findings
) -> Iterator[PageLayout]:
    """One layout per page; a page that cannot be loaded gives an empty one."""
    characters = 0
    finder = HiddenTextFinder()
    for number in range(1, len(document) + 1):
        read = _read_page(document, number - 1, finder, recognised.get(number))
        found.note(number, read)
        if read.text is None:
            yield look_at(PageText(number, 612.0, 792.0, []))
            continue
        characters += sum(len(run.text) for run in read.text.runs)
        if characters > limits.max_characters:
            raise ParseFailure(
                "too_large",
                f"The PDF holds more than {limits.max_characters:,} characters of text. Split it and upload the parts.",
            )
        yield look_at(read.text)


def _about(numbers: list[int], message: str) -> list[str]:
    if not numbers:
        return []
    listed = ", ".join(str(number) for number in numbers[:_MAX_LISTED])
    rest = f" and {len(numbers) - _MAX_LISTED} more" if len(numbers) > _MAX_LISTED else ""
    return [f"page{'s' if len(numbers) > 1 else ''} {listed}{rest}: {message}"]


def _read_page(
    document: pdfium.PdfDocument,
    index: int,
    finder: HiddenTextFinder,
    recognised: Sequence[RecognisedLine] | None,
) -> _ReadPage:
    """The text of one page: what the file holds, or what was recognised on its image."""
    try:
        page = document[index]
    except pdfium.PdfiumError:
        return _ReadPage(None)
    try:
        if recognised:
            width, height = page_frame(page).size
            return _ReadPage(page_of_lines(index + 1, width, height, recognised), is_recognised=True)
        text_page = page.get_textpage()
    except pdfium.PdfiumError:
        page.close()
        return _ReadPage(None)
    try:
        text = PageReader(page, text_page, index + 1).read()
        if not text.runs:
            return _ReadPage(text, shows=shows_something(page))
        objects = read_objects(page)
        text.rules = objects.rules
        is_layer = finder.flag(text, objects, page)
        return _ReadPage(text, is_scan_layer=is_layer, shows=_is_mostly_image(text, objects))
    finally:
        text_page.close()
        page.close()


def _is_mostly_image(text: PageText, objects: PageObjects) -> bool:
    """Whether a page is an image with a few words on it, such as a stamp on a scan."""
    if sum(len(run.text) for run in text.runs) > _FEW_CHARACTERS:
        return False
    least = _IMAGE_SHARE * text.width * text.height
    return any(cover.is_image and cover.area >= least for cover in objects.covers)


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
