"""Pages of archives: a collection leaves for those who manage it; whoever is signed in takes one in."""

from __future__ import annotations

from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from workbench.accounts.permissions import Permission
from workbench.accounts.reauthentication import ask_who_it_is, asks_again, shown_lately
from workbench.documents.selectors import collection_for
from workbench.errors import WorkbenchError
from workbench.infra.acts import refused_in, told
from workbench.review.blindness import after_blind_decisions, require_sight_of_collection

from . import presenters, transfers
from .forms import ArchiveForm, TakeInForm
from .models import Direction, TransferState
from .selectors import transfer_for


@require_http_methods(["GET", "POST"])
@asks_again
def of_collection(request: HttpRequest, slug: str) -> HttpResponse:
    """What an archive of the collection holds; those that were made; another one."""
    collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
    error = ""
    if request.method == "POST":
        try:
            return redirect(transfers.archive_request(actor=request.user, collection=collection))
        except WorkbenchError as refusal:
            error = refusal.message
    context = presenters.collection_page(collection=collection, user=request.user, error=error)
    return render(request, "archives/collection.html", context, status=422 if error else 200)


@require_http_methods(["GET", "POST"])
def sent(request: HttpRequest) -> HttpResponse:
    """The archives that a person sent, and the form that takes another. Nothing is made of it before it was checked
    and they said so."""
    form = ArchiveForm(request.POST, request.FILES) if request.method == "POST" else ArchiveForm()
    if request.method == "POST" and form.is_valid():
        with refused_in(form, "file"):
            return redirect(transfers.archive_upload(actor=request.user, file=form.cleaned_data["file"]))
    context = presenters.sent_page(user=request.user, form=form)
    return render(request, "archives/sent.html", context, status=422 if form.errors else 200)


@require_GET
@vary_on_headers("HX-Request")
def archive(request: HttpRequest, pk: int) -> HttpResponse:
    """How far an archive is, what it holds, and what can be done with it."""
    transfer = transfer_for(user=request.user, pk=pk)
    name = "archives/archive.html#live" if request.htmx else "archives/archive.html"
    return render(request, name, presenters.archive_page(transfer=transfer))


@require_POST
@asks_again
def take_in(request: HttpRequest, pk: int) -> HttpResponse:
    """Has a worker make a collection of a checked archive."""
    transfer = transfer_for(user=request.user, pk=pk, direction=Direction.IN)
    form = TakeInForm(request.POST)
    if form.is_valid():
        with refused_in(form, "slug"):
            transfers.archive_confirm(actor=request.user, transfer=transfer, slug=form.cleaned_data["slug"])
            return redirect(transfer)
    context = presenters.archive_page(transfer=transfer, form=form)
    return render(request, "archives/archive.html", context, status=422)


@require_POST
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Removes the file before its time."""
    transfer = transfer_for(user=request.user, pk=pk)
    with told(request):
        transfers.archive_remove(actor=request.user, transfer=transfer)
    return redirect(transfer)


@require_GET
@after_blind_decisions
def fetch(request: HttpRequest, pk: int) -> HttpResponse | FileResponse:
    """The file, for those who manage the collection; taking it is on record. It carries a whole collection away, so it
    asks who it is, as the API does, and leads back to the archive's page."""
    transfer = transfer_for(user=request.user, pk=pk, direction=Direction.OUT)
    if transfer.state != TransferState.READY or not default_storage.exists(transfer.path):
        raise Http404(_("This archive was removed. Ask for it again."))
    if not shown_lately(request):
        return ask_who_it_is(back=transfer.get_absolute_url())
    if transfer.collection is not None:
        require_sight_of_collection(user=request.user, collection=transfer.collection)
    transfers.archive_fetched(actor=request.user, transfer=transfer)
    response = FileResponse(
        default_storage.open(transfer.path, "rb"),
        as_attachment=True,
        filename=transfer.file_name,
        content_type="application/zip",
    )
    response["Cache-Control"] = "private, no-store"
    return response
