"""The vocabulary page of a collection."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from workbench.documents.selectors import collection_for
from workbench.infra.acts import refused_in, told
from workbench.infra.exports import download

from . import presenters, selectors, services, transfer
from .forms import EntryDecisionForm, EntryForm, ImportForm


@require_http_methods(["GET", "POST"])
def vocabulary(request: HttpRequest, slug: str) -> HttpResponse:
    """The dictionary of a collection; adding a pair by hand."""
    collection = collection_for(user=request.user, slug=slug)
    changes: dict[str, object] = {}
    if request.method == "POST":
        form = EntryForm(request.POST)
        if form.is_valid():
            with refused_in(form):
                services.entry_add(actor=request.user, collection=collection, **form.cleaned_data)
                messages.success(request, _("The pair is in use from the next question on."))
                return redirect("vocabulary:vocabulary", slug=slug)
        changes["entry_form"] = form
    context = presenters.vocabulary_page(
        collection=collection, user=request.user, query=request.GET, **changes
    )
    return render(request, "synonyms/vocabulary.html", context, status=422 if changes else 200)


@require_POST
def import_entries(request: HttpRequest, slug: str) -> HttpResponse:
    """Takes in a CSV file and shows what became of its rows."""
    collection = collection_for(user=request.user, slug=slug)
    form = ImportForm(request.POST, request.FILES)
    report = None
    if form.is_valid():
        with refused_in(form, "file"):
            report = transfer.entries_import(
                actor=request.user,
                collection=collection,
                content=form.cleaned_data["file"].read(transfer.MAX_BYTES + 1),
            )
    context = presenters.vocabulary_page(
        collection=collection,
        user=request.user,
        query=request.GET,
        report=report,
        **({} if report else {"import_form": form}),
    )
    return render(request, "synonyms/vocabulary.html", context, status=200 if report else 422)


@require_GET
def export_entries(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_for(user=request.user, slug=slug)
    body = transfer.entries_csv(collection=collection, user=request.user)
    return download(body, f"vocabulary-{collection.slug}.csv")


@require_POST
def decide(request: HttpRequest, pk: int) -> HttpResponse:
    """Puts a pair to use, or takes it out of use."""
    entry = selectors.entry_for(user=request.user, pk=pk)
    form = EntryDecisionForm(request.POST)
    if form.is_valid():
        approves = form.cleaned_data["decision"] == "approve"
        act = services.entry_approve if approves else services.entry_reject
        with told(request):
            act(actor=request.user, entry=entry)
    else:
        messages.error(request, _("Approve or reject the pair."))
    return redirect("vocabulary:vocabulary", slug=entry.collection.slug)
