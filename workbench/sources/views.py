"""Pages of sources, for admins of their collection."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from workbench.accounts.permissions import Permission
from workbench.accounts.reauthentication import asks_again
from workbench.documents.selectors import collection_for
from workbench.errors import WorkbenchError
from workbench.infra.acts import refused_in, told

from . import presenters, services
from .forms import SourceForm
from .kinds import kind_named
from .selectors import source_file_for, source_for


@require_http_methods(["GET", "POST"])
@asks_again
def sources(request: HttpRequest, slug: str) -> HttpResponse:
    """A collection's sources, and a new one."""
    collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
    form = None
    if request.method == "POST":
        try:
            kind = kind_named(request.POST.get("kind", ""))
        except WorkbenchError as error:
            messages.error(request, error.message)
            return redirect("sources:sources", slug=slug)
        form = SourceForm(kind, request.POST)
        if form.is_valid():
            with refused_in(form):
                made = services.source_create(actor=request.user, collection=collection, **form.given())
                messages.success(request, _("The source was added and is being checked."))
                return redirect(made)
    context = presenters.sources_page(collection=collection, form=form)
    return render(request, "sources/sources.html", context, status=422 if form else 200)


@require_safe
def source(request: HttpRequest, pk: int) -> HttpResponse:
    """One source and what came in last."""
    found = source_for(user=request.user, pk=pk)
    return render(request, "sources/source.html", presenters.source_page(source=found))


@require_POST
@asks_again
def switch(request: HttpRequest, pk: int) -> HttpResponse:
    """Pauses, resumes or removes."""
    found = source_for(user=request.user, pk=pk)
    acts = {
        "pause": (services.source_pause, _("The source is paused.")),
        "resume": (services.source_resume, _("The source is active again.")),
        "remove": (services.source_remove, _("The source was removed. Its documents stay.")),
    }
    name = request.POST.get("act", "")
    if name not in acts:
        messages.error(request, _("Choose what to do with the source."))
        return redirect(found)
    act, done = acts[name]
    with told(request, done):
        act(actor=request.user, source=found)
        return (
            redirect(found) if name != "remove" else redirect("sources:sources", slug=found.collection.slug)
        )
    return redirect(found)


@require_POST
def look(request: HttpRequest, pk: int) -> HttpResponse:
    """Looks now."""
    found = source_for(user=request.user, pk=pk)
    with told(request, _("The check has started. Reload this page in a moment.")):
        services.source_look_now(actor=request.user, source=found)
    return redirect(found)


@require_POST
def retry(request: HttpRequest, pk: int) -> HttpResponse:
    """Takes a file again that failed."""
    file = source_file_for(user=request.user, pk=pk)
    with told(request, _("The file is being tried again.")):
        services.source_file_retry(actor=request.user, file=file)
    return redirect(file.source)
