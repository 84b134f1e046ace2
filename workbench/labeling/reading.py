"""The text of a pair, read from its document: nothing of it is kept beside the labels."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.db.models import Q

from workbench.documents.models import Line, Section, readable
from workbench.documents.selectors import PageView, page_size, placed_line

from .models import Pair

#: Lines shown before and after the passage.
AROUND = 4


@dataclass(frozen=True, slots=True)
class Reading:
    """A passage with what stands around it, as a page shows it: the image is of one page, the lines are those of all
    that the passage stands on. ``breadcrumb`` leads from the outermost section to its own. ``view.lines`` is empty
    where the document was deleted."""

    view: PageView
    breadcrumb: tuple[str, ...]


def pair_reading(pair: Pair, *, page_num: int | None = None) -> Reading:
    """The pair's lines and their surroundings, on one of its pages, the first by default. Three queries."""
    before = Q(page_num=pair.page_start, line_num__gte=pair.line_start - AROUND)
    after = Q(page_num=pair.page_end, line_num__lte=pair.line_end + AROUND)
    if pair.page_start == pair.page_end:
        span = before & after
    else:
        span = before | after | Q(page_num__gt=pair.page_start, page_num__lt=pair.page_end)
    lines = Line.objects.filter(span, readable("document"), document_id=pair.document_id)
    rows = [row for row in lines.order_by("page_num", "line_num") if not row.is_furniture]
    shown = min(max(page_num or pair.page_start, pair.page_start), pair.page_end)
    view = page_size(document=pair.document, page_num=shown)
    placed = [placed_line(row, page=view, is_marked=_is_inside(pair, row)) for row in rows]
    inside = next((row for row in rows if _is_inside(pair, row) and row.section_id), None)
    return Reading(replace(view, lines=placed), _breadcrumb(pair, inside.section_id if inside else ""))


def _is_inside(pair: Pair, row: Line) -> bool:
    place = (row.page_num, row.line_num)
    return (pair.page_start, pair.line_start) <= place <= (pair.page_end, pair.line_end)


def _breadcrumb(pair: Pair, section_id: str) -> tuple[str, ...]:
    if not section_id:
        return ()
    section = Section.objects.filter(document_id=pair.document_id, section_id=section_id).first()
    return tuple(section.breadcrumb.split(" › ")) if section else ()
