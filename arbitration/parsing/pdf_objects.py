"""What a page draws besides text: things that may cover text, and the rules of tables."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from arbitration.parsing.pdf_text import PageFrame, bind, page_frame

_THIN = 4.0  # points; thinner things are rules, not covers
_MIN_RULE = 8.0  # points
_MAX_OBJECTS = 20_000
_MANY_SHAPES = 80
_MIN_IMAGE = 0.02  # of the page's area
_OPAQUE = 250
_DARK = 200  # of 255

_handle, _int, _pointer = ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p
_get_object = bind(pdfium_c.FPDFPage_GetObject, _handle, _handle, _int)
_get_type = bind(pdfium_c.FPDFPageObj_GetType, _int, _handle)
_get_bounds = bind(pdfium_c.FPDFPageObj_GetBounds, _int, _handle, *[_pointer] * 4)
_get_draw_mode = bind(pdfium_c.FPDFPath_GetDrawMode, _int, _handle, _pointer, _pointer)
_get_fill = bind(pdfium_c.FPDFPageObj_GetFillColor, _int, _handle, *[_pointer] * 4)
_has_transparency = bind(pdfium_c.FPDFPageObj_HasTransparency, _int, _handle)

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Cover:
    """Something opaque: its place in the drawing order and its box as shown.

    ``is_dark`` is set where it differs from the paper, so that white text drawn on it shows.
    """

    order: int
    box: Box
    is_image: bool
    is_dark: bool

    @property
    def area(self) -> float:
        """Square points."""
        return (self.box[2] - self.box[0]) * (self.box[3] - self.box[1])


@dataclass(slots=True)
class PageObjects:
    """``order`` maps text objects to their place in the drawing order; ``rules`` holds thin lines and empty frames."""

    order: dict[int, int] = field(default_factory=dict)
    covers: list[Cover] = field(default_factory=list)
    rules: list[Box] = field(default_factory=list)


class _Reader:
    """Asks PDFium about objects, with buffers made once per page."""

    def __init__(self, frame: PageFrame) -> None:
        self._frame = frame
        self._edges = [ctypes.c_float() for _ in range(4)]
        self._edge_refs = [ctypes.addressof(edge) for edge in self._edges]
        self._channels = [ctypes.c_uint() for _ in range(4)]
        self._channel_refs = [ctypes.addressof(channel) for channel in self._channels]
        self._modes = [ctypes.c_int() for _ in range(2)]
        self._mode_refs = [ctypes.addressof(mode) for mode in self._modes]

    def box(self, item: int) -> Box | None:
        """The object's box as shown."""
        if not _get_bounds(item, *self._edge_refs):
            return None
        left, bottom, right, top = (edge.value for edge in self._edges)
        return self._frame.place_box(left, bottom, right, top)

    def is_opaque_fill(self, path: int) -> bool:
        """Whether a path is filled with an opaque colour."""
        if not _get_draw_mode(path, *self._mode_refs) or not self._modes[0].value:
            return False
        if not _get_fill(path, *self._channel_refs) or self._channels[3].value < _OPAQUE:
            return False
        return not _has_transparency(path)

    def last_fill_is_dark(self) -> bool:
        """Whether the fill asked for last stands out from white."""
        return min(channel.value for channel in self._channels[:3]) < _DARK


def read_objects(page: pdfium.PdfPage) -> PageObjects:
    """The objects of a page's own content. A page of more than 20,000 objects (a map, a drawing) is not looked into."""
    found = PageObjects()
    count = pdfium_c.FPDFPage_CountObjects(page.raw)
    if count > _MAX_OBJECTS:
        return found
    handle = ctypes.cast(page.raw, ctypes.c_void_p).value
    reader = _Reader(page_frame(page))
    for index in range(count):
        item = _get_object(handle, index)
        kind = _get_type(item)
        if kind == pdfium_c.FPDF_PAGEOBJ_TEXT:
            found.order[item] = index
        elif kind == pdfium_c.FPDF_PAGEOBJ_PATH:
            _add_path(found, reader, item, index)
        elif kind == pdfium_c.FPDF_PAGEOBJ_IMAGE:
            box = reader.box(item)
            if box is not None and not _has_transparency(item):
                found.covers.append(Cover(index, box, is_image=True, is_dark=False))
    return found


def shows_something(page: pdfium.PdfPage) -> bool:
    """Whether a page without text may show some: an image of some size, or very many shapes (letters as curves)."""
    count = pdfium_c.FPDFPage_CountObjects(page.raw)
    if count >= _MANY_SHAPES:
        return True
    handle = ctypes.cast(page.raw, ctypes.c_void_p).value
    frame = page_frame(page)
    reader = _Reader(frame)
    least = _MIN_IMAGE * frame.size[0] * frame.size[1]
    for index in range(count):
        item = _get_object(handle, index)
        if _get_type(item) in (pdfium_c.FPDF_PAGEOBJ_IMAGE, pdfium_c.FPDF_PAGEOBJ_FORM):
            box = reader.box(item)
            if box is not None and (box[2] - box[0]) * (box[3] - box[1]) >= least:
                return True
    return False


def _add_path(found: PageObjects, reader: _Reader, item: int, index: int) -> None:
    box = reader.box(item)
    if box is None:
        return
    width, height = box[2] - box[0], box[3] - box[1]
    if min(width, height) < _THIN:
        if max(width, height) >= _MIN_RULE:
            found.rules.append(box)
    elif reader.is_opaque_fill(item):
        found.covers.append(Cover(index, box, is_image=False, is_dark=reader.last_fill_is_dark()))
    else:
        found.rules.append(box)
