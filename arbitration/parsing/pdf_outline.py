"""The native outline (bookmarks) of a PDF, read with guards against loops, depth and bad destinations."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from arbitration.parsing.drafts import TocEntry
from arbitration.parsing.pdf_text import PageFrame, page_frame

MAX_DEPTH = 16
MAX_ENTRIES = 10_000
_MAX_TITLE = 500
_VIEWS_WITH_TOP = {
    pdfium_c.PDFDEST_VIEW_XYZ: 1,
    pdfium_c.PDFDEST_VIEW_FITH: 0,
    pdfium_c.PDFDEST_VIEW_FITBH: 0,
    pdfium_c.PDFDEST_VIEW_FITR: 3,
}


def read_outline(document: pdfium.PdfDocument) -> list[TocEntry]:
    """Entries in outline order, level 1 for the top; ``page_num`` is None where the destination is missing.

    Every bookmark is visited once, so a loop ends; deeper levels than ``MAX_DEPTH`` and entries beyond
    ``MAX_ENTRIES`` are left out.
    """
    frames: dict[int, PageFrame] = {}
    entries: list[TocEntry] = []
    for bookmark, level in _bookmarks(document):
        title = _title(bookmark)
        index, x, y = _target(document, bookmark, frames)
        page_num = index + 1 if 0 <= index < len(document) else None
        entries.append(TocEntry(title, level, page_num, y=y, x=x))
        if len(entries) >= MAX_ENTRIES:
            break
    return entries


def _bookmarks(document: pdfium.PdfDocument) -> Iterator[tuple[pdfium_c.FPDF_BOOKMARK, int]]:
    """Bookmarks depth first with their level."""
    seen: set[int] = set()
    pending = [(pdfium_c.FPDFBookmark_GetFirstChild(document.raw, None), 1)]
    while pending:
        bookmark, level = pending.pop()
        address = ctypes.cast(bookmark, ctypes.c_void_p).value
        if address is None or address in seen:
            continue
        seen.add(address)
        yield bookmark, level
        pending.append((pdfium_c.FPDFBookmark_GetNextSibling(document.raw, bookmark), level))
        if level < MAX_DEPTH:
            pending.append((pdfium_c.FPDFBookmark_GetFirstChild(document.raw, bookmark), level + 1))


def _title(bookmark: pdfium_c.FPDF_BOOKMARK) -> str:
    size = pdfium_c.FPDFBookmark_GetTitle(bookmark, None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    pdfium_c.FPDFBookmark_GetTitle(bookmark, buffer, size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace")[: 4 * _MAX_TITLE]


def _target(
    document: pdfium.PdfDocument, bookmark: pdfium_c.FPDF_BOOKMARK, frames: dict[int, PageFrame]
) -> tuple[int, float | None, float | None]:
    """Page index (-1 when missing) and, where given, x and y in points from the top left."""
    destination = pdfium_c.FPDFBookmark_GetDest(document.raw, bookmark)
    if not destination:
        return -1, None, None
    index = pdfium_c.FPDFDest_GetDestPageIndex(document.raw, destination)
    if not 0 <= index < len(document):
        return -1, None, None
    count, values = ctypes.c_ulong(), (ctypes.c_float * 4)()
    view = pdfium_c.FPDFDest_GetView(destination, ctypes.byref(count), values)
    place = _VIEWS_WITH_TOP.get(view)
    if place is None or count.value <= place:
        return index, None, None
    if view == pdfium_c.PDFDEST_VIEW_XYZ and not _has_y(destination):
        return index, None, None
    if index not in frames:
        page = document[index]
        frames[index] = page_frame(page)
        page.close()
    frame = frames[index]
    left = values[0] if view in (pdfium_c.PDFDEST_VIEW_XYZ, pdfium_c.PDFDEST_VIEW_FITR) else frame.left
    x, y = frame.place(left, values[place])
    inside = -20.0 <= y <= frame.size[1] + 20.0
    return index, x, min(max(y, 0.0), frame.size[1]) if inside else None


def _has_y(destination: pdfium_c.FPDF_DEST) -> bool:
    has_x, has_y, has_zoom = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    x, y, zoom = ctypes.c_float(), ctypes.c_float(), ctypes.c_float()
    places = [ctypes.byref(flag) for flag in (has_x, has_y, has_zoom)]
    places.extend(ctypes.byref(value) for value in (x, y, zoom))
    return bool(pdfium_c.FPDFDest_GetLocationInPage(destination, *places)) and bool(has_y.value)
