"""Pages that change a run, and the Strategies page. Pages that show a run with its decisions are in review."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from arbitration.questions.assisted import QuestionEdits
from arbitration.strategies.rubrics import Rubric
from workbench.accounts.permissions import Permission
from workbench.errors import WorkbenchError
from workbench.infra.acts import told

from . import rubrics, scoreboard, selectors, services
from .forms import KeywordsForm
from .models import Run


@require_POST
def run_again(request: HttpRequest, pk: int) -> HttpResponse:
    """Asks the same question again with a person's keywords or criteria, in a new run."""
    run = selectors.run_for(user=request.user, pk=pk)
    with told(request):
        edits_criteria = f"{rubrics.PREFIX}-TOTAL_FORMS" in request.POST
        changes: dict[str, object] = (
            {"rubric": _criteria(request, run)} if edits_criteria else {"edits": _keywords(request)}
        )
        outcome = services.question_repeat(actor=request.user, run=run, **changes)
        return redirect(outcome.run)
    return redirect(f"{run.get_absolute_url()}?tab=provenance")


def _keywords(request: HttpRequest) -> QuestionEdits:
    """A person's keywords. Raises :class:`WorkbenchError` saying what is wrong."""
    form = KeywordsForm(request.POST)
    if not form.is_valid():
        raise WorkbenchError(" ".join(error for errors in form.errors.values() for error in errors))
    return QuestionEdits(**form.cleaned_data)


def _criteria(request: HttpRequest, run: Run) -> Rubric:
    """A person's criteria. Raises :class:`WorkbenchError` saying what is wrong."""
    forms = rubrics.CriteriaForms(request.POST, prefix=rubrics.PREFIX)
    if not forms.is_valid():
        raise WorkbenchError(" ".join(forms.problems()))
    ranked_by = rubrics.rubric_of(run)
    return forms.rubric(relevance=ranked_by.relevance if ranked_by is not None else None)


@require_POST
def run_cancel(request: HttpRequest, pk: int) -> HttpResponse:
    run = selectors.run_for(user=request.user, pk=pk, permission=Permission.ASK)
    with told(request):
        services.run_cancel(actor=request.user, run=run)
    return redirect("questions:run", pk=pk)


@require_GET
def strategies(request: HttpRequest) -> HttpResponse:
    return render(request, "runs/strategies.html", scoreboard.strategies_page())
