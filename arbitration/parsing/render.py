"""One page as an image, so that a browser never gets the original: of a PDF, also an attached one, or of a picture."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import pypdfium2 as pdfium
from PIL import Image

from arbitration.errors import ParseFailure
from arbitration.parsing.kinds import EXTENSIONS
from arbitration.parsing.limits import ImageFormat, ParseLimits
from arbitration.parsing.pdf import open_pdf

MAX_SCALE = 8.0
#: A page of text has a few hundred shades: as a palette it has a third of the bytes, and looks the same.
FEW_COLOURS = 1024


def render_here(
    source: bytes,
    *,
    page_num: int,
    scale: float,
    limits: ParseLimits,
    image_format: ImageFormat = "png",
    password: str | None = None,
    filename: str = "page.pdf",
) -> bytes:
    """The page (1-based) as PNG or WebP; ``scale`` is pixels per point.

    A page that would exceed ``limits.max_pixels`` is drawn smaller. Raises :class:`ParseFailure` (``no_such_page``,
    ``corrupt``) and what ``open_pdf`` raises.
    """
    with _bitmap(source, page_num, scale, limits, password, filename) as (bitmap, _):
        buffer = io.BytesIO()
        image = bitmap.to_pil().convert("RGB")
        if image_format == "png" and image.getcolors(FEW_COLOURS) is not None:
            image = image.quantize(256, dither=Image.Dither.NONE)
        image.save(buffer, **_options(image_format))
        return buffer.getvalue()


@dataclass(frozen=True, slots=True)
class DrawnPage:
    """``pixels`` is an array of (height, width, 3), blue first; ``scale`` is pixels per point."""

    pixels: Any
    scale: float


def drawn_page(
    source: bytes, *, page_num: int, scale: float, limits: ParseLimits, password: str | None, filename: str
) -> DrawnPage:
    """The page (1-based) as pixels, for text recognition. Raises what :func:`render_here` raises."""
    with _bitmap(source, page_num, scale, limits, password, filename) as (bitmap, actual):
        return DrawnPage(bitmap.to_numpy()[:, :, :3].copy(), actual)


@contextmanager
def _bitmap(
    source: bytes, page_num: int, scale: float, limits: ParseLimits, password: str | None, filename: str
) -> Iterator[tuple[pdfium.PdfBitmap, float]]:
    """The page as PDFium draws it, and the scale that the limit on pixels allowed."""
    pdf, page_num = _pdf_with(source, filename, page_num, limits, password)
    document = open_pdf(pdf, password=password)
    try:
        if not 1 <= page_num <= len(document):
            raise ParseFailure(
                "no_such_page", f"There is no page {page_num}: the document has {len(document)}."
            )
        try:
            page = document[page_num - 1]
            width, height = page.get_size()
            actual = _bounded(scale, width, height, limits.max_pixels)
            bitmap = page.render(scale=actual)
        except (pdfium.PdfiumError, ValueError) as error:
            raise ParseFailure("corrupt", f"Page {page_num} is damaged and cannot be drawn.") from error
        yield bitmap, actual
    finally:
        document.close()


def _pdf_with(
    source: bytes, filename: str, page_num: int, limits: ParseLimits, password: str | None
) -> tuple[bytes, int]:
    """The PDF that holds the page, and the page's number there."""
    kind = EXTENSIONS.get(PurePath(filename).suffix.lower())
    if kind == "image":
        from arbitration.parsing.image import pdf_of_image

        return pdf_of_image(source, limits=limits, only=page_num), 1
    if kind not in ("email", "msg"):
        return source, page_num
    from arbitration.parsing.mail import page_source

    found = page_source(source, page_num, kind=kind, limits=limits, password=password)
    if found is None:
        raise ParseFailure("no_such_page", f"Page {page_num} of this message is text and has no image.")
    return found.pdf, found.page_num


def _bounded(scale: float, width: float, height: float, max_pixels: int) -> float:
    wanted = min(max(scale, 0.05), MAX_SCALE)
    area = max(width, 1.0) * max(height, 1.0)
    return min(wanted, math.sqrt(max_pixels / area))


def _options(image_format: ImageFormat) -> dict[str, object]:
    if image_format == "webp":
        return {"format": "WEBP", "quality": 85, "method": 2}
    return {"format": "PNG", "compress_level": 4}
