"""Pages that delete a document, or undo that."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from workbench.accounts.permissions import Permission
from workbench.accounts.reauthentication import asks_again
from workbench.infra.acts import told

from . import erasure, presenters, selectors
from .forms import DeletionForm, ReasonForm
from .models import Document


@require_POST
@asks_again
def document_delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Deletes a document. Its text waits for erasure."""

    def act(document: Document, reason: str) -> str:
        erasure.document_delete(actor=request.user, document=document, reason=reason)
        when = date_format(localtime(document.erase_at), "DATETIME_FORMAT")
        return _("Deleted. Its text is erased on %(when)s.") % {"when": when}

    return _carried_out(request, pk, DeletionForm(request.POST), act)


@require_POST
@asks_again
def document_keep(request: HttpRequest, pk: int) -> HttpResponse:
    """Undoes a deletion."""

    def act(document: Document, reason: str) -> str:
        erasure.document_keep(actor=request.user, document=document, reason=reason)
        return _("The document is kept.")

    return _carried_out(request, pk, ReasonForm(request.POST), act)


def _carried_out(
    request: HttpRequest, pk: int, form: ReasonForm, act: Callable[[Document, str], str]
) -> HttpResponse:
    """Executes an action that needs a reason and shows its message, or the page again with a refused form."""
    document = selectors.document_for(user=request.user, pk=pk, permission=Permission.MANAGE)
    if not form.is_valid():
        context = presenters.document_page(
            document=document, user=request.user, query=request.GET, deletion=form
        )
        return render(request, "documents/document.html", context, status=422)
    with told(request):
        messages.success(request, act(document, form.cleaned_data["reason"]))
    return redirect(document)
