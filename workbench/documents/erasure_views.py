"""Pages that delete a document, and take that back."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from workbench.accounts.permissions import Permission
from workbench.accounts.reauthentication import asks_again
from workbench.errors import WorkbenchError

from . import erasure, presenters, selectors
from .forms import DeletionForm, ReasonForm
from .models import Document


@require_POST
@asks_again
def document_delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Deletes a document; its text waits for its erasure."""
    document = selectors.document_for(user=request.user, pk=pk, permission=Permission.MANAGE)
    form = DeletionForm(request.POST)
    if not form.is_valid():
        return _refused(request, document, form)
    try:
        erasure.document_delete(actor=request.user, document=document, reason=form.cleaned_data["reason"])
    except WorkbenchError as error:
        messages.error(request, error.message)
    else:
        when = date_format(localtime(document.erase_at), "DATETIME_FORMAT")
        messages.success(request, _("Deleted. Its text is erased on %(when)s.") % {"when": when})
    return redirect(document)


@require_POST
@asks_again
def document_keep(request: HttpRequest, pk: int) -> HttpResponse:
    """Takes a deletion back."""
    document = selectors.document_for(user=request.user, pk=pk, permission=Permission.MANAGE)
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return _refused(request, document, form)
    try:
        erasure.document_keep(actor=request.user, document=document, reason=form.cleaned_data["reason"])
    except WorkbenchError as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("The document is kept."))
    return redirect(document)


def _refused(request: HttpRequest, document: Document, form: ReasonForm) -> HttpResponse:
    context = presenters.document_page(document=document, user=request.user, query=request.GET, deletion=form)
    return render(request, "documents/document.html", context, status=422)
