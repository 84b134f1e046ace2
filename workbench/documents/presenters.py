"""What the pages of collections and documents show; the shapes are those of the partials they fill."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import QueryDict
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from arbitration.parsing.kinds import EXTENSIONS
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, permissions_in

from . import selectors
from .drawings import Picture, page_picture
from .forms import DeletionForm, DescribeForm, ReasonForm
from .models import DELETED_STATUSES, WORKING_STATUSES, Collection, Document, DocumentStatus
from .pages import SCALE
from .selectors import OutlineEntry, PageView, PlacedLine
from .services import UploadOutcome
from .unpacking import ARCHIVE
from .versions import open_offer

_STATES = {
    DocumentStatus.READY: "ready",
    DocumentStatus.FAILED: "failed",
    DocumentStatus.CANCELLED: "cancelled",
    DocumentStatus.QUEUED: "queued",
    DocumentStatus.DELETED: "deleted",
    DocumentStatus.ERASED: "erased",
}
ACCEPTED = ",".join([*EXTENSIONS, ARCHIVE])


def line_url(*, document: int, page: int, line: int) -> str:
    """The page of a document at one of its lines."""
    return f"{reverse('documents:document', args=[document])}?page={page}#p{page}-l{line}"


def uploaded_row(outcome: UploadOutcome) -> dict[str, Any]:
    """The row of a file that was just uploaded, which may be here already."""
    row = document_row(outcome.document, may_upload=True)
    if outcome.is_duplicate:
        row |= {"duplicate_of": {"title": str(outcome.document), "url": outcome.document.get_absolute_url()}}
    return row


def document_row(document: Document, *, may_upload: bool) -> dict[str, Any]:
    """One document of a list (``_document_row.html``)."""
    state = _STATES.get(DocumentStatus(document.status), "running")
    ended_badly = state in {"failed", "cancelled"}
    return {
        "dom_id": f"document-{document.pk}",
        "title": str(document),
        "url": document.get_absolute_url(),
        "kind": document.kind or (document.name.rsplit(".", 1)[-1][:8] if document.erased_at is None else ""),
        "pages": document.page_count,
        "lines": document.line_count,
        "sections": document.section_count,
        "size": document.size,
        "added_at": document.created_at,
        "added_by": document.uploaded_by,
        "state": state,
        "stage": _stage(document) if state == "running" else "",
        "reason": document.failure_reason if state == "failed" else "",
        "poll_url": reverse("documents:status", args=[document.pk]),
        "retry_url": reverse("documents:retry", args=[document.pk]) if ended_badly and may_upload else "",
        "cancel_url": reverse("documents:cancel", args=[document.pk])
        if document.is_working and may_upload
        else "",
        "tags": document.tags,
        "version": document.version_number,
        "version_offer": offer_box(document) if may_upload else None,
    }


def offer_box(document: Document) -> dict[str, Any] | None:
    """The question whether this is a new version of another document (``_version_offer.html``); None without."""
    offer = open_offer(document)
    if offer is None:
        return None
    return {
        "older": offer.older,
        "decide_url": reverse("documents:version-decide", args=[document.pk]),
        "versions_url": reverse("documents:versions", args=[document.pk]),
    }


def _stage(document: Document) -> str:
    label = str(document.get_status_display())
    if not document.stage_total:
        return label
    share = round(100 * document.stage_done / document.stage_total)
    return _("%(stage)s, %(share)d %%") % {"stage": label, "share": share}


def collection_page(*, collection: Collection, user: User, query: QueryDict) -> dict[str, Any]:
    """A collection: its documents with progress, upload, and the ways on."""
    may = permissions_in(user, collection)
    text, status = query.get("q", "").strip(), query.get("status", "")
    page = selectors.document_page(
        collection=collection, before=query.get("before"), text=text, statuses=STATUS_FILTERS.get(status)
    )
    address = collection.get_absolute_url()
    return {
        "collection": collection,
        "may": may,
        "people_url": reverse("accounts:people", args=[collection.slug]) if Permission.AUDIT in may else "",
        "documents": [document_row(d, may_upload=Permission.UPLOAD in may) for d in page.items],
        "filters": _filters(address=address, text=text, status=status),
        "pager": {
            "shown": len(page.items),
            "next_url": f"{address}?{_with(query, before=page.next_cursor)}" if page.next_cursor else "",
            "first_url": address if query.get("before") else "",
        },
        "upload": upload_box(collection) if Permission.UPLOAD in may else None,
        "ask_url": f"{reverse('questions:ask')}?collection={collection.slug}"
        if Permission.ASK in may
        else "",
        "crumbs": [
            {"label": _("Collections"), "url": reverse("documents:collections")},
            {"label": collection.name},
        ],
        "is_filtered": bool(text or status or query.get("before")),
    }


#: What the status filter of a collection offers, and the states it stands for.
STATUS_FILTERS: dict[str, tuple[DocumentStatus, ...]] = {
    "ready": (DocumentStatus.READY,),
    "working": WORKING_STATUSES,
    "failed": (DocumentStatus.FAILED, DocumentStatus.CANCELLED),
    "deleted": DELETED_STATUSES,
}


def _filters(*, address: str, text: str, status: str) -> dict[str, Any]:
    options = [
        ("", _("Any")),
        ("ready", _("Ready")),
        ("working", _("Being read")),
        ("failed", _("Failed or cancelled")),
        ("deleted", _("Deleted or erased")),
    ]
    return {
        "url": address,
        "fields": [
            {"name": "q", "label": _("Find a document"), "kind": "search", "value": text, "grow": True},
            {
                "name": "status",
                "label": _("Status"),
                "kind": "select",
                "value": status,
                "options": options,
            },
        ],
        "active": [],
        "clear_url": address if text or status else "",
    }


def upload_box(collection: Collection) -> dict[str, Any]:
    """The drop zone (``_dropzone.html``)."""
    limit = settings.MAX_UPLOAD_BYTES // (1024 * 1024)
    return {
        "url": reverse("documents:upload", args=[collection.slug]),
        "accept": ACCEPTED,
        "help": _(
            "PDF, Word, Excel, PowerPoint, OpenDocument and rich text, e-mail (EML, MSG), HTML, Markdown, text, "
            "scans as PDF or image, or a ZIP of such files; up to %(limit)d MB each."
        )
        % {"limit": limit},
        "max_bytes": settings.MAX_UPLOAD_BYTES,
        "list_id": "documents",
    }


def _with(query: QueryDict, **changes: str) -> str:
    copy = query.copy()
    for name, value in changes.items():
        copy[name] = value
    return copy.urlencode()


def viewer(view: PageView, *, user: User, address: str, box_note: str = "", q: str = "") -> dict[str, Any]:
    """A page with its lines (``_page_image.html``); ``address`` is the page's own, without query. ``q``, what is
    being searched for, is kept while turning pages. The image is asked for, where nobody has had it drawn."""
    picture = (
        page_picture(document=view.document, page_num=view.page_num, user=user) if view.has_image else None
    )
    return {
        "page": sheet(view, picture) | {"count": view.page_count, "address": address},
        "lines": [_line(line) for line in view.lines],
        "box_note": box_note,
        "previous_page_url": _page_url(address, view.previous, q),
        "next_page_url": _page_url(address, view.next, q),
    }


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


def _page_url(address: str, number: int | None, q: str) -> str:
    if number is None:
        return ""
    return f"{address}?{urlencode({'page': number} | ({'q': q} if q else {}))}"


def _line(line: PlacedLine) -> dict[str, Any]:
    x0, y0, width, height = line.box or (None, None, None, None)
    return {
        "dom_id": f"p{line.page_num}-l{line.line_num}",
        "number": line.line_num,
        "text": line.text,
        "x0": x0,
        "y0": y0,
        "width": width,
        "height": height,
        "mark": "anchor" if line.is_marked else "context" if line.is_context else "",
        "confidence": None if line.confidence is None else round(100 * line.confidence),
        "flag": "hidden" if line.is_hidden else "furniture" if line.is_furniture else "",
        "change": line.mark,
        "author": line.author,
    }


def outline_nodes(entries: list[OutlineEntry], *, address: str) -> list[dict[str, Any]]:
    """The table of contents (``_outline_tree.html``)."""
    return [
        {
            "title": entry.section.title,
            "url": f"{address}?page={entry.section.start_page}"
            f"#p{entry.section.start_page}-l{entry.section.line_start}",
            "page": entry.section.start_page,
            "children": outline_nodes(entry.children, address=address),
            "current": entry.is_current,
        }
        for entry in entries
    ]


def document_page(
    *,
    document: Document,
    user: User,
    query: QueryDict,
    deletion: ReasonForm | None = None,
    describe: DescribeForm | None = None,
) -> dict[str, Any]:
    """A document: facts, outline, one page as image and text, search. Of a deleted one, only what became of it;
    ``deletion`` and ``describe`` are forms that were refused."""
    number = _page_number(query.get("page", "1"), document)
    address = document.get_absolute_url()
    text = query.get("q", "").strip()
    is_gone = document.status in DELETED_STATUSES
    is_shown = bool(document.page_count) and not is_gone
    view = selectors.page_view(document=document, page_num=number) if is_shown else None
    may = permissions_in(user, document.collection)
    return {
        "document": document,
        "row": document_row(document, may_upload=Permission.UPLOAD in may),
        **_versions_link(document),
        "collection": document.collection,
        "may": may,
        "facts": _facts(document),
        "described": _described(document),
        "describe": (describe or _describe_form(document))
        if Permission.UPLOAD in may and not is_gone
        else None,
        "viewer": viewer(view, user=user, address=address, q=text) if view else None,
        "outline": outline_nodes(selectors.outline(document=document, page_num=number), address=address)
        if view
        else [],
        "original_url": "" if is_gone else reverse("documents:original", args=[document.pk]),
        "is_gone": is_gone,
        **_deletion(document, may_manage=Permission.MANAGE in may, form=deletion),
        "q": text,
        "hits": [
            {
                "url": f"{address}?{urlencode({'page': line.page_num, 'q': text})}"
                f"#p{line.page_num}-l{line.line_num}",
                "scope": {
                    "page_start": line.page_num,
                    "page_end": line.page_num,
                    "line_start": line.line_num,
                    "line_end": line.line_num,
                },
                "text": line.text,
            }
            for line in (selectors.document_search(document=document, text=text) if view else [])
        ],
        "ask_url": f"{reverse('questions:ask')}?collection={document.collection.slug}&document={document.pk}"
        if Permission.ASK in may and document.status == DocumentStatus.READY
        else "",
        "crumbs": [
            {"label": _("Collections"), "url": reverse("documents:collections")},
            {"label": document.collection.name, "url": document.collection.get_absolute_url()},
            {"label": str(document)},
        ],
    }


def _deletion(document: Document, *, may_manage: bool, form: ReasonForm | None) -> dict[str, Any]:
    """The form that deletes, or takes that back; neither of an erased document, nor while it is being read."""
    url, offered = "", form
    if may_manage and document.status == DocumentStatus.DELETED:
        url, offered = reverse("documents:keep", args=[document.pk]), form or ReasonForm()
    elif may_manage and document.status != DocumentStatus.ERASED and not document.is_working:
        url, offered = reverse("documents:delete", args=[document.pk]), form or DeletionForm()
    return {
        "deletion_url": url,
        "deletion_form": offered,
        "is_held": document.collection.legal_hold,
        "delay_days": document.collection.erasure_delay_days,
    }


def _versions_link(document: Document) -> dict[str, Any]:
    replaced_by = document.later_versions.ready().first()
    has_versions = replaced_by is not None or document.version_of_id is not None
    return {
        "versions_url": reverse("documents:versions", args=[document.pk]) if has_versions else "",
        "replaced_by": replaced_by,
    }


def _page_number(raw: str, document: Document) -> int:
    return max(1, min(int(raw), document.page_count or 1)) if raw.isdecimal() else 1


def _described(document: Document) -> list[tuple[str, str]]:
    """What is known of the document beside its text."""
    day = date_format(document.effective_date, "DATE_FORMAT") if document.effective_date else ""
    facts = [
        (_("Document type"), document.document_type),
        (_("Issuer"), document.issuer),
        (_("Jurisdiction"), document.jurisdiction),
        (_("Effective from"), day),
        (_("Language"), document.language),
        (_("Tags"), ", ".join(map(str, document.tags))),
    ]
    return [(label, value) for label, value in facts if value]


def _describe_form(document: Document) -> DescribeForm:
    names = ("document_type", "issuer", "jurisdiction", "effective_date")
    given = {name: getattr(document, name) for name in names}
    return DescribeForm(
        initial=given | {"tags": ", ".join(map(str, document.tags))}, auto_id="id_describe_%s"
    )


def _facts(document: Document) -> list[str]:
    pages = ngettext("%(n)d page", "%(n)d pages", document.page_count) % {"n": document.page_count}
    lines = ngettext("%(n)d line", "%(n)d lines", document.line_count) % {"n": document.line_count}
    sections = ngettext("%(n)d section", "%(n)d sections", document.section_count) % {
        "n": document.section_count
    }
    return [pages, lines, sections] if document.page_count else []
