"""What pages, commands and tasks read about collections and documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Generic, TypeVar

from django.db.models import (
    BigIntegerField,
    BooleanField,
    Count,
    Exists,
    ExpressionWrapper,
    Func,
    OuterRef,
    Q,
    QuerySet,
)
from django.db.models.functions import Now
from django.shortcuts import get_object_or_404

from workbench.accounts.permissions import Permission
from workbench.infra.addresses import number_in, words_in

from .models import (
    WORKING_STATUSES,
    Collection,
    CollectionQuerySet,
    Document,
    DocumentQuerySet,
    DocumentStatus,
    Line,
    OfferState,
    Page,
    Section,
)
from .narrowing import ScopeFilter, narrowed
from .restrictions import hidden_from, open_to

if TYPE_CHECKING:
    from workbench.accounts.models import User

T = TypeVar("T")

#: Age of a queued row whose message must have been lost.
LOST_AFTER = timedelta(seconds=15)


def collection_for(*, user: User, slug: str, permission: Permission = Permission.VIEW) -> Collection:
    """The collection, if the user may do this in it; else 404, as if it did not exist."""
    return get_object_or_404(Collection.objects.visible_to(user, permission), slug=slug)


def document_for(*, user: User, pk: int, permission: Permission = Permission.VIEW) -> Document:
    """The document, if the user may do this with it; else 404, as if it did not exist."""
    return get_object_or_404(_shown_documents(user, permission), pk=pk)


def readable_document_for(*, user: User, pk: int) -> Document:
    """The document, if the user may read its text; else 404, also once it was deleted."""
    return get_object_or_404(_shown_documents(user, Permission.VIEW).readable(), pk=pk)


def _shown_documents(user: User, permission: Permission) -> DocumentQuerySet:
    documents = Document.objects.visible_to(user, permission).select_related(
        "collection", "uploaded_by", "deleted_by", "version_offer__older", "restriction"
    )
    return documents.annotate(sees_offer=_sees_offer(user))


class _NewestVersion(Func):
    """The key of the last version of the chain that a document belongs to; null for none. As
    :func:`~workbench.documents.versions.newest_version` finds it, for many rows in one query."""

    template = (
        "(WITH RECURSIVE later (id, place) AS ("
        "SELECT %(expressions)s, 1 UNION ALL "
        "SELECT d.id, later.place + 1 FROM documents_document d JOIN later ON d.version_of_id = later.id"
        ") SELECT id FROM later ORDER BY place DESC LIMIT 1)"
    )
    output_field = BigIntegerField()


def _sees_offer(user: User) -> ExpressionWrapper:
    """Whether the person can see the older document of a version suggestion, and while they could accept it also the
    latest version of that one, which it would replace."""
    hidden, older = hidden_from(user), OuterRef("version_offer__older")
    sees_newest = Q(version_offer__state=OfferState.ACCEPTED) | ~Exists(
        hidden.filter(pk=_NewestVersion(older))
    )
    return ExpressionWrapper(~Exists(hidden.filter(pk=older)) & sees_newest, output_field=BooleanField())


def documents_of(*, collection: Collection, user: User) -> DocumentQuerySet:
    """Documents of the person's collection that they can see, newest first."""
    documents = Document.objects.filter(open_to(user), collection=collection)
    return documents.select_related("uploaded_by", "version_offer__older", "restriction").annotate(
        sees_offer=_sees_offer(user)
    )


def document_named(*, collection: Collection, name: str) -> Document | None:
    """A document by file name, newest first, or by id (``42`` or ``d42``)."""
    documents = Document.objects.filter(collection=collection)
    by_name = documents.filter(name=words_in(name)).order_by("-id").first()
    if by_name:
        return by_name
    key = number_in(name.removeprefix("d"))
    return documents.filter(pk=key).first() if key is not None else None


def documents_to_wake(*, free: Q, most: int) -> list[int]:
    """Some unfinished documents that no worker is processing, because the message or the worker was lost. Which ones
    does not matter: a message takes the document whose turn it is."""
    stale = Q(lease_until__isnull=False) | Q(created_at__lt=Now() - LOST_AFTER)
    rows = Document.objects.filter(free, stale, status__in=WORKING_STATUSES)
    return list(rows.order_by("collection_id", "id").values_list("pk", flat=True)[:most])


# --- pages ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Slice(Generic[T]):
    """A page of rows, and the cursor of the next page."""

    items: list[T]
    next_cursor: str


def collections_with_counts(*, user: User) -> CollectionQuerySet:
    """The user's collections, each with the number of documents and of documents not ready."""
    seen = open_to(user, "documents")
    return Collection.objects.visible_to(user).annotate(
        document_count=Count("documents", filter=seen),
        failed_count=Count("documents", filter=seen & Q(documents__status=DocumentStatus.FAILED)),
        working_count=Count("documents", filter=seen & Q(documents__status__in=WORKING_STATUSES)),
    )


def document_page(
    *,
    collection: Collection,
    user: User,
    before: str | None = None,
    text: str = "",
    statuses: Sequence[str] | None = None,
    given: ScopeFilter | None = None,
    size: int = 100,
) -> Slice[Document]:
    """A page of the documents of a collection that the person can see, newest first, filtered by name or title, status
    and fields."""
    documents = documents_of(collection=collection, user=user).order_by("-id")
    cursor = number_in(before)
    if cursor is not None:
        documents = documents.filter(pk__lt=cursor)
    if text:
        if not (text := words_in(text)):
            return Slice([], "")
        documents = documents.filter(Q(name__icontains=text) | Q(title__icontains=text))
    if statuses:
        documents = documents.filter(status__in=statuses)
    if given:
        documents = narrowed(documents, given)
    items = list(documents[: size + 1])
    more = len(items) > size
    return Slice(items[:size], str(items[size - 1].pk) if more else "")


Position = tuple[int, int]


def lines_between(*, document: Document, first: Position, last: Position) -> QuerySet[Line]:
    """The lines of a document from one (page, line) to another in reading order, without running heads."""
    lines = Line.objects.filter(document=document, page_num__range=(first[0], last[0]), is_furniture=False)
    outside = Q(page_num=first[0], line_num__lt=first[1]) | Q(page_num=last[0], line_num__gt=last[1])
    return lines.exclude(outside).order_by("page_num", "line_num")


@dataclass(frozen=True, slots=True)
class PlacedLine:
    """A line of text with its box in points; ``box`` is None if unknown."""

    page_num: int
    line_num: int
    text: str
    box: tuple[float, float, float, float] | None  # left, top, width, height
    is_marked: bool
    is_context: bool
    is_furniture: bool
    is_hidden: bool
    section_id: str
    confidence: float | None = None  # of text recognition, 0 to 1
    mark: str = ""  # of a tracked change or a comment, with its author
    author: str = ""


@dataclass(frozen=True, slots=True)
class PageView:
    """A page as shown in the viewer."""

    document: Document
    page_num: int
    page_count: int
    has_image: bool
    width: float
    height: float
    lines: list[PlacedLine]

    @property
    def previous(self) -> int | None:
        """The previous page; None on the first."""
        return self.page_num - 1 if self.page_num > 1 else None

    @property
    def next(self) -> int | None:
        """The next page; None on the last."""
        return self.page_num + 1 if self.page_num < self.page_count else None


def page_size(*, document: Document, page_num: int) -> PageView:
    """A page without its lines; of a deleted document nothing but its number."""
    if not document.is_readable:
        return PageView(document, page_num, document.page_count, False, 0.0, 0.0, [])
    page = Page.objects.filter(document=document, page_num=page_num).only("width", "height").first()
    width = page.width if page and page.width else 0.0
    height = page.height if page and page.height else 0.0
    return PageView(document, page_num, document.page_count, width > 0, width, height, [])


def page_view(
    *,
    document: Document,
    page_num: int,
    anchor: tuple[Position, Position] | None = None,
    context: tuple[Position, Position] | None = None,
) -> PageView:
    """A page with its lines; lines inside ``anchor`` are marked as evidence, inside ``context`` as context.

    Both are ((page, line), (page, line)), inclusive. A deleted document shows no line.
    """
    sheet = page_size(document=document, page_num=page_num)
    if not document.is_readable:
        return sheet
    rows = Line.objects.filter(document=document, page_num=page_num).order_by("line_num")
    lines = [
        placed_line(row, page=sheet, is_marked=_inside(row, anchor), is_context=_inside(row, context))
        for row in rows
    ]
    return replace(sheet, lines=lines)


def placed_line(
    row: Line, *, page: PageView, is_marked: bool = False, is_context: bool = False
) -> PlacedLine:
    """A line placed on a page. A line of another page gets no box."""
    return PlacedLine(
        page_num=row.page_num,
        line_num=row.line_num,
        text=row.text,
        box=_box(row, page.width, page.height) if row.page_num == page.page_num else None,
        is_marked=is_marked,
        is_context=is_context,
        is_furniture=row.is_furniture,
        is_hidden=row.is_hidden,
        section_id=row.section_id,
        confidence=row.confidence,
        mark=row.mark,
        author=row.author,
    )


def _inside(line: Line, span: tuple[Position, Position] | None) -> bool:
    return span is not None and span[0] <= (line.page_num, line.line_num) <= span[1] and not line.is_furniture


def _box(line: Line, width: float, height: float) -> tuple[float, float, float, float] | None:
    """The box of a line, if all four sides are known and lie on the page; otherwise none."""
    x0, y0, x1, y1 = line.x0, line.y0, line.x1, line.y1
    if x0 is None or y0 is None or x1 is None or y1 is None:
        return None
    if not (0 <= x0 < x1 <= width + 1 and 0 <= y0 < y1 <= height + 1):
        return None
    return x0, y0, x1 - x0, y1 - y0


@dataclass(slots=True)
class OutlineEntry:
    """A section with its children, for the outline tree."""

    section: Section
    children: list[OutlineEntry]
    is_current: bool = False
    is_open: bool = False


def outline(*, document: Document, page_num: int = 0) -> list[OutlineEntry]:
    """The table of contents as a tree. Entries on the given page are current, their ancestors open."""
    entries: dict[str, OutlineEntry] = {}
    roots: list[OutlineEntry] = []
    for section in document.sections.order_by("ordinal"):
        here = section.start_page <= page_num <= section.end_page
        entry = OutlineEntry(section, [], is_current=here and not section.has_children, is_open=here)
        entries[section.section_id] = entry
        parent = entries.get(section.parent_id)
        (parent.children if parent else roots).append(entry)
    return roots
