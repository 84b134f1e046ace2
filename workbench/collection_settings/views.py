"""The settings of a collection: auditors read them, admins change them."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from workbench.accounts.permissions import Permission
from workbench.accounts.reauthentication import asks_again
from workbench.documents.embedding import active_space
from workbench.documents.erasure import hold_set, retention_set
from workbench.documents.models import Collection
from workbench.documents.selectors import collection_for
from workbench.errors import WorkbenchError
from workbench.infra.acts import told

from . import presenters, services
from .forms import (
    ActForm,
    GeneralForm,
    HoldForm,
    ProposalForm,
    RetentionForm,
    ThresholdsForm,
    WeightsForm,
)
from .selectors import proposals_for
from .strategy_fields import StrategyFields


@require_safe
def settings_page(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_for(user=request.user, slug=slug, permission=Permission.AUDIT)
    context = presenters.settings_page(collection=collection, user=request.user)
    return render(request, "collection_settings/settings.html", context)


@require_POST
@asks_again
def change(request: HttpRequest, slug: str) -> HttpResponse:
    """Changes strategy, endpoints, description, the weights of multi-criteria, and what labels are for."""
    collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
    form, weights = GeneralForm(request.POST), WeightsForm(request.POST)
    options = StrategyFields(request.POST)

    def act() -> str:
        services.collection_change(
            actor=request.user,
            collection=collection,
            **form.values,
            criteria_weights=weights.cleaned_data,
            strategy_options=options.options_by_strategy(),
        )
        return _("The settings have changed.")

    return _carried_out(request, collection, act, general=form, weights=weights, options=options)


@require_POST
@asks_again
def hold(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
    form = HoldForm(request.POST)

    def act() -> str:
        changed = hold_set(actor=request.user, collection=collection, **form.cleaned_data)
        return _("The legal hold is in force.") if changed.legal_hold else _("The legal hold is lifted.")

    return _carried_out(request, collection, act, hold=form)


@require_POST
@asks_again
def retention(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
    form = RetentionForm(request.POST)

    def act() -> str:
        retention_set(actor=request.user, collection=collection, **form.cleaned_data)
        return _("The settings have changed.")

    return _carried_out(request, collection, act, retention=form)


@require_POST
@asks_again
def thresholds(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
    form = ThresholdsForm(request.POST, space=active_space().name)

    def act() -> str:
        services.gates_apply(
            actor=request.user,
            collection=collection,
            profile=form.cleaned_data["profile"],
            seen_revision=form.cleaned_data["seen_revision"],
            reason=form.cleaned_data["reason"],
        )
        return _("The thresholds are in use from the next question on.")

    return _carried_out(request, collection, act, thresholds=form)


def _carried_out(
    request: HttpRequest, collection: Collection, act: Callable[[], str], **sent: Form
) -> HttpResponse:
    """Carries out what valid forms ask for and says what ``act`` says; else the page with the forms, by their names in
    the presenter, and what is wrong with them. A refusal of the service stands at the first."""
    if all(form.is_valid() for form in sent.values()):
        try:
            said = act()
        except WorkbenchError as error:
            next(iter(sent.values())).add_error(None, error.message)
        else:
            messages.success(request, said)
            return redirect("collection_settings:settings", slug=collection.slug)
    context = presenters.settings_page(collection=collection, user=request.user, **sent)
    return render(request, "collection_settings/settings.html", context, status=422)


@require_POST
@asks_again
def apply_proposal(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
    form = ProposalForm(request.POST)
    form.fields["proposal"].queryset = proposals_for(collection=collection)
    if not form.is_valid():
        messages.error(request, _("Say why, and choose one of the proposals."))
        return redirect("collection_settings:settings", slug=slug)
    proposal = form.cleaned_data["proposal"]
    with told(request, _("The thresholds are in use from the next question on.")):
        services.gates_apply(
            actor=request.user,
            collection=collection,
            profile=proposal.profile,
            seen_revision=form.cleaned_data["seen_revision"],
            proposal=proposal,
            reason=form.cleaned_data["reason"],
        )
    return redirect("collection_settings:settings", slug=slug)


@require_POST
@asks_again
def remove_thresholds(request: HttpRequest, slug: str) -> HttpResponse:
    collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
    form = ActForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Say why the thresholds are removed."))
        return redirect("collection_settings:settings", slug=slug)
    with told(request, _("Everything is verified from the next question on.")):
        services.gates_remove(actor=request.user, collection=collection, **form.cleaned_data)
    return redirect("collection_settings:settings", slug=slug)
