"""Text that a reader of the page does not see: flagged, so that people know and nothing trusts it.

Invisible by its own properties: render modes 3 and 7 (ISO 32000-1, 9.3.6), no opacity, tiny, off the page.
Invisible by its surroundings: the colour of the paper, or something opaque drawn over it; these two are confirmed
on a small rendering of the page, so that white text on a dark banner stays what it is.

The text layer of a scan is invisible too, but it is what the page shows, so it is not flagged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pypdfium2 as pdfium

from arbitration.parsing.pdf_objects import Cover, PageObjects
from arbitration.parsing.pdf_text import PageText, Run

_INVISIBLE_MODES = frozenset({3, 7})
_TINY = 1.5  # points
_PAPER = 244  # every channel at least this bright: as good as white
_FAINT_ALPHA = 8
_MIN_CONTRAST = 24  # of 255
_NEAR_COLOUR = 56  # of 255; the thin strokes of small type do not reach their full colour
_COARSE, _FINE = (
    1.0,
    2.0,
)  # pixels per point; contrast shows on either, a colour in thin strokes on the finer one
_BAND = 24.0  # points
_FAR = 20_000.0  # points; beyond any page
_SCAN_SHARE = 0.8
_SCAN_IMAGE_AREA = 0.3


@dataclass(slots=True)
class HiddenTextFinder:
    """Flags hidden runs, page after page of one document.

    Renderings are the costly part, so only ``renderings_left`` pages get one; on later pages white text counts as
    seen where an image or something dark lies behind it, and covered text as hidden.
    """

    renderings_left: int = 40

    def flag(self, text: PageText, objects: PageObjects, page: pdfium.PdfPage) -> bool:
        """Flag the hidden runs of a page.

        Returns True when the page's text is the invisible layer of a scan, which is then left unflagged.
        """
        images = [cover for cover in objects.covers if cover.is_image]
        covers = _CoverIndex(objects)
        invisible = {id(run) for run in text.runs if run.style.render_mode in _INVISIBLE_MODES}
        under_image = (
            {id(run) for run in text.runs if covers.hides(run, images_only=True)} if images else set()
        )
        if _is_scan_layer(text, invisible | under_image, images):
            return True
        pale: list[Run] = []
        covered: list[Run] = []
        for run in text.runs:
            run.is_hidden = id(run) in invisible or id(run) in under_image or _is_lost(run, text)
            if run.is_hidden:
                continue
            if covers.hides(run):
                covered.append(run)
            elif _is_paper(run) and not covers.backs(run):
                pale.append(run)
        if pale or covered:
            self._settle(pale, covered, covers, page)
        return False

    def _settle(self, pale: list[Run], covered: list[Run], covers: _CoverIndex, page: pdfium.PdfPage) -> None:
        if self.renderings_left > 0:
            self.renderings_left -= 1
            _flag_unseen([*pale, *covered], page, scale=_FINE if covered else _COARSE)
            return
        for run in covered:
            run.is_hidden = True
        for run in pale:
            run.is_hidden = not covers.backs(run, images_too=True)


def _is_lost(run: Run, text: PageText) -> bool:
    """Tiny, fully transparent or outside the visible page."""
    fill = run.style.fill
    transparent = fill is not None and fill[3] <= _FAINT_ALPHA and run.style.render_mode == 0
    outside = run.x1 <= 0 or run.y1 <= 0 or run.x0 >= text.width or run.y0 >= text.height
    return transparent or outside or run.size < _TINY


def _is_paper(run: Run) -> bool:
    fill = run.style.fill
    return fill is not None and min(fill[:3]) >= _PAPER and run.style.render_mode in (0, 4)


class _CoverIndex:
    """The opaque things of a page by the height at which they lie."""

    def __init__(self, objects: PageObjects) -> None:
        self._order = objects.order
        self._bands: dict[int, list[Cover]] = {}
        for cover in objects.covers:
            for band in range(
                int(max(cover.box[1], -_FAR) // _BAND), int(min(cover.box[3], _FAR) // _BAND) + 1
            ):
                self._bands.setdefault(band, []).append(cover)

    def hides(self, run: Run, *, images_only: bool = False) -> bool:
        """Whether something opaque is drawn over the run after it."""
        place = self._order.get(run.text_object)
        if place is None:
            return False
        for cover in self._bands.get(int((run.y0 + run.y1) / 2 // _BAND), ()):
            if cover.order > place and (cover.is_image or not images_only) and _covers(cover, run):
                return True
        return False

    def backs(self, run: Run, *, images_too: bool = False) -> bool:
        """Whether the run stands on something dark (or an image) that is drawn before it."""
        place = self._order.get(run.text_object)
        if place is None:
            return False
        for cover in self._bands.get(int((run.y0 + run.y1) / 2 // _BAND), ()):
            if (
                cover.order < place
                and (cover.is_dark or (images_too and cover.is_image))
                and _covers(cover, run)
            ):
                return True
        return False


def _covers(cover: Cover, run: Run) -> bool:
    x0, y0, x1, y1 = cover.box
    if x0 > run.x0 + 1 or x1 < run.x1 - 1:
        return False
    middle = (run.y0 + run.y1) / 2
    return y0 <= middle - 1 and y1 >= middle + 1


def _is_scan_layer(text: PageText, unseen: set[int], images: Sequence[Cover]) -> bool:
    if not unseen or not images:
        return False
    characters = sum(len(run.text) for run in text.runs)
    if sum(len(run.text) for run in text.runs if id(run) in unseen) < _SCAN_SHARE * characters:
        return False
    return any(image.area >= _SCAN_IMAGE_AREA * text.width * text.height for image in images)


def _flag_unseen(runs: Sequence[Run], page: pdfium.PdfPage, *, scale: float) -> None:
    """Flag the runs of which a rendering of the page shows nothing: no contrast, or nothing of their colour."""
    bitmap = page.render(scale=scale, grayscale=True, may_draw_forms=False)
    try:
        pixels, stride = bytes(bitmap.buffer), bitmap.stride
        for run in runs:
            x0, y0, x1, y1 = (scale * edge for edge in (run.x0, run.y0, run.x1, run.y1))
            left, right = max(int(x0), 0), min(int(x1) + 1, bitmap.width)
            rows = range(max(int(y0), 0), min(int(y1) + 1, bitmap.height))
            cut = b"".join(pixels[row * stride + left : row * stride + right] for row in rows)
            run.is_hidden = bool(cut) and not _shows(cut, _grey(run))
    finally:
        bitmap.close()


def _grey(run: Run) -> int:
    """The run's colour as a grey from 0 (black) to 255, weighted as in ITU-R BT.601."""
    red, green, blue = (run.style.fill or (0, 0, 0, 255))[:3]
    return (299 * red + 587 * green + 114 * blue) // 1000


def _shows(pixels: bytes, grey: int) -> bool:
    darkest, brightest = min(pixels), max(pixels)
    if brightest - darkest < _MIN_CONTRAST:
        return False
    return darkest - _NEAR_COLOUR <= grey <= brightest + _NEAR_COLOUR
