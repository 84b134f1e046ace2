"""Tour, trust, progress, operations, costs and prompts."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from workbench.accounts.permissions import Permission, administers
from workbench.accounts.reauthentication import asks_again
from workbench.errors import Conflict
from workbench.infra.acts import refused_in, told
from workbench.infra.addresses import number_in
from workbench.infra.exports import download
from workbench.infra.replica import from_replica, is_configured, replica_state
from workbench.runs.models import RunStatus
from workbench.runs.selectors import run_for
from workbench.runs.services import question_repeat

from . import control, costs, prompts
from .forms import BudgetsForm, SwitchForm
from .mail_trial import mail_server, mail_try
from .operations import may_operate, operations_page
from .progress import progress_page
from .tour import tour_end, tour_page
from .trust import trust_page


def _require_operator(request: HttpRequest) -> None:
    if not may_operate(request.user):
        raise PermissionDenied


@require_safe
@from_replica
def trust(request: HttpRequest) -> HttpResponse:
    return render(request, "ops/trust.html", trust_page(user=request.user, query=request.GET))


@require_safe
def tour(request: HttpRequest, number: int) -> HttpResponse:
    context = tour_page(user=request.user, number=number)
    if context is None:
        raise Http404
    return render(request, "ops/tour.html", context)


@require_POST
def tour_over(request: HttpRequest) -> HttpResponse:
    """The tour is ended or skipped, and never offered again."""
    tour_end(user=request.user)
    return redirect("home")


@require_safe
@from_replica
def progress(request: HttpRequest) -> HttpResponse:
    return render(request, "ops/progress.html", progress_page(user=request.user, query=request.GET))


@require_safe
def operations(request: HttpRequest) -> HttpResponse:
    """What waits, what failed, what models did, and the switch."""
    return _page(request)


def _page(
    request: HttpRequest,
    *,
    switch: SwitchForm | None = None,
    budgets: BudgetsForm | None = None,
    status: int = 200,
) -> HttpResponse:
    context = operations_page(user=request.user)
    if context is None:
        raise PermissionDenied
    current = context["control"]
    context["mail_server"] = mail_server()
    context["replica"] = replica_state() if is_configured() else None
    context["switch"] = switch or SwitchForm(auto_id="id_switch_%s")
    context["budgets"] = budgets or BudgetsForm(
        initial={"run_budget": current.run_budget, "month_budget": current.month_budget}
    )
    return render(request, "ops/operations.html", context, status=status)


@require_POST
@asks_again
def stop(request: HttpRequest) -> HttpResponse:
    return _switch(request, control.llm_stop, _("Language models are stopped."))


@require_POST
@asks_again
def resume(request: HttpRequest) -> HttpResponse:
    return _switch(request, control.llm_resume, _("Language models may be asked again."))


def _switch(request: HttpRequest, service: Callable[..., None], done: str) -> HttpResponse:
    _require_administrator(request)
    form = SwitchForm(request.POST, auto_id="id_switch_%s")
    if form.is_valid():
        with refused_in(form):
            service(actor=request.user, reason=form.cleaned_data["reason"])
            messages.success(request, done)
            return redirect("ops:operations")
    return _page(request, switch=form, status=422)


@require_POST
@asks_again
def budgets(request: HttpRequest) -> HttpResponse:
    _require_administrator(request)
    form = BudgetsForm(request.POST)
    if form.is_valid():
        with refused_in(form):
            control.budgets_change(actor=request.user, **form.cleaned_data)
            messages.success(request, _("The budgets apply from the next call on."))
            return redirect("ops:operations")
    return _page(request, budgets=form, status=422)


@require_POST
@asks_again
def mail_trial(request: HttpRequest) -> HttpResponse:
    with told(request):
        address = mail_try(actor=request.user)
        messages.success(request, _("The mail server took a mail to %(address)s.") % {"address": address})
    return redirect("ops:operations")


def _require_administrator(request: HttpRequest) -> None:
    if not administers(request.user):
        raise PermissionDenied


@require_POST
def run_retry(request: HttpRequest, pk: int) -> HttpResponse:
    """Asks the question of a failed run again; a run of its own."""
    run = run_for(user=request.user, pk=pk, permission=Permission.ASK)
    with told(request):
        if run.status not in (RunStatus.FAILED, RunStatus.CANCELLED):
            raise Conflict(_("Only a failed or stopped run is asked again from here."))
        outcome = question_repeat(actor=request.user, run=run)
        return redirect(outcome.run)
    return redirect("ops:operations" if may_operate(request.user) else run)


@require_safe
@from_replica
def cost_page(request: HttpRequest) -> HttpResponse:
    _require_operator(request)
    first = costs.month_in(request.GET.get("month"))
    return render(request, "ops/costs.html", costs.costs_page(user=request.user, first=first))


@require_safe
@from_replica
def cost_export(request: HttpRequest) -> HttpResponse:
    _require_operator(request)
    first = costs.month_in(request.GET.get("month"))
    body = costs.costs_csv(user=request.user, first=first)
    return download(body, f"costs-{first:%Y-%m}.csv")


@require_safe
def prompt_pages(request: HttpRequest) -> HttpResponse:
    """Every prompt there is; with ``?name=`` one of them: a version, and what changed since another one."""
    _require_operator(request)
    name = request.GET.get("name", "")
    if not name:
        return render(request, "ops/prompts.html", {"prompts": prompts.prompt_list()})
    version, against = (_number(request.GET.get(key)) for key in ("version", "against"))
    context = prompts.prompt_page(user=request.user, name=name, version=version, against=against)
    return render(request, "ops/prompt.html", context)


def _number(raw: str | None) -> int | None:
    number = number_in(raw)
    if raw and number is None:
        raise Http404
    return number
