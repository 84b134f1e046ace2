"""Text that a reader of the page does not see: flagged, so that people know and nothing trusts it.

Invisible by its own properties: render modes 3 and 7 (ISO 32000-1, 9.3.6), no opacity, tiny, off the page.
Invisible by its surroundings: the colour of the paper, or something opaque drawn over it; these two are confirmed
on a small rendering of the page, so that white text on a dark banner stays what it is.

The text layer of a scan is invisible too, but it is what the page shows, so it is not flagged.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from arbitration.parsing.pdf_text import PageFrame, PageText, Run, bind, page_frame

_INVISIBLE_MODES = frozenset({3, 7})
_TINY = 1.5  # points
_PAPER = 244  # every channel at least this bright: as good as white
_FAINT_ALPHA = 8
_MIN_COVER = 4.0  # points; thinner things are rules, not covers
_MAX_OBJECTS = 20_000
_MIN_CONTRAST = 24  # of 255
_SCAN_SHARE = 0.8
_SCAN_IMAGE_AREA = 0.3

_handle, _int, _pointer = ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p
_get_object = bind(pdfium_c.FPDFPage_GetObject, _handle, _handle, _int)
_get_type = bind(pdfium_c.FPDFPageObj_GetType, _int, _handle)
_get_bounds = bind(
    pdfium_c.FPDFPageObj_GetBounds, _int, _handle, _pointer, _pointer, _pointer, _pointer
)
_get_draw_mode = bind(pdfium_c.FPDFPath_GetDrawMode, _int, _handle, _pointer, _pointer)
_get_fill = bind(
    pdfium_c.FPDFPageObj_GetFillColor, _int, _handle, _pointer, _pointer, _pointer, _pointer
)
_has_transparency = bind(pdfium_c.FPDFPageObj_HasTransparency, _int, _handle)


@dataclass(frozen=True, slots=True)
class _Cover:
    """Something opaque on the page: its place in the drawing order and its box as shown."""

    order: int
    box: tuple[float, float, float, float]
    is_image: bool

    def covers(self, run: Run) -> bool:
        x0, y0, x1, y1 = self.box
        middle = (run.y0 + run.y1) / 2
        return x0 <= run.x0 + 1 and x1 >= run.x1 - 1 and y0 <= middle - 1 and y1 >= middle + 1

    def area(self) -> float:
        return (self.box[2] - self.box[0]) * (self.box[3] - self.box[1])


def flag_hidden(text: PageText, page: pdfium.PdfPage) -> bool:
    """Flag the hidden runs of a page.

    Returns True when the page's text is the invisible layer of a scan, which is then left unflagged.
    """
    if not text.runs:
        return False
    order, covers = _drawing_order(page)
    images = [cover for cover in covers if cover.is_image]
    unseen = [run for run in text.runs if run.style.render_mode in _INVISIBLE_MODES]
    covered = [run for run in text.runs if _is_covered(run, order, covers)]
    if _is_scan_layer(text, [*unseen, *(run for run in covered if _is_under_image(run, order, images))], images):
        return True
    for run in text.runs:
        run.is_hidden = run.style.render_mode in _INVISIBLE_MODES or _is_lost(run, text)
    doubtful = [run for run in text.runs if not run.is_hidden and (run in covered or _is_paper(run))]
    if doubtful:
        _flag_without_contrast(doubtful, order, images, page)
    return False


def _is_lost(run: Run, text: PageText) -> bool:
    """Tiny, fully transparent or outside the visible page."""
    fill = run.style.fill
    transparent = fill is not None and fill[3] <= _FAINT_ALPHA and run.style.render_mode == 0
    outside = run.x1 <= 0 or run.y1 <= 0 or run.x0 >= text.width or run.y0 >= text.height
    return transparent or outside or run.size < _TINY


def _is_paper(run: Run) -> bool:
    fill = run.style.fill
    return fill is not None and min(fill[:3]) >= _PAPER and run.style.render_mode in (0, 4)


def _is_covered(run: Run, order: dict[int, int], covers: Sequence[_Cover]) -> bool:
    place = order.get(run.text_object)
    return place is not None and any(cover.order > place and cover.covers(run) for cover in covers)


def _is_under_image(run: Run, order: dict[int, int], images: Sequence[_Cover]) -> bool:
    return _is_covered(run, order, images)


def _is_scan_layer(text: PageText, unseen: Sequence[Run], images: Sequence[_Cover]) -> bool:
    characters = sum(len(run.text) for run in text.runs)
    if sum(len(run.text) for run in unseen) < _SCAN_SHARE * characters:
        return False
    area = text.width * text.height
    return any(image.area() >= _SCAN_IMAGE_AREA * area for image in images)


def _drawing_order(page: pdfium.PdfPage) -> tuple[dict[int, int], list[_Cover]]:
    """Place of each text object in the drawing order, and the opaque things of the page."""
    handle = ctypes.cast(page.raw, ctypes.c_void_p).value
    count = pdfium_c.FPDFPage_CountObjects(page.raw)
    if count > _MAX_OBJECTS:
        return {}, []
    order: dict[int, int] = {}
    covers: list[_Cover] = []
    frame = page_frame(page)
    for index in range(count):
        item = _get_object(handle, index)
        kind = _get_type(item)
        if kind == pdfium_c.FPDF_PAGEOBJ_TEXT:
            order[item] = index
        elif kind in (pdfium_c.FPDF_PAGEOBJ_PATH, pdfium_c.FPDF_PAGEOBJ_IMAGE):
            cover = _cover(item, kind == pdfium_c.FPDF_PAGEOBJ_IMAGE, index, frame)
            if cover is not None:
                covers.append(cover)
    return order, covers


def _cover(item: int, is_image: bool, index: int, frame: PageFrame) -> _Cover | None:  # noqa: FBT001
    edges = [ctypes.c_float() for _ in range(4)]
    if not _get_bounds(item, *(ctypes.addressof(edge) for edge in edges)):
        return None
    left, bottom, right, top = (edge.value for edge in edges)
    if right - left < _MIN_COVER or top - bottom < _MIN_COVER:
        return None
    if not is_image and not _is_filled(item):
        return None
    if _has_transparency(item):
        return None
    return _Cover(index, frame.place_box(left, bottom, right, top), is_image)


def _is_filled(path: int) -> bool:
    fill_mode, stroke = ctypes.c_int(), ctypes.c_int()
    if not _get_draw_mode(path, ctypes.addressof(fill_mode), ctypes.addressof(stroke)) or not fill_mode.value:
        return False
    channels = [ctypes.c_uint() for _ in range(4)]
    return bool(_get_fill(path, *(ctypes.addressof(channel) for channel in channels))) and channels[3].value > 250


def _flag_without_contrast(
    runs: Sequence[Run], order: dict[int, int], images: Sequence[_Cover], page: pdfium.PdfPage
) -> None:
    """Flag the runs that leave no mark on a rendering of the page, and those under an image."""
    bitmap = page.render(scale=1.0, grayscale=True, may_draw_forms=False)
    try:
        pixels, stride = bytes(bitmap.buffer), bitmap.stride
        for run in runs:
            if _is_under_image(run, order, images):
                run.is_hidden = True
                continue
            left, right = max(int(run.x0), 0), min(int(run.x1) + 1, bitmap.width)
            rows = range(max(int(run.y0), 0), min(int(run.y1) + 1, bitmap.height))
            cut = b"".join(pixels[row * stride + left : row * stride + right] for row in rows)
            if cut and max(cut) - min(cut) < _MIN_CONTRAST:
                run.is_hidden = True
    finally:
        bitmap.close()
