"""Pages of collections and documents. Each view reads through one selector or calls one service."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.cache import patch_cache_control
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from workbench.accounts.permissions import Permission, permissions_in
from workbench.accounts.reauthentication import asks_again
from workbench.errors import WorkbenchError
from workbench.infra.acts import refused_in, told
from workbench.infra.addresses import number_in

from . import beside, citing, describing, drawings, field_page, fields, presenters, selectors, services
from .forms import BulkForm, CollectionForm, DescribeForm, FieldForm, UploadForm
from .models import Document, DrawingState
from .restricting import restriction_set
from .unpacking import files_upload
from .viewer import sheet, small_sheet

#: Refusals of a ZIP that one sentence on a page can hold.
_MOST_REFUSALS = 10


@require_http_methods(["GET", "POST"])
def collection_list(request: HttpRequest) -> HttpResponse:
    """The collections a person belongs to; creating one."""
    form = CollectionForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with refused_in(form, "name"):
            collection = services.collection_create(actor=request.user, **form.cleaned_data)
            return redirect("documents:collection", slug=collection.slug)
    context = {"collections": selectors.collections_with_counts(user=request.user), "form": form}
    return render(request, "documents/collections.html", context)


@require_GET
def collection_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """One collection: its documents with progress, upload."""
    collection = selectors.collection_for(user=request.user, slug=slug)
    context = presenters.collection_page(collection=collection, user=request.user, query=request.GET)
    return render(request, "documents/collection.html", context)


@require_POST
def upload(request: HttpRequest, slug: str) -> HttpResponse:
    """Takes one or many files. A scripted upload sends one file and gets its row, or a sentence that says why
    not; a plain form goes back to the page with messages."""
    collection = selectors.collection_for(user=request.user, slug=slug, permission=Permission.UPLOAD)
    form = UploadForm(request.POST, request.FILES)
    outcomes, refusals = [], []
    for file in form.cleaned_data["files"] if form.is_valid() else []:
        try:
            received = files_upload(actor=request.user, collection=collection, file=file, name=file.name)
            outcomes += received.outcomes
            refusals += received.refusals
        except WorkbenchError as error:
            refusals.append(f"{file.name}: {error.message}")
    if not outcomes and not refusals:
        refusals.append(_("Choose at least one file."))
    if request.htmx:
        return _uploaded_rows(request, outcomes, refusals)
    for refusal in refusals:
        messages.error(request, refusal)
    for outcome in outcomes:
        if outcome.is_duplicate:
            messages.info(
                request,
                _("%(name)s is here already. It was not read again.") % {"name": outcome.document.name},
            )
    return redirect(collection)


def _uploaded_rows(
    request: HttpRequest, outcomes: list[services.UploadOutcome], refusals: list[str]
) -> HttpResponse:
    """The row of a file, or those of a ZIP. Where something was refused the answer says what; the page shows the other
    rows when it is loaded again."""
    if refusals:
        taken = _("%(n)s files were uploaded. Not uploaded: ") % {"n": len(outcomes)} if outcomes else ""
        return HttpResponse(
            taken + " ".join(refusals[:_MOST_REFUSALS]), status=422, content_type="text/plain; charset=utf-8"
        )
    rows = [presenters.uploaded_row(outcome, user=request.user) for outcome in outcomes]
    return render(request, "documents/_uploaded_rows.html", {"rows": rows})


@require_GET
def document_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """One document: a page as an image with its lines as text beside it, and the outline."""
    document = selectors.document_for(user=request.user, pk=pk)
    context = presenters.document_page(document=document, user=request.user, query=request.GET)
    return render(request, "documents/document.html", context)


@require_GET
def document_status(request: HttpRequest, pk: int) -> HttpResponse:
    """The row of a document. It is polled until processing ends."""
    return _row(request, selectors.document_for(user=request.user, pk=pk))


def _row(request: HttpRequest, document: Document) -> HttpResponse:
    may = permissions_in(request.user, document.collection)
    row = presenters.document_row(
        document,
        user=request.user,
        may_upload=Permission.UPLOAD in may,
        is_listed="listed" in request.GET,
    )
    return render(request, "partials/_document_row.html", {"document": row})


@require_POST
def document_retry(request: HttpRequest, pk: int) -> HttpResponse:
    """Retries a failed document."""
    return _done_with(request, pk, services.document_retry)


@require_POST
def document_cancel(request: HttpRequest, pk: int) -> HttpResponse:
    """Cancels processing of a document."""
    return _done_with(request, pk, services.document_cancel)


def _done_with(request: HttpRequest, pk: int, act: Callable[..., object]) -> HttpResponse:
    document = selectors.document_for(user=request.user, pk=pk, permission=Permission.UPLOAD)
    with told(request):
        act(actor=request.user, document=document)
    if request.htmx:
        return _row(request, selectors.document_for(user=request.user, pk=pk))
    return redirect(document.collection)


@require_POST
def document_describe(request: HttpRequest, pk: int) -> HttpResponse:
    """Changes the metadata of a document."""
    document = selectors.document_for(user=request.user, pk=pk, permission=Permission.UPLOAD)
    form = DescribeForm(request.POST, own=list(document.collection.fields.all()))
    if form.is_valid():
        with refused_in(form):
            describing.document_describe(actor=request.user, document=document, **form.description())
            messages.success(request, _("The document is described. New questions use it."))
            return redirect(document)
    context = presenters.document_page(document=document, user=request.user, query=request.GET, describe=form)
    return render(request, "documents/document.html", context, status=422)


@require_POST
def documents_describe(request: HttpRequest, slug: str) -> HttpResponse:
    """Changes tags and fields of the documents that were chosen from a collection's list."""
    collection = selectors.collection_for(user=request.user, slug=slug, permission=Permission.UPLOAD)
    form = BulkForm(request.POST, own=list(collection.fields.all()), auto_id="id_bulk_%s")
    keys = [key for raw in request.POST.getlist("document") if (key := number_in(raw)) is not None]
    if form.is_valid():
        with refused_in(form):
            changed = describing.documents_describe(
                actor=request.user, collection=collection, documents=keys, changes=form.changes()
            )
            said = ngettext("%(n)d document changed.", "%(n)d documents changed.", changed)
            messages.success(request, said % {"n": changed})
            return redirect(f"{collection.get_absolute_url()}?{request.GET.urlencode()}")
    context = presenters.collection_page(
        collection=collection, user=request.user, query=request.GET, bulk=form, chosen=keys
    )
    return render(request, "documents/collection.html", context, status=422)


@require_http_methods(["GET", "POST"])
@asks_again
def collection_fields(request: HttpRequest, slug: str) -> HttpResponse:
    """The fields that the documents of a collection have beside those that all have; adding and removing one."""
    is_change = request.method == "POST"
    collection = selectors.collection_for(
        user=request.user, slug=slug, permission=Permission.MANAGE if is_change else Permission.VIEW
    )
    form = FieldForm(request.POST if "name" in request.POST else None)
    if is_change and ("remove" in request.POST or form.is_valid()):
        try:
            if "remove" in request.POST:
                fields.field_remove(actor=request.user, collection=collection, name=request.POST["remove"])
            else:
                fields.field_add(actor=request.user, collection=collection, **form.cleaned_data)
        except WorkbenchError as error:
            form.add_error(None, error.message) if form.is_bound else messages.error(request, error.message)
        else:
            return redirect("documents:fields", slug=slug)
    context = field_page.fields_page(collection=collection, user=request.user, form=form)
    return render(request, "documents/fields.html", context, status=422 if is_change else 200)


@require_http_methods(["GET", "POST"])
@asks_again
def document_restrict(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows and changes who can see a document."""
    document = selectors.document_for(user=request.user, pk=pk, permission=Permission.MANAGE)
    form = presenters.restriction_form(document=document, data=request.POST or None)
    if form.is_valid():
        given = form.cleaned_data
        readers = given["readers"] if given["is_restricted"] else None
        with refused_in(form):
            restriction_set(actor=request.user, document=document, readers=readers, reason=given["reason"])
            messages.success(
                request, _("Saved. This applies from now on, also to everything that rests on the document.")
            )
            return redirect(document)
    context = presenters.restriction_page(document=document, form=form)
    return render(request, "documents/restrict.html", context, status=422 if form.errors else 200)


@require_GET
def document_original(request: HttpRequest, pk: int) -> HttpResponse:
    """Downloads the uploaded file."""
    return original_response(document=selectors.document_for(user=request.user, pk=pk))


def original_response(*, document: Document) -> FileResponse:
    """The bytes of a document that the caller may read, always as an attachment of no particular type: nothing in them
    can act. 404 for a document that was deleted."""
    if not document.is_readable or not document.file:
        raise Http404
    return FileResponse(
        document.file.open("rb"),
        as_attachment=True,
        filename=document.name,
        content_type="application/octet-stream",
    )


@require_GET
def page_image(request: HttpRequest, pk: int, page_num: int) -> HttpResponse:
    """A page as a worker has drawn it, with ``size=small`` its small image; 202 until it is there, 404 for what has no
    image or cannot be drawn."""
    return image_response(
        request, document=selectors.document_for(user=request.user, pk=pk), page_num=page_num
    )


def image_response(request: HttpRequest, *, document: Document, page_num: int) -> HttpResponse:
    """The image of a page of a document that the caller may read. Raises 404 for what has none."""
    found = drawings.page_image(
        document=document, page_num=page_num, user=request.user, is_small=_is_small(request)
    )
    if isinstance(found, bytes):
        response = HttpResponse(found, content_type="image/png")
        patch_cache_control(response, private=True, max_age=3600)
        return response
    if found.state != DrawingState.WAITING:
        raise Http404(found.problem)
    # A browser without scripts looks again by itself.
    again = {"Retry-After": "1", "Refresh": "1", "Cache-Control": "no-store"}
    text = _("The image of this page is being drawn.")
    return HttpResponse(text, status=202, content_type="text/plain; charset=utf-8", headers=again)


@require_GET
def page_picture(request: HttpRequest, pk: int, page_num: int) -> HttpResponse:
    """What stands where the image of a page will be; a page that waits for it polls this. 204 for no news."""
    document = selectors.document_for(user=request.user, pk=pk)
    picture = drawings.page_picture(document=document, page_num=page_num, user=request.user)
    if picture.state is None:
        raise Http404
    if picture.state == DrawingState.WAITING and request.htmx:
        return HttpResponse(status=204, headers={"Cache-Control": "no-store"})
    view = selectors.page_size(document=document, page_num=page_num)
    template, shown = "partials/_page_picture.html", sheet
    if _is_small(request):
        template, shown = "partials/_page_small.html", small_sheet
    response = render(request, template, {"page": shown(view, picture)})
    patch_cache_control(response, no_store=True)
    return response


def _is_small(request: HttpRequest) -> bool:
    return request.GET.get("size") == "small"


@require_GET
def documents_beside(request: HttpRequest, pk: int, other: int) -> HttpResponse:
    """Two documents of one collection side by side, the words that differ marked."""
    pair = beside.pair_for(user=request.user, left=pk, right=other, query=request.GET)
    context = beside.beside_page(pair=pair, user=request.user)
    return render(request, "documents/beside.html", context)


@require_GET
def document_citation(request: HttpRequest, pk: int) -> HttpResponse:
    """Some lines as people cite them (``from`` and ``to`` as page:line), and a button that copies it."""
    document = selectors.readable_document_for(user=request.user, pk=pk)
    first, last = (citing.position_in(request.GET.get(name, "")) for name in ("from", "to"))
    try:
        context = {"citation": citing.citation(document=document, first=first, last=last)}
    except WorkbenchError as error:
        return HttpResponse(error.message, status=422, content_type="text/plain; charset=utf-8")
    return render(request, "documents/_citation.html", context)
