"""Selecting lines that the machine missed, and requesting a new answer from the reviewed evidence."""

from __future__ import annotations

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.documents.models import Document
from workbench.infra.acts import refused_in, told
from workbench.runs.models import Run
from workbench.runs.selectors import run_for
from workbench.runs.services import documents_asked

from . import evidence, evidence_page, regeneration
from .blindness import after_blind_decisions
from .forms import LinesForm


@require_GET
@after_blind_decisions
def documents(request: HttpRequest, pk: int) -> HttpResponse:
    """Chooses the document with the lines. Skipped if there is only one."""
    run = run_for(user=request.user, pk=pk, permission=Permission.REVIEW)
    if run.question.document_id:
        return redirect("review:lines", pk=pk, document=run.question.document_id)
    context = evidence_page.documents_page(run=run, user=request.user, query=request.GET)
    return render(request, "review/documents.html", context)


@require_http_methods(["GET", "POST"])
@after_blind_decisions
def lines(request: HttpRequest, pk: int, document: int) -> HttpResponse:
    """A page of the document with numbered lines, and the form that adds some of them as evidence."""
    run = run_for(user=request.user, pk=pk, permission=Permission.REVIEW)
    chosen = _document(run, document, request.user)
    form = LinesForm(request.POST or None, initial=evidence_page.initial_of(request.GET))
    if request.method == "POST" and form.is_valid():
        cleaned = form.cleaned_data
        with refused_in(form):
            candidate = evidence.evidence_add(
                actor=request.user,
                run=run,
                document=chosen,
                first=(cleaned["from_page"], cleaned["from_line"]),
                last=(cleaned["to_page"], cleaned["to_line"]),
                role=cleaned["role"],
                reason=cleaned["reason"],
            )
            messages.success(request, _("These lines are evidence now. The answer may be stale."))
            return redirect(candidate.get_absolute_url())
    context = evidence_page.lines_page(
        run=run, document=chosen, user=request.user, form=form, query=request.GET
    )
    return render(request, "review/lines.html", context, status=422 if form.errors else 200)


def _document(run: Run, pk: int, user: User) -> Document:
    scope = Q(pk=run.question.document_id) if run.question.document_id else Q(collection=run.collection_id)
    matching = documents_asked(run)
    if matching is not None:
        scope &= Q(pk__in=matching)
    return get_object_or_404(Document.objects.visible_to(user).ready().filter(scope), pk=pk)


@require_POST
def regenerate(request: HttpRequest, pk: int) -> HttpResponse:
    run = run_for(user=request.user, pk=pk)
    with told(request):
        regeneration.answer_regenerate(actor=request.user, run=run)
        messages.info(request, _("A new version of the answer is being written."))
    return redirect(run)
