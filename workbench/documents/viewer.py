"""What every page viewer shows (``_page_image.html`` and ``_viewer_aside.html``): a page with its lines and boxes, what
a search found in the document, small images of the pages that hold it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from workbench.accounts.models import User
from workbench.infra.addresses import number_in, words_in

from .drawings import Picture, page_picture
from .finding import Found, Hit, document_find, pieces
from .models import Document
from .pages import SCALE, SMALL_SCALE, can_be_drawn, small_image_there
from .selectors import PageView, PlacedLine

#: Pages of which a small image is shown.
MOST_SMALL = 12


@dataclass(frozen=True, slots=True)
class Finding:
    """A search of the document that is being read: what it found, and which hit is looked at (None: none)."""

    text: str = ""
    found: Found = field(default_factory=Found)
    chosen: int | None = None

    @property
    def hit(self) -> Hit | None:
        """The hit that is looked at."""
        return None if self.chosen is None else self.found.hits[self.chosen]


NO_FINDING = Finding()


def finding_of(*, document: Document, query: QueryDict) -> Finding:
    """The search that an address asks for (``q``), and the hit it names (``hit``); of a new search, which names no
    page, the first one from page ``near`` on, else the first."""
    text = words_in(query.get("q", "")).strip()
    if not text:
        return NO_FINDING
    found = document_find(document=document, text=text)
    if not found.hits:
        return Finding(text)
    number = number_in(query.get("hit"))
    if number is not None:
        return Finding(text, found, min(number, len(found.hits) - 1))
    if query.get("page"):
        return Finding(text, found)
    near = number_in(query.get("near")) or 1
    following = (at for at, hit in enumerate(found.hits) if hit.page_num >= near)
    return Finding(text, found, next(following, 0))


def page_asked(*, document: Document, query: QueryDict, finding: Finding, otherwise: int = 1) -> int:
    """The page that an address names, else that of the hit, else ``otherwise``; the nearest one that there is."""
    number = number_in(query.get("page"))
    if number is None:
        number = finding.hit.page_num if finding.hit else otherwise
    return max(1, min(number, document.page_count or 1))


def viewer(
    view: PageView,
    *,
    user: User,
    address: str,
    box_note: str = "",
    finding: Finding = NO_FINDING,
    kept: Mapping[str, str] | None = None,
    page_parameter: str = "page",
    evidence_pages: Iterable[int] = (),
    add_url: str = "",
) -> dict[str, Any]:
    """A page with its lines; ``address`` is the page's own, without query, and ``kept`` what of its query stays while
    turning pages, whose number is ``page_parameter``. ``evidence_pages`` hold evidence; at ``add_url`` lines become
    evidence. The image is asked for, where nobody has had it drawn."""
    document, number = view.document, view.page_num
    picture = page_picture(document=document, page_num=number, user=user) if view.has_image else None
    on_page = {hit.line_num: hit for hit in finding.found.hits if hit.page_num == number}
    chosen = finding.hit.line_num if finding.hit and finding.hit.page_num == number else 0
    turned = dict(kept or {}) | ({"q": finding.text} if finding.text else {})
    return {
        "page": sheet(view, picture)
        | {"count": view.page_count, "address": address, "parameter": page_parameter},
        "kept": list(turned.items()),
        "lines": [line_shown(line, on_page.get(line.line_num), chosen) for line in view.lines],
        "box_note": box_note,
        "previous_page_url": _url(address, turned, **{page_parameter: view.previous})
        if view.previous
        else "",
        "next_page_url": _url(address, turned, **{page_parameter: view.next}) if view.next else "",
        "cite_url": reverse("documents:citation", args=[document.pk]),
        "add_url": add_url,
        "search": _search(finding, address=address, kept=kept or {}, number=number),
        "small": _small(view, finding, evidence=set(evidence_pages), address=address, kept=kept or {}),
    }


def _search(finding: Finding, *, address: str, kept: Mapping[str, str], number: int) -> dict[str, Any]:
    """The search box and its hits, each with its place, its line marked and the lines beside it."""
    hits = finding.found.hits
    urls = [_hit_url(address, kept, finding.text, at, hit) for at, hit in enumerate(hits)]
    at = finding.chosen
    if at is None:  # a page without a chosen hit: the way goes on from it
        after = next((i for i, hit in enumerate(hits) if hit.page_num >= number), None)
        before = max((i for i, hit in enumerate(hits) if hit.page_num < number), default=None)
    else:
        before, after = (at - 1 if at else None), (at + 1 if at + 1 < len(hits) else None)
    return {
        "address": address,
        "kept": list(kept.items()),
        "near": number,
        "q": finding.text,
        "clear_url": _url(address, kept, page=number),
        "count": len(hits),
        "has_more": finding.found.has_more,
        "index": None if at is None else at + 1,
        "previous_url": "" if before is None else urls[before],
        "next_url": "" if after is None else urls[after],
        "hits": [
            {
                "url": url,
                "scope": _scope(hit),
                "text": hit.text,
                "parts": pieces(hit.text, hit.spans),
                "before": hit.before,
                "after": hit.after,
                "is_current": place == at,
            }
            for place, (hit, url) in enumerate(zip(hits, urls, strict=True))
        ],
    }


def _scope(hit: Hit) -> dict[str, int]:
    page, line = hit.page_num, hit.line_num
    return {"page_start": page, "page_end": page, "line_start": line, "line_end": line}


def _small(
    view: PageView, finding: Finding, *, evidence: set[int], address: str, kept: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The pages that hold hits or evidence, where there is more than the page that is shown."""
    document, hits = view.document, finding.found.hits
    first: dict[int, int] = {}
    counts: dict[int, int] = {}
    for at, hit in enumerate(hits):
        first.setdefault(hit.page_num, at)
        counts[hit.page_num] = counts.get(hit.page_num, 0) + 1
    pages = sorted({*first, *evidence})
    if not pages or pages == [view.page_num]:
        return []
    return [
        {
            "number": page,
            "url": _hit_url(address, kept, finding.text, first[page], hits[first[page]])
            if page in first
            else _url(address, kept, page=page),
            "hits": counts.get(page, 0),
            "has_evidence": page in evidence,
            "is_shown": page == view.page_num,
            **_small_image(document, page),
        }
        for page in pages[:MOST_SMALL]
    ]


def _small_image(document: Document, page: int) -> dict[str, str]:
    """Where the small image is, or is asked for when it comes into view."""
    if not can_be_drawn(document, page):
        return {"image_url": "", "picture_url": ""}
    place = [document.pk, page]
    if small_image_there(document, page):
        return {"image_url": f"{reverse('documents:page-image', args=place)}?size=small", "picture_url": ""}
    return {"image_url": "", "picture_url": f"{reverse('documents:page-picture', args=place)}?size=small"}


def _hit_url(address: str, kept: Mapping[str, str], text: str, at: int, hit: Hit) -> str:
    url = _url(address, kept, page=hit.page_num, q=text, hit=at)
    return f"{url}#p{hit.page_num}-l{hit.line_num}"


def _url(address: str, kept: Mapping[str, str], **query: object) -> str:
    return f"{address}?{urlencode(dict(kept) | query)}"


def sheet(view: PageView, picture: Picture | None) -> dict[str, Any]:
    """A page's image, or what stands in its place (``_page_picture.html``)."""
    place = [view.document.pk, view.page_num]
    return {
        "number": view.page_num,
        "image_url": reverse("documents:page-image", args=place) if picture and picture.state else "",
        "picture_url": reverse("documents:page-picture", args=place),
        "picture": picture,
        "width": view.width,
        "height": view.height,
        "pixel_width": round(view.width * SCALE),
        "pixel_height": round(view.height * SCALE),
    }


def small_sheet(view: PageView, picture: Picture) -> dict[str, Any]:
    """The small image of a page, or what stands in its place (``_page_small.html``)."""
    page = sheet(view, picture)
    return page | {
        "image_url": f"{page['image_url']}?size=small" if picture.state else "",
        "picture_url": f"{page['picture_url']}?size=small",
        "pixel_width": round(view.width * SMALL_SCALE),
        "pixel_height": round(view.height * SMALL_SCALE),
    }


def line_shown(line: PlacedLine, hit: Hit | None = None, chosen: int = 0) -> dict[str, Any]:
    """A line of the list, and its box."""
    x0, y0, width, height = line.box or (None, None, None, None)
    return {
        "dom_id": f"p{line.page_num}-l{line.line_num}",
        "number": line.line_num,
        "text": line.text,
        "parts": pieces(line.text, hit.spans) if hit else None,
        "x0": x0,
        "y0": y0,
        "width": width,
        "height": height,
        "mark": "anchor" if line.is_marked else "context" if line.is_context else "",
        "hit": "" if hit is None else "current" if line.line_num == chosen else "other",
        "confidence": None if line.confidence is None else round(100 * line.confidence),
        "flag": "hidden" if line.is_hidden else "furniture" if line.is_furniture else "",
        "change": line.mark,
        "author": line.author,
    }
