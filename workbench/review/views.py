"""Deciding: on the run page and in the queue. Every decision is a real form; htmx swaps the card in place."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from workbench.accounts.permissions import Permission
from workbench.errors import WorkbenchError
from workbench.questions import cards
from workbench.questions.models import Candidate
from workbench.questions.selectors import candidate_for, run_for

from . import presenters, services
from .forms import DecisionForm, NotFoundForm, OverrideForm
from .models import QueueItem


@require_POST
def approve(request: HttpRequest, pk: int) -> HttpResponse:
    """The person agrees with the machine."""
    form = DecisionForm(request.POST)
    return _decide(request, pk, form, lambda candidate, cleaned: services.candidate_approve(
        actor=request.user,
        candidate=candidate,
        comment=cleaned["comment"],
        seen_review_id=cleaned["version"],
    ))  # fmt: skip


@require_POST
def override(request: HttpRequest, pk: int) -> HttpResponse:
    """The person gives another role, with a reason."""
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
    """The person can't tell."""
    form = DecisionForm(request.POST)
    return _decide(request, pk, form, lambda candidate, cleaned: services.candidate_unsure(
        actor=request.user, candidate=candidate, comment=cleaned["comment"]
    ))  # fmt: skip


def _decide(
    request: HttpRequest,
    pk: int,
    form: DecisionForm,
    decide: Callable[[Candidate, dict[str, object]], object],
) -> HttpResponse:
    candidate = candidate_for(user=request.user, pk=pk, permission=Permission.VIEW)
    error, status = "", 200
    if form.is_valid():
        try:
            decide(candidate, form.cleaned_data)
        except WorkbenchError as refused:
            error, status = refused.message, 409 if refused.status == 409 else 422
    else:
        error, status = _("Choose a role and a reason for the override."), 422
    if request.htmx:
        # From the database again: what was decided, here or by somebody else, is what the card must show.
        return _card(request, candidate_for(user=request.user, pk=pk), error=error, status=status)
    if error:
        messages.error(request, error)
    return redirect(_next(request) or f"{candidate.run.get_absolute_url()}#{cards.dom_id(candidate)}")


def _card(request: HttpRequest, candidate: Candidate, *, error: str, status: int) -> HttpResponse:
    context = cards.single_card(candidate=candidate, user=request.user) | {"card_error": error}
    return render(request, "partials/_candidate_card.html", context, status=status)


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
        return redirect(run)
    act = (
        services.not_found_confirm
        if form.cleaned_data["decision"] == "confirm"
        else services.not_found_refute
    )
    try:
        act(actor=request.user, run=run, comment=form.cleaned_data["comment"])
    except WorkbenchError as error:
        messages.error(request, error.message)
    return redirect(_next(request) or run)


@require_GET
def queue(request: HttpRequest) -> HttpResponse:
    """What waits for this person's decision, and why."""
    return render(request, "review/queue.html", presenters.queue_page(user=request.user, query=request.GET))


@require_POST
def queue_next(request: HttpRequest) -> HttpResponse:
    """Claims the most urgent item and opens it."""
    collection = request.POST.get("collection", "")
    item = services.queue_claim_next(
        actor=request.user, collection_id=int(collection) if collection.isdecimal() else None
    )
    if item is None:
        messages.info(request, _("Nothing waits for you here."))
        return redirect("review:queue")
    return redirect("review:item", pk=item.pk)


@require_GET
def queue_item(request: HttpRequest, pk: int) -> HttpResponse:
    """One claimed item: the card, its question, and the way to the next."""
    item = _item(request, pk)
    return render(request, "review/item.html", presenters.item_page(item=item, user=request.user))


@require_POST
def queue_release(request: HttpRequest, pk: int) -> HttpResponse:
    """Gives an item back."""
    try:
        services.queue_release(actor=request.user, item=_item(request, pk))
    except WorkbenchError as error:
        messages.error(request, error.message)
    return redirect("review:queue")


def _item(request: HttpRequest, pk: int) -> QueueItem:
    items = QueueItem.objects.visible_to(request.user).select_related(
        "run__question", "run__collection", "candidate", "claimed_by"
    )
    return get_object_or_404(items, pk=pk)
