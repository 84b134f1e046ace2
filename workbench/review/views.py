"""Deciding: on the run page and in the queue. Every decision is a real form; htmx swaps the card in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import resolve, reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST
from django_htmx.http import HttpResponseClientRedirect, HttpResponseLocation, trigger_client_event

from workbench.errors import WorkbenchError
from workbench.infra.acts import told
from workbench.infra.addresses import number_in
from workbench.runs.models import Candidate, Run
from workbench.runs.selectors import run_for

from . import cards, passed, presenters, second, services
from .answer_standing import standing_words
from .blindness import is_withheld
from .candidates import candidate_for, candidate_to_decide
from .filters import QueueFilter
from .forms import ChoiceForm, DecisionForm, NotFoundForm, OverrideForm
from .models import ItemStage, QueueItem
from .queue import queue_claim_next, queue_undo, queue_undo_not_found
from .run_answer import writing_words
from .selectors import signing_of


@require_POST
def approve(request: HttpRequest, pk: int) -> HttpResponse:
    form = DecisionForm(request.POST)
    return _decide(request, pk, form, lambda candidate, cleaned: services.candidate_approve(
        actor=request.user,
        candidate=candidate,
        comment=cleaned["comment"],
        seen_review_id=cleaned["version"],
    ))  # fmt: skip


@require_POST
def override(request: HttpRequest, pk: int) -> HttpResponse:
    form = OverrideForm(request.POST)
    return _decide(request, pk, form, lambda candidate, cleaned: services.candidate_override(
        actor=request.user,
        candidate=candidate,
        role=cleaned["role"],
        reason_code=cleaned["reason_code"],
        comment=cleaned["comment"],
        seen_review_id=cleaned["version"],
    ))  # fmt: skip


@require_POST
def unsure(request: HttpRequest, pk: int) -> HttpResponse:
    form = DecisionForm(request.POST)
    return _decide(request, pk, form, lambda candidate, cleaned: services.candidate_unsure(
        actor=request.user, candidate=candidate, comment=cleaned["comment"]
    ))  # fmt: skip


@require_POST
def choose(request: HttpRequest, pk: int) -> HttpResponse:
    """A role without sight of the machine's: a blind first decision, or a second review."""
    form = ChoiceForm(request.POST)
    return _decide(request, pk, form, lambda candidate, cleaned: _choose(request, candidate, cleaned))


def _choose(request: HttpRequest, candidate: Candidate, cleaned: dict[str, Any]) -> object:
    item = QueueItem.objects.filter(candidate=candidate).first()
    given = {"actor": request.user, "candidate": candidate} | {k: cleaned[k] for k in ("role", "comment")}
    if item is not None and item.stage == ItemStage.SECOND:
        return second.second_review_add(**given)
    return services.candidate_choose(**given, seen_review_id=cleaned["version"])


@require_POST
def adjudicate(request: HttpRequest, pk: int) -> HttpResponse:
    form = ChoiceForm(request.POST)
    return _decide(request, pk, form, lambda candidate, cleaned: second.dispute_adjudicate(
        actor=request.user, candidate=candidate, role=cleaned["role"], reason=cleaned["comment"]
    ))  # fmt: skip


@require_POST
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    """Undoes the person's latest decision. In the queue, the card is reserved for them again and opens."""
    form = DecisionForm(request.POST)
    act = queue_undo if _is_of_queue(_next(request)) else services.candidate_undo
    return _decide(request, pk, form, lambda candidate, cleaned: act(
        actor=request.user, candidate=candidate
    ))  # fmt: skip


def _decide(
    request: HttpRequest,
    pk: int,
    form: DecisionForm,
    decide: Callable[[Candidate, dict[str, object]], object],
) -> HttpResponse:
    candidate = candidate_to_decide(user=request.user, pk=pk)
    error, status, made = "", 200, None
    if form.is_valid():
        try:
            made = decide(candidate, form.cleaned_data)
        except WorkbenchError as refused:
            error, status = refused.message, 409 if refused.status == 409 else 422
    else:
        error, status = _("Choose a role and a reason for the override."), 422
    if not error and _goes_on(request):
        return _open_next(request, made=made, subject=candidate)
    # From the database again: what was decided, here or by somebody else, is what the card must show.
    if error:
        return _refused(request, candidate_for(user=request.user, pk=pk), error=error, status=status)
    if request.htmx:
        return _decided(request, candidate_for(user=request.user, pk=pk))
    return redirect(_next(request) or candidate.get_absolute_url())


def _decided(request: HttpRequest, candidate: Candidate) -> HttpResponse:
    """The card as it is now and, beside it, what the decision changes elsewhere on the run page."""
    withheld = is_withheld(user=request.user, run=candidate.run)
    context = cards.single_card(candidate=candidate, user=request.user) | {
        "tally": cards.review_tally(run=candidate.run),
        "answer": None if withheld else candidate.run.answers.last(),
        "run": candidate.run,
        "may_review": True,
    }
    if not withheld:
        context |= standing_words(run=candidate.run, answer=context["answer"])
        context |= writing_words(run=candidate.run, answer=context["answer"])
        context |= signing_of(run=candidate.run) | cards.not_found_words(run=candidate.run, reviewer=None)
    said = presenters.said_of_decision(decision=context["card"]["decision"], tally=context["tally"])
    response = render(request, "review/_decided.html", context)
    return trigger_client_event(response, "workbench:announce", {"text": said})


def _refused(request: HttpRequest, candidate: Candidate, *, error: str, status: int) -> HttpResponse:
    """The card with the reason and all that was typed; a page of its own where there is no script."""
    context = cards.single_card(candidate=candidate, user=request.user) | {
        "card_error": error,
        "typed": request.POST,
        "next_url": _next(request),
        "item_id": request.POST.get("item", ""),
        "run": candidate.run,
    }
    if not request.htmx:
        return render(request, "review/refused.html", context, status=status)
    response = render(request, "partials/_candidate_card.html", context, status=status)
    return trigger_client_event(response, "workbench:announce", {"text": error})


def _is_of_queue(address: str) -> bool:
    path = urlsplit(address).path
    return path.startswith(reverse("review:queue")) and path != reverse("review:queue")


def _goes_on(request: HttpRequest) -> bool:
    """Whether the form asks for the next item of the queue, or of a bulk approval: its ``next`` is that address."""
    return urlsplit(_next(request)).path == reverse("review:next") or _bulk_in(request) is not None


def _bulk_in(request: HttpRequest) -> int | None:
    """The bulk approval whose cards are decided one by one."""
    path = urlsplit(_next(request)).path
    found = resolve(path) if path.startswith(reverse("review:bulk")) else None
    return found.kwargs["pk"] if found is not None and found.view_name == "review:bulk-checks" else None


def _open_next(request: HttpRequest, *, made: object, subject: Candidate | Run) -> HttpResponse:
    """Claims the next item, of the same question first, and leads to it with a word on the decision just made."""
    messages.success(request, presenters.decided_message(made=made, subject=subject))
    started = _bulk_in(request)
    if started is not None:
        target = presenters.next_check(user=request.user, pk=started)
        return HttpResponseClientRedirect(target) if request.htmx else redirect(target)
    run_id = subject.pk if isinstance(subject, Run) else subject.run_id
    query = QueryDict(urlsplit(_next(request)).query)
    target, is_item = claim_next(request, query, run_id=run_id)
    if not request.htmx:
        return redirect(target)
    if not is_item:
        return HttpResponseClientRedirect(target)
    # The next card takes the place of this one; the address, the title and the focus go with it (queue.js).
    return HttpResponseLocation(target, target="#main", select="#main", swap="outerHTML show:window:top")


def claim_next(request: HttpRequest, query: QueryDict, *, run_id: int | None = None) -> tuple[str, bool]:
    """The address of the item that this person has from now on, or of the queue where nothing waits, and whether it is
    an item's. Unless the address says what to show, what need not be decided follows what must."""
    filters = QueueFilter.of(query.dict())
    past = number_in(request.POST.get("past"))
    item = queue_claim_next(
        actor=request.user,
        filters=filters,
        past=past,
        run_id=run_id,
        beyond=filters if "show" in query else replace(filters, show="all"),
    )
    if item is not None:
        if past is not None and past != item.pk:
            passed.remember(request, past)
        return reverse("review:item", args=[item.pk]) + filters.suffix, True
    messages.info(request, _("Nothing waits for you here."))
    return reverse("review:queue"), False


def _next(request: HttpRequest) -> str:
    target = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return target if safe else ""


@require_POST
def not_found(request: HttpRequest, pk: int) -> HttpResponse:
    """Confirm that the documents do not answer, or say where they do."""
    run = run_for(user=request.user, pk=pk)
    form = NotFoundForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Choose whether the answer is really not there."))
        return redirect(_back(request, run))
    given = form.cleaned_data
    if given["decision"] == "refute" and not given["near"] and not given["comment"].strip():
        messages.info(request, _("Select the lines that answer."))
        return redirect("review:documents", pk=run.pk)
    with told(request):
        if given["decision"] == "confirm":
            made = services.not_found_confirm(actor=request.user, run=run, comment=given["comment"])
        else:
            near = candidate_for(user=request.user, pk=given["near"]) if given["near"] else None
            made = services.not_found_refute(
                actor=request.user, run=run, comment=given["comment"], candidate=near
            )
        if _goes_on(request):
            return _open_next(request, made=made, subject=run)
        return redirect(_next(request) or run)
    return redirect(_back(request, run))


@require_POST
def not_found_undo(request: HttpRequest, pk: int) -> HttpResponse:
    run = run_for(user=request.user, pk=pk)
    target = _next(request)
    act = queue_undo_not_found if _is_of_queue(target) else services.not_found_undo
    with told(request):
        act(actor=request.user, run=run)
    return redirect(target or run)


def _back(request: HttpRequest, run: Run) -> str:
    """Where a refused not-found decision was made: the item of the queue, or the run."""
    item = request.POST.get("item", "")
    return reverse("review:item", args=[int(item)]) if item.isdecimal() else run.get_absolute_url()
