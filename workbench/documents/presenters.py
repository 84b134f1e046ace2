"""The data of the pages of collections and documents, in the shapes of their partials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from arbitration.parsing.kinds import EXTENSIONS
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, permissions_in
from workbench.infra.crumbs import crumbs

from . import selectors
from .beside import beside_url
from .field_page import about, filter_fields, filter_in, scope_query
from .forms import BulkForm, DeletionForm, DescribeForm, ReasonForm, RestrictionForm
from .likeness import likenesses_of
from .models import DELETED_STATUSES, WORKING_STATUSES, Collection, Document, DocumentStatus
from .narrowing import facts_of
from .restricting import readers_to_choose
from .restrictions import Restriction
from .selectors import OutlineEntry
from .services import UploadOutcome
from .unpacking import ARCHIVE
from .versions import open_offer
from .viewer import NO_FINDING, finding_of, page_asked, viewer

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
    """The address of a line on the page of a document."""
    return f"{reverse('documents:document', args=[document])}?page={page}#p{page}-l{line}"


def uploaded_row(outcome: UploadOutcome, *, user: User) -> dict[str, Any]:
    """The row of a file that was just uploaded, or existed already."""
    row = document_row(outcome.document, user=user, may_upload=True, is_listed=True)
    if outcome.is_duplicate:
        row |= {"duplicate_of": {"title": str(outcome.document), "url": outcome.document.get_absolute_url()}}
    return row


def document_row(
    document: Document,
    *,
    user: User,
    may_upload: bool,
    is_listed: bool = False,
    alike: Sequence[tuple[Document, float]] | None = None,
) -> dict[str, Any]:
    """A document in a list (``_document_row.html``). In the list of a collection it can be selected. ``alike`` are its
    near-duplicates, if known already."""
    if alike is None:
        alike = likenesses_of([document], user=user).get(document.pk, [])
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
        "poll_url": reverse("documents:status", args=[document.pk]) + ("?listed=1" if is_listed else ""),
        "choice": document.pk if is_listed and may_upload and state == "ready" else None,
        "retry_url": reverse("documents:retry", args=[document.pk]) if ended_badly and may_upload else "",
        "cancel_url": reverse("documents:cancel", args=[document.pk])
        if document.is_working and may_upload
        else "",
        "tags": document.tags,
        "is_restricted": document.is_restricted,
        "version": document.version_number,
        "version_offer": offer_box(document) if may_upload else None,
        "alike": [
            _alike(document, other, share)
            for other, share in alike[:_ALIKE_SHOWN]
            if other.pk != getattr(getattr(document, "version_offer", None), "older_id", None)
        ],
    }


#: Number of near-duplicates shown in a row.
_ALIKE_SHOWN = 3


def _alike(document: Document, other: Document, share: float) -> dict[str, Any]:
    """A near-duplicate, with the address of the comparison."""
    return {
        "title": str(other),
        "name": other.name,
        "url": other.get_absolute_url(),
        "percent": round(100 * share),
        "beside_url": beside_url((other.pk, None), (document.pk, None)),
    }


def offer_box(document: Document) -> dict[str, Any] | None:
    """The question whether this is a new version of another document (``_version_offer.html``). None without a
    suggestion, or if the person cannot see the other document or its latest version. The document comes from
    :mod:`.selectors`, which knows."""
    offer = open_offer(document)
    if offer is None or not getattr(document, "sees_offer", False):
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


def collection_page(
    *,
    collection: Collection,
    user: User,
    query: QueryDict,
    bulk: BulkForm | None = None,
    chosen: Sequence[int] = (),
) -> dict[str, Any]:
    """A collection: its documents with progress, upload and links. ``bulk`` is a refused form, ``chosen`` its
    documents."""
    may = permissions_in(user, collection)
    text, status = query.get("q", "").strip(), query.get("status", "")
    given = filter_in(query)
    page = selectors.document_page(
        collection=collection,
        user=user,
        before=query.get("before"),
        text=text,
        statuses=STATUS_FILTERS.get(status),
        given=given,
    )
    facts = facts_of(collections=[collection], user=user)
    may_describe = Permission.UPLOAD in may and bool(page.items)
    alike = likenesses_of(page.items, user=user)
    address = collection.get_absolute_url()
    return {
        "collection": collection,
        "may": may,
        "people_url": reverse("accounts:people", args=[collection.slug]) if Permission.AUDIT in may else "",
        "documents": [
            document_row(
                d, user=user, may_upload=Permission.UPLOAD in may, is_listed=True, alike=alike.get(d.pk, ())
            )
            | {"is_chosen": d.pk in chosen}
            for d in page.items
        ],
        "filters": _filters(address=address, text=text, status=status, more=filter_fields(facts, query))
        | {"more_is_open": bool(given)},
        "bulk": (bulk or BulkForm(own=list(collection.fields.all()), auto_id="id_bulk_%s"))
        if may_describe
        else None,
        "bulk_url": f"{reverse('documents:bulk', args=[collection.slug])}?{query.urlencode()}",
        "pager": {
            "shown": len(page.items),
            "next_url": f"{address}?{_with(query, before=page.next_cursor)}" if page.next_cursor else "",
            "first_url": address if query.get("before") else "",
        },
        "upload": upload_box(collection) if Permission.UPLOAD in may else None,
        "ask_url": f"{reverse('questions:ask')}?{scope_query(collection, given)}"
        if Permission.ASK in may
        else "",
        "crumbs": crumbs((_("Collections"), reverse("documents:collections")), here=collection.name),
        "is_filtered": bool(text or status or given or query.get("before")),
    }


#: Options of a collection's status filter, and the states they include.
STATUS_FILTERS: dict[str, tuple[DocumentStatus, ...]] = {
    "ready": (DocumentStatus.READY,),
    "working": WORKING_STATUSES,
    "failed": (DocumentStatus.FAILED, DocumentStatus.CANCELLED),
    "deleted": DELETED_STATUSES,
}


def _filters(*, address: str, text: str, status: str, more: list[dict[str, Any]]) -> dict[str, Any]:
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
        "more": more,
        "active": [],
        "clear_url": address if text or status or any(field["value"] for field in more) else "",
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
    """A document: fields, outline, a page as image and text, and search. For a deleted document, only its deletion.
    ``deletion`` and ``describe`` are refused forms."""
    address = document.get_absolute_url()
    is_gone = document.status in DELETED_STATUSES
    is_shown = bool(document.page_count) and not is_gone
    finding = finding_of(document=document, query=query) if is_shown else NO_FINDING
    number = page_asked(document=document, query=query, finding=finding)
    view = selectors.page_view(document=document, page_num=number) if is_shown else None
    may = permissions_in(user, document.collection)
    return {
        "document": document,
        "row": document_row(document, user=user, may_upload=Permission.UPLOAD in may),
        **_versions_link(document, user=user),
        "collection": document.collection,
        "may": may,
        "facts": _facts(document),
        "about": None if is_gone else about(document, form=describe, may_describe=Permission.UPLOAD in may),
        "viewer": viewer(view, user=user, address=address, finding=finding) if view else None,
        "outline": outline_nodes(selectors.outline(document=document, page_num=number), address=address)
        if view
        else [],
        "original_url": "" if is_gone else reverse("documents:original", args=[document.pk]),
        "is_gone": is_gone,
        **_deletion(document, may_manage=Permission.MANAGE in may, form=deletion),
        "restrict_url": reverse("documents:restrict", args=[document.pk]) if Permission.MANAGE in may else "",
        "ask_url": f"{reverse('questions:ask')}?collection={document.collection.slug}&document={document.pk}"
        if Permission.ASK in may and document.status == DocumentStatus.READY
        else "",
        "crumbs": crumbs(
            (_("Collections"), reverse("documents:collections")), document.collection, here=str(document)
        ),
    }


def restriction_form(*, document: Document, data: QueryDict | None = None) -> RestrictionForm:
    """The form for the document's restriction, with its current values. Two queries."""
    known = Restriction.objects.filter(document=document).prefetch_related("readers").first()
    named = [person.pk for person in known.readers.all()] if known else []
    return RestrictionForm(
        data,
        people=readers_to_choose(collection=document.collection),
        initial={"is_restricted": known is not None, "readers": named},
        auto_id="id_restriction_%s",
    )


def restriction_page(*, document: Document, form: RestrictionForm) -> dict[str, Any]:
    """The page for the document's restriction, for admins of its collection."""
    return {
        "document": document,
        "form": form,
        "crumbs": crumbs(document.collection, document, here=_("Who may see it")),
    }


def _deletion(document: Document, *, may_manage: bool, form: ReasonForm | None) -> dict[str, Any]:
    """The form that deletes the document or undoes its deletion. None for an erased document, or while it is being
    read."""
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


def _versions_link(document: Document, *, user: User) -> dict[str, Any]:
    replaced_by = document.later_versions.visible_to(user).ready().first()
    has_versions = replaced_by is not None or document.version_of_id is not None
    return {
        "versions_url": reverse("documents:versions", args=[document.pk]) if has_versions else "",
        "replaced_by": replaced_by,
    }


def _facts(document: Document) -> list[str]:
    pages = ngettext("%(n)d page", "%(n)d pages", document.page_count) % {"n": document.page_count}
    lines = ngettext("%(n)d line", "%(n)d lines", document.line_count) % {"n": document.line_count}
    sections = ngettext("%(n)d section", "%(n)d sections", document.section_count) % {
        "n": document.section_count
    }
    return [pages, lines, sections] if document.page_count else []
