"""Compares two documents of a collection, or two places in one, and marks the words that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _

from arbitration.line_differences import Span, differing_words
from workbench.accounts.models import User
from workbench.infra.addresses import number_in
from workbench.infra.crumbs import crumbs

from .citing import position_in
from .finding import pieces
from .models import Document, Line
from .selectors import Position, lines_between, page_view, readable_document_for
from .viewer import viewer

#: Words of both texts together beyond which no difference is worked out.
LONGEST = 6_000
_MOST_LINES = 1_000
SIDES = ("left", "right")
Place = tuple[Position, Position]


@dataclass(frozen=True, slots=True)
class Side:
    """A document, its page shown, the lines compared, and their differing words."""

    document: Document
    page_num: int
    lines: tuple[Line, ...]
    marks: Mapping[Position, tuple[Span, ...]]

    @property
    def count(self) -> int:
        """The number of differing runs of words."""
        return sum(len(spans) for spans in self.marks.values())


@dataclass(frozen=True, slots=True)
class Pair:
    """Both sides. ``is_too_long`` if the texts are too long to compare."""

    left: Side
    right: Side
    is_too_long: bool
    has_places: bool


def beside_url(left: tuple[int, Place | None], right: tuple[int, Place | None]) -> str:
    """The address of a comparison of two places, each given by document key and lines."""
    query = {
        side: f"{place[0][0]}:{place[0][1]}-{place[1][0]}:{place[1][1]}"
        for side, (_pk, place) in zip(SIDES, (left, right), strict=True)
        if place
    }
    address = reverse("documents:beside", args=[left[0], right[0]])
    return f"{address}?{urlencode(query)}" if query else address


def pair_for(*, user: User, left: int, right: int, query: Mapping[str, str]) -> Pair:
    """Two documents of one collection that the user can read; else 404, as if they did not exist. ``query`` may name
    the lines of each (``left`` and ``right`` as page:line-page:line). Otherwise whole pages are compared (``page`` and
    ``right_page``)."""
    one = readable_document_for(user=user, pk=left)
    others = Document.objects.visible_to(user).readable().select_related("collection", "uploaded_by")
    other = get_object_or_404(others, pk=right, collection=one.collection_id)
    places = [_place(query.get(side, "")) for side in SIDES]
    sides = [
        _side(document, place, query.get(name, ""))
        for document, place, name in zip((one, other), places, ("page", "right_page"), strict=True)
    ]
    return _compared(*sides, has_places=any(places))


def _place(raw: str) -> Place | None:
    """The lines named in an address."""
    first, _dash, last = raw.partition("-")
    ends = position_in(first), position_in(last)
    return (ends[0], ends[1]) if ends[0] and ends[1] and ends[0] <= ends[1] else None


def _side(document: Document, place: Place | None, page: str) -> Side:
    number = place[0][0] if place else number_in(page) or 1
    number = max(1, min(number, document.page_count or 1))
    first, last = place or ((number, 1), (number, 2**31 - 1))
    lines = lines_between(document=document, first=first, last=last).filter(is_hidden=False)
    return Side(document, number, tuple(lines[:_MOST_LINES]), {})


def _compared(left: Side, right: Side, *, has_places: bool) -> Pair:
    texts = [[line.text for line in side.lines] for side in (left, right)]
    if sum(len(text.split()) for lines in texts for text in lines) > LONGEST:
        return Pair(left, right, is_too_long=True, has_places=has_places)
    marks = differing_words(*texts)
    left, right = (
        replace(side, marks=_by_place(side.lines, spans))
        for side, spans in zip((left, right), marks, strict=True)
    )
    return Pair(left, right, is_too_long=False, has_places=has_places)


def _by_place(lines: Sequence[Line], spans: Sequence[tuple[Span, ...]]) -> dict[Position, tuple[Span, ...]]:
    return {(line.page_num, line.line_num): marks for line, marks in zip(lines, spans, strict=True) if marks}


# --- the page ---------------------------------------------------------------------------------------


def beside_page(*, pair: Pair, user: User) -> dict[str, Any]:
    """Both viewers, and the number of differences."""
    left, right = pair.left, pair.right
    address = reverse("documents:beside", args=[left.document.pk, right.document.pk])
    pages = {"page": str(left.page_num), "right_page": str(right.page_num)}
    return {
        "pair": pair,
        "collection": left.document.collection,
        "sides": [
            _shown(
                side,
                has_places=pair.has_places,
                user=user,
                address=address,
                kept=_without(pages, name),
                parameter=name,
                part=part,
                tag=tag,
            )
            for side, name, part, tag in (
                (left, "page", "old", "del"),
                (right, "right_page", "new", "ins"),
            )
        ],
        "pages_url": f"{address}?{urlencode(pages)}" if pair.has_places else "",
        "crumbs": crumbs(
            (_("Collections"), reverse("documents:collections")),
            left.document.collection,
            left.document,
            here=_("Side by side"),
        ),
    }


def _without(pages: Mapping[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in pages.items() if key != name}


def _shown(
    side: Side,
    *,
    has_places: bool,
    user: User,
    address: str,
    kept: Mapping[str, str],
    parameter: str,
    part: str,
    tag: str,
) -> dict[str, Any]:
    view = page_view(document=side.document, page_num=side.page_num)
    shown = viewer(view, user=user, address=address, kept=kept, page_parameter=parameter)
    compared = {(line.page_num, line.line_num) for line in side.lines} if has_places else set()
    for line in shown["lines"]:
        place = (side.page_num, line["number"])
        marks = side.marks.get(place, ())
        line["differs"] = bool(marks)
        if marks:
            line["parts"] = pieces(line["text"], marks, kind=tag)
        elif place in compared and line["mark"] == "":
            line["mark"] = "context"
    return {
        "document": side.document,
        "url": f"{side.document.get_absolute_url()}?page={side.page_num}",
        "part": part,
        "viewer": shown,
    }
