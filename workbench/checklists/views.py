"""Pages of question sets: the list, a set, and the grid of a round."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from workbench.accounts.permissions import Permission, permissions_in
from workbench.infra.acts import refused_in, told
from workbench.infra.exports import download
from workbench.infra.replica import from_replica

from . import export, presenters, selectors, services
from .docx import round_docx
from .forms import QuestionSetForm, QuestionsForm, RoundForm


@require_http_methods(["GET", "POST"])
def set_list(request: HttpRequest) -> HttpResponse:
    """The user's question sets; writing a new one."""
    form = QuestionSetForm(request.POST or None, user=request.user)
    if request.method == "POST" and form.is_valid():
        cleaned = form.cleaned_data
        with refused_in(form):
            question_set = services.question_set_create(
                actor=request.user,
                collection=cleaned["collection"],
                name=cleaned["name"],
                description=cleaned["description"],
                questions=services.questions_in(cleaned["questions"]),
            )
            return redirect(question_set)
    context = {"sets": selectors.question_sets_visible(user=request.user), "form": form}
    return render(request, "checklists/sets.html", context)


@require_GET
def set_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """One set: its questions, its rounds, and the form that starts one."""
    question_set = selectors.question_set_for(user=request.user, pk=pk)
    context = presenters.set_page(question_set=question_set, user=request.user)
    return render(request, "checklists/set.html", context)


@require_POST
def set_change(request: HttpRequest, pk: int) -> HttpResponse:
    question_set = selectors.question_set_for(user=request.user, pk=pk)
    form = QuestionsForm(request.POST)
    if form.is_valid():
        with told(request):
            services.question_set_change(
                actor=request.user,
                question_set=question_set,
                questions=services.questions_in(form.cleaned_data["questions"]),
            )
    else:
        messages.error(request, " ".join(form.errors["questions"]))
    return redirect(question_set)


@require_POST
def round_start(request: HttpRequest, pk: int) -> HttpResponse:
    question_set = selectors.question_set_for(user=request.user, pk=pk)
    form = RoundForm(request.POST, question_set=question_set, user=request.user)
    if not form.is_valid():
        context = presenters.set_page(question_set=question_set, user=request.user, round_form=form)
        return render(request, "checklists/set.html", context, status=422)
    with told(request):
        started = services.round_start(
            actor=request.user,
            question_set=question_set,
            documents=list(form.cleaned_data["documents"]),
            strategy=form.cleaned_data["strategy"],
            due_on=form.cleaned_data["due_on"],
        )
        return redirect(started)
    return redirect(question_set)


@require_GET
def round_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """The grid of documents and questions; it follows the work until every cell was asked."""
    round_ = selectors.round_for(user=request.user, pk=pk)
    grid = selectors.grid(round_=round_, today=timezone.localdate(), viewer=request.user)
    may = permissions_in(request.user, round_.question_set.collection)
    context = presenters.round_page(
        round_=round_, grid=grid, may_ask=Permission.ASK in may, query=request.GET
    )
    template = "checklists/round.html#grid" if request.htmx else "checklists/round.html"
    return render(request, template, context)


@require_GET
@from_replica
def round_export(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    """The grid as CSV, JSON lines, a workbook or a document."""
    round_ = selectors.round_for(user=request.user, pk=pk)
    grid = selectors.grid(round_=round_, today=timezone.localdate(), viewer=request.user)
    if kind == "csv":
        body: str | bytes = export.round_csv(grid=grid)
    elif kind == "xlsx":
        body = export.round_xlsx(round_=round_, grid=grid)
    elif kind == "docx":
        body = round_docx(round_=round_, grid=grid)
    else:
        body = export.round_jsonl(round_=round_, grid=grid)
    return download(body, f"round-{round_.pk}.{kind}")


@require_POST
def cell_retry(request: HttpRequest, pk: int) -> HttpResponse:
    cell = selectors.cell_for(user=request.user, pk=pk)
    with told(request):
        services.cell_retry(actor=request.user, cell=cell)
    return redirect(cell.round)
