"""The text of a pair, read from its document: nothing of it is kept beside the labels."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from workbench.documents.models import Line, Section

from .models import Pair

#: Lines shown before and after the passage.
AROUND = 4


@dataclass(frozen=True, slots=True)
class ReadLine:
    """A line as the annotator sees it; ``is_passage`` marks the lines to judge."""

    page_num: int
    line_num: int
    text: str
    is_passage: bool
    is_hidden: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """A passage with what stands around it; ``breadcrumb`` leads from the outermost section to its own. ``lines`` is
    empty where the text was erased with its document."""

    lines: tuple[ReadLine, ...]
    breadcrumb: tuple[str, ...]


def pair_reading(pair: Pair) -> Reading:
    """The pair's lines and their surroundings. Two queries."""
    before = Q(page_num=pair.page_start, line_num__gte=pair.line_start - AROUND)
    after = Q(page_num=pair.page_end, line_num__lte=pair.line_end + AROUND)
    if pair.page_start == pair.page_end:
        span = before & after
    else:
        span = before | after | Q(page_num__gt=pair.page_start, page_num__lt=pair.page_end)
    rows = [
        row
        for row in Line.objects.filter(span, document_id=pair.document_id).order_by("page_num", "line_num")
        if not row.is_furniture
    ]
    lines = tuple(
        ReadLine(
            page_num=row.page_num,
            line_num=row.line_num,
            text=row.text,
            is_passage=_is_inside(pair, row),
            is_hidden=row.is_hidden,
        )
        for row in rows
    )
    inside = next((row for row in rows if _is_inside(pair, row) and row.section_id), None)
    return Reading(lines=lines, breadcrumb=_breadcrumb(pair, inside.section_id if inside else ""))


def _is_inside(pair: Pair, row: Line) -> bool:
    place = (row.page_num, row.line_num)
    return (pair.page_start, pair.line_start) <= place <= (pair.page_end, pair.line_end)


def _breadcrumb(pair: Pair, section_id: str) -> tuple[str, ...]:
    if not section_id:
        return ()
    section = Section.objects.filter(document_id=pair.document_id, section_id=section_id).first()
    return tuple(section.breadcrumb.split(" › ")) if section else ()
