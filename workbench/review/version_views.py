"""Pages of document versions."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from workbench.accounts.permissions import Permission
from workbench.documents.selectors import document_for
from workbench.documents.versions import version_accept, version_decline
from workbench.infra.acts import told

from . import version_page


@require_GET
def versions(request: HttpRequest, pk: int) -> HttpResponse:
    """A document and its previous version side by side, with the decisions that were carried over or reopened."""
    document = document_for(user=request.user, pk=pk)
    context = version_page.versions_page(document=document, user=request.user, query=request.GET)
    return render(request, "documents/versions.html", context)


@require_POST
def decide(request: HttpRequest, pk: int) -> HttpResponse:
    document = document_for(user=request.user, pk=pk, permission=Permission.UPLOAD)
    decision = request.POST.get("decision", "")
    act = {"accept": version_accept, "decline": version_decline}.get(decision)
    if act is None:
        messages.error(request, _("Choose whether this is a new version."))
        return redirect(document)
    with told(request):
        act(actor=request.user, document=document)
        return redirect("documents:versions", pk=pk) if decision == "accept" else redirect(document)
    return redirect(document)
