"""Runs of text with their boxes from one PDF page.

A run is a stretch of words drawn by one text object on one baseline. PDFium's page text gives words and line
breaks in one call; boxes are then asked for run by run, not character by character, because a call through
ctypes costs about a microsecond and a page has thousands of characters but some hundred runs.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from arbitration.parsing.shifted import is_shifted

_WORD = re.compile(r"[^\s\x00]+")
# PDFium writes U+FFFE or U+0002 for a hyphen at the end of a line and leaves the line break out.
_LINE = re.compile(r"[^\r\n\ufffe\x02]+[\ufffe\x02]?")
_BLANK = " \t\xa0\x00"
_SOFT_HYPHEN_MARKS = "\ufffe\x02"
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff\ud800-\udfff]")
_LIGATURES = str.maketrans(
    {
        "ﬀ": "ff",
        "ﬁ": "fi",
        "ﬂ": "fl",
        "ﬃ": "ffi",
        "ﬄ": "ffl",
        "ﬅ": "st",
        "ﬆ": "st",
        "\u00a0": " ",
        "\u00ad": "-",
    }
)

# Share of the font size that an average character may take before a run is suspected to hold a wide gap.
_WIDE_CHARACTER = 0.56
# A gap of this many font sizes between two words separates cells or columns.
CELL_GAP = 1.5
_UPRIGHT = 0.06  # radians (3.4 degrees) of skew that still counts as horizontal
_BOLD_WEIGHT = 600
_BOLD_NAME = re.compile(rb"bold|black|heavy|semibold|demi|cmbx|nimbusromno9l-medi", re.IGNORECASE)
_ITALIC_NAME = re.compile(rb"italic|oblique|cmti|regu?ital", re.IGNORECASE)
_FORCE_BOLD_FLAG = 1 << 18


@dataclass(frozen=True, slots=True)
class Style:
    """What one text object looks like.

    ``angle`` is in radians counter-clockwise on the page as shown; ``size`` is the font size in points as shown.
    """

    angle: float
    size: float
    bold: bool
    italic: bool
    render_mode: int
    fill: tuple[int, int, int, int] | None


@dataclass(slots=True)
class Run:
    """Words of one text object on one baseline; boxes in points from the top left of the page as shown.

    For text that is not horizontal the box is right, ``baseline`` and ``size`` are those of its own frame.
    """

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    baseline: float
    size: float
    style: Style
    text_object: int
    is_hidden: bool = False
    confidence: float | None = None  # of text recognition

    @property
    def width(self) -> float:
        """Width of the box in points."""
        return self.x1 - self.x0


@dataclass(slots=True)
class PageText:
    """The runs of one page in content order, and the boxes of the rules and frames that it draws."""

    page_num: int
    width: float
    height: float
    runs: list[Run]
    unreadable_share: float = 0.0
    rules: list[tuple[float, float, float, float]] = field(default_factory=list)


def bind(function: Any, result: Any, *arguments: Any) -> Callable[..., Any]:
    """The same C function with plain integer handles and without letting go of the lock: half the cost per call."""
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address is not None
    return ctypes.PYFUNCTYPE(result, *arguments)(address)


_handle, _int, _pointer = ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p
_get_text_object = bind(pdfium_c.FPDFText_GetTextObject, _handle, _handle, _int)
_get_loose_box = bind(pdfium_c.FPDFText_GetLooseCharBox, _int, _handle, _int, _pointer)
_get_tight_box = bind(
    pdfium_c.FPDFText_GetCharBox, _int, _handle, _int, _pointer, _pointer, _pointer, _pointer
)
_get_origin = bind(pdfium_c.FPDFText_GetCharOrigin, _int, _handle, _int, _pointer, _pointer)
_get_matrix = bind(pdfium_c.FPDFText_GetMatrix, _int, _handle, _int, _pointer)
_get_size = bind(pdfium_c.FPDFText_GetFontSize, ctypes.c_double, _handle, _int)
_get_unicode = bind(pdfium_c.FPDFText_GetUnicode, ctypes.c_uint, _handle, _int)
_get_render_mode = bind(pdfium_c.FPDFTextObj_GetTextRenderMode, _int, _handle)
_get_fill = bind(pdfium_c.FPDFPageObj_GetFillColor, _int, _handle, _pointer, _pointer, _pointer, _pointer)
_get_font = bind(pdfium_c.FPDFTextObj_GetFont, _handle, _handle)
_font_weight = bind(pdfium_c.FPDFFont_GetWeight, _int, _handle)
_font_flags = bind(pdfium_c.FPDFFont_GetFlags, _int, _handle)
_font_name = bind(pdfium_c.FPDFFont_GetBaseFontName, ctypes.c_size_t, _handle, _pointer, ctypes.c_size_t)


@dataclass(frozen=True, slots=True)
class PageFrame:
    """How a point of PDF user space falls on the page as shown: origin top left, y down, /Rotate applied."""

    left: float
    bottom: float
    right: float
    top: float
    quarter_turns: int

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the page as shown, in points."""
        width, height = self.right - self.left, self.top - self.bottom
        return (height, width) if self.quarter_turns % 2 else (width, height)

    def place(self, x: float, y: float) -> tuple[float, float]:
        """The point as shown, in points from the top left corner."""
        if self.quarter_turns == 0:
            return x - self.left, self.top - y
        if self.quarter_turns == 1:
            return y - self.bottom, x - self.left
        if self.quarter_turns == 2:
            return self.right - x, y - self.bottom
        return self.top - y, self.right - x

    def place_box(self, x0: float, y0: float, x1: float, y1: float) -> tuple[float, float, float, float]:
        """The box (x0 <= x1, y0 <= y1) as shown: left, top, right, bottom."""
        if self.quarter_turns == 0:
            return x0 - self.left, self.top - y1, x1 - self.left, self.top - y0
        ax, ay = self.place(x0, y0)
        bx, by = self.place(x1, y1)
        return min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)


def page_frame(page: pdfium.PdfPage) -> PageFrame:
    """The frame of a page from its visible box (media box cut by crop box) and its /Rotate."""
    box = pdfium_c.FS_RECTF()
    if not pdfium_c.FPDF_GetPageBoundingBox(page.raw, ctypes.byref(box)):
        width, height = page.get_size()
        return PageFrame(0.0, 0.0, width, height, 0)
    return PageFrame(box.left, box.bottom, box.right, box.top, page.get_rotation() // 90 % 4)


class FontStyles:
    """Bold and italic by font handle, asked once per font of a page."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[bool, bool]] = {}
        self._name = ctypes.create_string_buffer(256)

    def of(self, font: int | None) -> tuple[bool, bool]:
        """Whether the font is bold, and whether it is italic."""
        if not font:
            return False, False
        known = self._known.get(font)
        if known is None:
            known = self._known[font] = self._ask(font)
        return known

    def _ask(self, font: int) -> tuple[bool, bool]:
        _font_name(font, self._name, 256)
        name, flags = self._name.value, _font_flags(font)
        bold = bool(_BOLD_NAME.search(name)) or bool(flags & _FORCE_BOLD_FLAG)
        if not bold and _font_weight(font) >= _BOLD_WEIGHT:
            bold = True
        italic = bool(_ITALIC_NAME.search(name)) or bool(flags & 64)
        return bold, italic


class PageReader:
    """Reads the runs of one page. The page and its text page must stay open meanwhile."""

    def __init__(self, page: pdfium.PdfPage, text_page: pdfium.PdfTextPage, page_num: int) -> None:
        self._page_num = page_num
        self._frame = page_frame(page)
        self._handle = ctypes.cast(text_page.raw, ctypes.c_void_p).value
        self._text_page = text_page
        self._fonts = FontStyles()
        self._styles: dict[int, Style] = {}
        self._box = pdfium_c.FS_RECTF()
        self._box_ref = ctypes.addressof(self._box)
        self._doubles = [ctypes.c_double() for _ in range(4)]
        self._double_refs = [ctypes.addressof(value) for value in self._doubles]
        self._matrix = pdfium_c.FS_MATRIX()
        self._matrix_ref = ctypes.addressof(self._matrix)
        self._colours = [ctypes.c_uint() for _ in range(4)]
        self._colour_refs = [ctypes.addressof(value) for value in self._colours]

    def read(self) -> PageText:
        """All runs of the page, in content order."""
        text = self._characters()
        runs = [run for line in _LINE.finditer(text) for run in self._line_runs(text, *line.span())]
        width, height = self._frame.size
        unreadable = sum(text.count(mark) for mark in "\ufffd\x00") + len(re.findall("[\ue000-\uf8ff]", text))
        share = 1.0 if is_shifted(text) else unreadable / max(1, len(text))
        return PageText(self._page_num, width, height, runs, share)

    def _characters(self) -> str:
        """The page's text, index-aligned with PDFium's character indices."""
        count = pdfium_c.FPDFText_CountChars(self._text_page.raw)
        if count <= 0:
            return ""
        buffer = ctypes.create_string_buffer(2 * (count + 1))
        pointer = ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort))
        written = pdfium_c.FPDFText_GetText(self._text_page.raw, 0, count, pointer)
        text = buffer.raw[: 2 * max(written - 1, 0)].decode("utf-16-le", "surrogatepass")
        if written - 1 == count == len(text):
            return text
        # Characters without a Unicode value are left out of the text and others take two units:
        # only then is it worth asking for each one.
        codes = (_get_unicode(self._handle, index) for index in range(count))
        return "".join(chr(code) if code <= 0x10FFFF else "\x00" for code in codes)

    def _line_runs(self, text: str, start: int, end: int) -> Iterator[Run]:
        while start < end and text[start] in _BLANK:
            start += 1
        while end > start and text[end - 1] in _BLANK:
            end -= 1
        if start == end:
            return
        first = (start, _stop(text.find(" ", start, end), end))
        last = (text.rfind(" ", start, end) + 1 or start, end)
        text_object = self._object_of(first)
        if first == last or text_object == self._object_of(last):
            # Most lines are one text object: their words need not be looked at one by one.
            run = self._run(text, first, end, text_object)
            if run is not None:
                yield from self._parted(text, run, start, end)
            return
        words = [match.span() for match in _WORD.finditer(text, start, end)]
        objects: list[int | None] = [None] * len(words)
        objects[0], objects[-1] = self._object_of(words[0]), self._object_of(words[-1])
        spans: list[tuple[int, int]] = []
        self._split(words, objects, 0, len(words) - 1, spans)
        for low, high in spans:
            run = self._run(text, words[low], words[high][1], objects[low] or 0)
            if run is not None:
                yield from self._parted(text, run, words[low][0], words[high][1])

    def _parted(self, text: str, run: Run, start: int, end: int) -> Iterator[Run]:
        """The run, cut at its wide gaps if it is suspiciously wide: some writers draw a table row as one object."""
        if run.x1 - run.x0 <= _WIDE_CHARACTER * run.size * len(run.text) or " " not in run.text:
            yield run
            return
        pieces: list[Run] = []
        for match in _WORD.finditer(text, start, end):
            piece = self._run(text, match.span(), match.end(), run.text_object)
            if piece is None:
                continue
            if pieces and piece.x0 - pieces[-1].x1 < CELL_GAP * piece.size:
                piece.text = f"{pieces[-1].text} {piece.text}"
                piece.x0, piece.y0 = pieces[-1].x0, min(piece.y0, pieces[-1].y0)
                pieces[-1] = piece
            else:
                pieces.append(piece)
        yield from pieces

    def _object_of(self, word: tuple[int, int]) -> int:
        # The character in the middle: the first or last one may be the mark of a footnote.
        return _get_text_object(self._handle, (word[0] + word[1] - 1) // 2) or 0

    def _split(
        self,
        words: list[tuple[int, int]],
        objects: list[int | None],
        low: int,
        high: int,
        spans: list[tuple[int, int]],
    ) -> None:
        """Append the spans of consecutive words of one text object, found by bisection."""
        if objects[low] == objects[high]:
            if spans and spans[-1][1] == low - 1 and objects[spans[-1][0]] == objects[low]:
                spans[-1] = (spans[-1][0], high)
            else:
                spans.append((low, high))
            return
        if high - low == 1:
            self._split(words, objects, low, low, spans)
            self._split(words, objects, high, high, spans)
            return
        middle = (low + high) // 2
        objects[middle] = self._object_of(words[middle])
        self._split(words, objects, low, middle, spans)
        objects[middle + 1] = self._object_of(words[middle + 1])
        self._split(words, objects, middle + 1, high, spans)

    def _run(self, text: str, first: tuple[int, int], end: int, text_object: int) -> Run | None:
        """The run from the word ``first`` to ``end``; None when it holds nothing readable."""
        start = first[0]
        style = self._styles.get(text_object)
        if style is None:
            style = self._styles[text_object] = self._ask_style(text_object, (start + first[1] - 1) // 2)
        words = readable(text[start:end])
        if not words:
            return None
        if abs(style.angle) > _UPRIGHT:
            return self._turned_run(words, start, end - 1, style, text_object)
        box = self._box
        if not _get_loose_box(self._handle, start, self._box_ref):
            return None
        left, bottom, right, top = box.left, box.bottom, box.right, box.top
        if end - start > 1 and _get_loose_box(self._handle, end - 1, self._box_ref):
            left, bottom = min(left, box.left), min(bottom, box.bottom)
            right, top = max(right, box.right), max(top, box.top)
        x0, y0, x1, y1 = self._frame.place_box(left, bottom, right, top)
        size = _plausible_size(style.size, y1 - y0)
        return Run(words, x0, y0, x1, y1, self._baseline(start), size, style, text_object)

    def _turned_run(self, words: str, first: int, last: int, style: Style, text_object: int) -> Run:
        """A run that is not horizontal: PDFium's loose boxes are empty there, its tight ones are right."""
        boxes = [self._tight(first), self._tight(last)]
        x0, y0 = min(box[0] for box in boxes), min(box[1] for box in boxes)
        x1, y1 = max(box[2] for box in boxes), max(box[3] for box in boxes)
        size = style.size if style.size > 1.0 else min(x1 - x0, y1 - y0) or 1.0
        return Run(words, x0, y0, x1, y1, self._baseline(first), size, style, text_object)

    def _tight(self, index: int) -> tuple[float, float, float, float]:
        _get_tight_box(self._handle, index, *self._double_refs)
        left, right, bottom, top = (value.value for value in self._doubles)
        return self._frame.place_box(left, bottom, right, top)

    def _baseline(self, index: int) -> float:
        _get_origin(self._handle, index, self._double_refs[0], self._double_refs[1])
        return self._frame.place(self._doubles[0].value, self._doubles[1].value)[1]

    def _ask_style(self, text_object: int, index: int) -> Style:
        size = _get_size(self._handle, index)
        angle = 0.0
        if _get_matrix(self._handle, index, self._matrix_ref):
            matrix = self._matrix
            angle = math.atan2(matrix.b, matrix.a) - self._frame.quarter_turns * math.pi / 2
            angle = math.remainder(angle, 2 * math.pi)
            size *= math.hypot(matrix.c, matrix.d)
        if not text_object:
            return Style(angle, size, False, False, 0, None)
        fill = None
        if _get_fill(text_object, *self._colour_refs):
            red, green, blue, alpha = (colour.value for colour in self._colours)
            fill = (red, green, blue, alpha)
        bold, italic = self._fonts.of(_get_font(text_object))
        return Style(angle, size, bold, italic, _get_render_mode(text_object), fill)


def _stop(found: int, end: int) -> int:
    return end if found < 0 else found


def _plausible_size(nominal: float, height: float) -> float:
    """The nominal font size unless it is far from the height drawn, as with Type 3 fonts of odd scale."""
    if height <= 0:
        return nominal or 1.0
    return nominal if 0.4 * height <= nominal <= 3.0 * height else height


def readable(text: str) -> str:
    """The text with control characters and ligature glyphs replaced and white space reduced to single spaces."""
    if text and text[-1] in _SOFT_HYPHEN_MARKS:
        text = text[:-1] + "-"
    if text.isascii() and text.isprintable():
        return text if "  " not in text else " ".join(text.split())
    return " ".join(_NOT_TEXT.sub("", text).translate(_LIGATURES).split())
