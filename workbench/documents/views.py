"""Pages of collections and documents. Each view reads through one selector or calls one service."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from workbench.accounts.permissions import Permission, permissions_in
from workbench.errors import WorkbenchError

from . import pages, selectors, services
from .forms import CollectionForm, UploadForm
from .models import Collection, Document


@require_http_methods(["GET", "POST"])
def collection_list(request: HttpRequest) -> HttpResponse:
    """The collections a person belongs to; creating one."""
    form = CollectionForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            collection = services.collection_create(actor=request.user, **form.cleaned_data)
        except WorkbenchError as error:
            form.add_error("name", error.message)
        else:
            return redirect("documents:collection", slug=collection.slug)
    context = {"collections": selectors.collections_with_counts(user=request.user), "form": form}
    return render(request, "documents/collections.html", context)


@require_GET
def collection_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """One collection: its documents with progress, upload."""
    collection = selectors.collection_for(user=request.user, slug=slug)
    context = _collection_context(request, collection)
    template = "documents/collection.html#rows" if request.htmx else "documents/collection.html"
    return render(request, template, context)


def _collection_context(request: HttpRequest, collection: Collection) -> dict[str, Any]:
    page = selectors.document_page(
        collection=collection, before=request.GET.get("before"), text=request.GET.get("q", "")
    )
    return {
        "collection": collection,
        "documents": page.items,
        "next_cursor": page.next_cursor,
        "q": request.GET.get("q", ""),
        "any_working": any(document.is_working for document in page.items),
        "may": permissions_in(request.user, collection),
        "form": UploadForm(),
    }


@require_POST
def upload(request: HttpRequest, slug: str) -> HttpResponse:
    """Takes one or many files; with htmx or XHR answers with the new rows, else goes back to the page."""
    collection = selectors.collection_for(user=request.user, slug=slug, permission=Permission.UPLOAD)
    form = UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        messages.error(request, _("Choose at least one file."))
        return redirect("documents:collection", slug=slug)
    for file in form.cleaned_data["files"]:
        try:
            outcome = services.document_upload(
                actor=request.user, collection=collection, file=file, name=file.name
            )
        except WorkbenchError as error:
            messages.error(request, f"{file.name}: {error.message}")
            continue
        if outcome.is_duplicate:
            messages.info(
                request,
                _("%(name)s is here already, as “%(existing)s”.")
                % {"name": file.name, "existing": outcome.document},
            )
    if request.headers.get("X-Requested-With") == "XMLHttpRequest":
        return render(request, "documents/collection.html#rows", _collection_context(request, collection))
    return redirect("documents:collection", slug=slug)


@require_GET
def document_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """One document: a page as an image with its lines as text beside it, and the outline."""
    document = selectors.document_for(user=request.user, pk=pk)
    number = _page_number(request, document)
    context = {
        "document": document,
        "collection": document.collection,
        "may": permissions_in(request.user, document.collection),
        "page": selectors.page_view(document=document, page_num=number) if document.page_count else None,
        "outline": selectors.outline(document=document, page_num=number),
        "q": request.GET.get("q", ""),
        "hits": selectors.document_search(document=document, text=request.GET.get("q", "")),
    }
    template = "documents/document.html#viewer" if request.htmx else "documents/document.html"
    return render(request, template, context)


def _page_number(request: HttpRequest, document: Document) -> int:
    raw = request.GET.get("page", "1")
    if not raw.isdecimal():
        return 1
    return max(1, min(int(raw), document.page_count or 1))


@require_GET
def document_status(request: HttpRequest, pk: int) -> HttpResponse:
    """The row of a document on its way; polled until it ends."""
    document = selectors.document_for(user=request.user, pk=pk)
    context = {"document": document, "may": permissions_in(request.user, document.collection)}
    return render(request, "partials/_document_row.html", context)


@require_POST
def document_retry(request: HttpRequest, pk: int) -> HttpResponse:
    """Another attempt at a failed document."""
    document = selectors.document_for(user=request.user, pk=pk, permission=Permission.UPLOAD)
    try:
        services.document_retry(actor=request.user, document=document)
    except WorkbenchError as error:
        messages.error(request, error.message)
    return redirect("documents:collection", slug=document.collection.slug)


@require_POST
def document_cancel(request: HttpRequest, pk: int) -> HttpResponse:
    """Stops a document on its way."""
    document = selectors.document_for(user=request.user, pk=pk, permission=Permission.UPLOAD)
    try:
        services.document_cancel(actor=request.user, document=document)
    except WorkbenchError as error:
        messages.error(request, error.message)
    return redirect("documents:collection", slug=document.collection.slug)


@require_GET
def document_original(request: HttpRequest, pk: int) -> HttpResponse:
    """The uploaded bytes, always as an attachment of no particular type: nothing in them can act."""
    document = selectors.document_for(user=request.user, pk=pk)
    return FileResponse(
        document.file.open("rb"),
        as_attachment=True,
        filename=document.name,
        content_type="application/octet-stream",
    )


@require_GET
@cache_control(private=True, max_age=3600)
def page_image(request: HttpRequest, pk: int, page_num: int) -> HttpResponse:
    """A page drawn by the server; 404 for formats without pages."""
    document = selectors.document_for(user=request.user, pk=pk)
    image = pages.page_image(document=document, page_num=page_num)
    if image is None:
        raise Http404
    return HttpResponse(image, content_type="image/png")
