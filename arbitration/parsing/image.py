"""PNG, JPEG and TIFF: each picture becomes a page of a PDF, which is then drawn and recognised like a scan."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

from arbitration.errors import ParseFailure
from arbitration.parsing.drafts import Draft
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.package import damage_reported
from arbitration.parsing.pdf import draft_of_pdf
from arbitration.parsing.recognised import NOTHING_RECOGNISED, Recognised

_FORMATS = ("PNG", "JPEG", "TIFF")
_MAX_PIXELS = 80_000_000  # of one picture: A3 at 600 dpi has 70 million
_KEPT_PIXELS = 16_000_000
_STATED_DPI = (100.0, 1200.0)  # outside of it what a picture says of its resolution is a program's default
_USUAL_DPI = 144.0  # a picture that names none is recognised pixel by pixel
_QUALITY = 92


def draft_of_image(data: bytes, *, limits: ParseLimits, recognised: Recognised = NOTHING_RECOGNISED) -> Draft:
    """A page for each picture in the file, with the text that was ``recognised`` on it.

    Raises :class:`ParseFailure` (``corrupt``, ``too_large``, ``too_many_pages``)."""
    draft = draft_of_pdf(pdf_of_image(data, limits=limits), limits=limits, recognised=recognised)
    # A picture names no author's title and has no text layer to miss.
    warnings = [warning for warning in draft.warnings if not warning.endswith("has no text layer")]
    return replace(draft, kind="image", title=None, warnings=warnings)


def pdf_of_image(data: bytes, *, limits: ParseLimits, only: int | None = None) -> bytes:
    """The pictures of a file as pages of a PDF; with ``only`` a PDF of that page (1-based) alone."""
    from PIL import Image

    with damage_reported("a picture program"):
        try:
            picture = Image.open(io.BytesIO(data), formats=_FORMATS)
        except Image.DecompressionBombError as error:
            raise _too_large() from error
        count = getattr(picture, "n_frames", 1)
        if count > limits.max_ocr_pages:
            raise ParseFailure(
                "too_many_pages",
                f"The file holds {count} pictures; at most {limits.max_ocr_pages} are read. Split it.",
            )
        wanted = range(count) if only is None else [only - 1]
        if only is not None and not 1 <= only <= count:
            raise ParseFailure("no_such_page", f"There is no page {only}: the file has {count}.")
        return _joined([_page(picture, number) for number in wanted])


def _page(picture: Any, number: int) -> bytes:
    """One picture as a PDF of one page: upright, on white where it is transparent."""
    from PIL import Image, ImageOps

    picture.seek(number)
    width, height = picture.size
    if width * height > _MAX_PIXELS:  # before a pixel of it is unfolded
        raise _too_large()
    dpi = _dpi(picture)
    shown = ImageOps.exif_transpose(picture)
    if shown.has_transparency_data:
        ground = Image.new("RGBA", shown.size, "white")
        ground.alpha_composite(shown.convert("RGBA"))
        shown = ground
    shown = shown.convert("L" if shown.mode in ("1", "L") else "RGB")
    shrink = (_KEPT_PIXELS / (width * height)) ** 0.5
    if shrink < 1:
        shown = shown.resize((max(int(shown.width * shrink), 1), max(int(shown.height * shrink), 1)))
        dpi *= shrink
    out = io.BytesIO()
    shown.save(out, "PDF", resolution=dpi, quality=_QUALITY)
    return out.getvalue()


def _too_large() -> ParseFailure:
    return ParseFailure(
        "too_large",
        f"The picture has more than {_MAX_PIXELS / 1e6:.0f} million pixels, the most that are read. Make it smaller.",
    )


def _dpi(picture: Any) -> float:
    stated = picture.info.get("dpi", (0, 0))
    try:
        dpi = float(stated[0])
    except (TypeError, ValueError, IndexError, ZeroDivisionError):
        return _USUAL_DPI
    return dpi if _STATED_DPI[0] <= dpi <= _STATED_DPI[1] else _USUAL_DPI


def _joined(pages: list[bytes]) -> bytes:
    if len(pages) == 1:
        return pages[0]
    import pypdfium2 as pdfium

    whole = pdfium.PdfDocument.new()
    for page in pages:
        part = pdfium.PdfDocument(page)
        whole.import_pages(part)
        part.close()
    out = io.BytesIO()
    whole.save(out)
    whole.close()
    return out.getvalue()
