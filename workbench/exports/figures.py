"""Page images with the evidence boxed, as they go into an export."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw

from workbench.documents.drawings import page_image_now
from workbench.documents.models import Document
from workbench.documents.selectors import page_view
from workbench.runs.models import Candidate
from workbench.runs.records import anchor_of

#: Pixels: a page is read on paper at about 130 dots an inch.
WIDTH = 1080
#: So many page images a record holds; more would make a file that nobody can mail.
MOST = 60
_EDGE, _FILL = (168, 50, 40, 255), (214, 158, 46, 60)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxedPage:
    """A page with boxes; ``candidates`` are those whose evidence is boxed on it, ``top`` and ``bottom`` the pixels
    between which the boxes lie."""

    document: Document
    page_num: int
    image: bytes
    candidates: tuple[Candidate, ...]
    top: int
    bottom: int


def boxed_pages(candidates: Sequence[Candidate]) -> tuple[list[BoxedPage], int]:
    """Each page that holds evidence once, with the boxes of all candidates on it, and the number left out.

    A page without an image (a text, a web page) has none, and so has one whose lines have no known place: the
    text of the evidence stands in its card.
    """
    places: dict[tuple[int, int], list[Candidate]] = {}
    for candidate in candidates:
        for page_num in range(candidate.anchor_page_start, candidate.anchor_page_end + 1):
            places.setdefault((candidate.document_id, page_num), []).append(candidate)
    shown: list[BoxedPage] = []
    for (_document, page_num), here in list(places.items())[:MOST]:
        if (page := _boxed_page(page_num, here)) is not None:
            shown.append(page)
    return shown, max(len(places) - MOST, 0)


#: Pixels above and below the evidence on a clip, and how tall one may be.
_AROUND, _TALLEST = 26, 330


def clip_of(candidate: Candidate) -> bytes | None:
    """The strip of the page on which the evidence begins, its lines boxed; None where the page has no image."""
    page = _boxed_page(candidate.anchor_page_start, [candidate])
    if page is None:
        return None
    image = Image.open(io.BytesIO(page.image))
    top = max(0, page.top - _AROUND)
    bottom = min(image.height, page.bottom + _AROUND, top + _TALLEST)
    body = io.BytesIO()
    image.crop((0, top, image.width, bottom)).save(body, "JPEG", quality=80, optimize=True)
    return body.getvalue()


def _boxed_page(page_num: int, candidates: list[Candidate]) -> BoxedPage | None:
    document = candidates[0].document
    boxes: list[tuple[float, float, float, float]] = []
    width = 0.0
    for candidate in candidates:
        scope = anchor_of(candidate)
        view = page_view(
            document=document,
            page_num=page_num,
            anchor=((scope.page_start, scope.line_start), (scope.page_end, scope.line_end)),
        )
        width = view.width
        boxes += [line.box for line in view.lines if line.is_marked and line.box]
    if not boxes or not width or (image := page_image_now(document=document, page_num=page_num)) is None:
        return None
    drawn, scale = _drawn(image, boxes, points_wide=width)
    return BoxedPage(
        document=document,
        page_num=page_num,
        image=drawn,
        candidates=tuple(candidates),
        top=round(min(top for _left, top, _width, _height in boxes) * scale),
        bottom=round(max(top + height for _left, top, _width, height in boxes) * scale),
    )


def _drawn(
    png: bytes, boxes: list[tuple[float, float, float, float]], *, points_wide: float
) -> tuple[bytes, float]:
    page = Image.open(io.BytesIO(png)).convert("RGB")
    if page.width > WIDTH:
        page = page.resize((WIDTH, round(page.height * WIDTH / page.width)), Image.Resampling.LANCZOS)
    scale = page.width / points_wide
    veil = Image.new("RGBA", page.size, (0, 0, 0, 0))
    pen = ImageDraw.Draw(veil)
    for left, top, width, height in boxes:
        corners = (left * scale - 2, top * scale - 2, (left + width) * scale + 2, (top + height) * scale + 2)
        pen.rectangle(corners, fill=_FILL, outline=_EDGE, width=2)
    body = io.BytesIO()
    Image.alpha_composite(page.convert("RGBA"), veil).convert("RGB").save(
        body, "JPEG", quality=78, optimize=True
    )
    return body.getvalue(), scale
