"""The risk that a collection accepts: auditors read it, admins state it, have it computed and put it to use."""

from __future__ import annotations

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from workbench.accounts.permissions import Permission
from workbench.accounts.reauthentication import asks_again
from workbench.collection_settings.bars import bar_apply, bar_remove, bar_request
from workbench.collection_settings.models import BarProposal
from workbench.documents.models import Collection
from workbench.documents.selectors import collection_for
from workbench.infra.acts import told
from workbench.runs.reranking import reranker_state

from .forms import BarApplyForm, BarRemoveForm, PromiseForm
from .risk_page import risk_page


@require_safe
@vary_on_headers("HX-Request")
def risk(request: HttpRequest, slug: str) -> HttpResponse:
    """What is in use, and what each bar would do."""
    collection = collection_for(user=request.user, slug=slug, permission=Permission.AUDIT)
    context = risk_page(collection=collection, user=request.user)
    if not request.htmx:
        return render(request, "ops/risk.html", context)
    response = render(request, "ops/risk.html#live", context)
    if not context["is_computing"]:
        response["HX-Refresh"] = "true"
    return response


@require_POST
def compute(request: HttpRequest, slug: str) -> HttpResponse:
    """States a share and has the bar that keeps to it computed."""
    collection = _managed(request, slug)
    form = PromiseForm(request.POST)
    if not form.is_valid():
        return _refused(request, collection, form)
    with told(request):
        bar_request(
            actor=request.user,
            collection=collection,
            decides=form.cleaned_data["decides"],
            promised=form.share,
        )
    return _back(collection)


@require_POST
@asks_again
def apply(request: HttpRequest, slug: str) -> HttpResponse:
    collection = _managed(request, slug)
    form = BarApplyForm(request.POST)
    form.fields["proposal"].queryset = BarProposal.objects.filter(collection=collection)
    if not form.is_valid():
        return _refused(request, collection, form)
    with told(request, _("In use from the next question on. Earlier runs stay as they are.")):
        bar_apply(
            actor=request.user,
            collection=collection,
            reranker=reranker_state(),
            **form.cleaned_data,
        )
    return _back(collection)


@require_POST
@asks_again
def remove(request: HttpRequest, slug: str) -> HttpResponse:
    collection = _managed(request, slug)
    form = BarRemoveForm(request.POST)
    if not form.is_valid():
        return _refused(request, collection, form)
    with told(request, _("The shipped default is in use from the next question on.")):
        bar_remove(actor=request.user, collection=collection, **form.cleaned_data)
    return _back(collection)


def _managed(request: HttpRequest, slug: str) -> Collection:
    return collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)


def _refused(request: HttpRequest, collection: Collection, form: Form) -> HttpResponse:
    for field, errors in form.errors.items():
        label = form.fields[field].label or field
        messages.error(request, f"{label}: {' '.join(errors)}")
    return _back(collection)


def _back(collection: Collection) -> HttpResponse:
    return redirect("ops:risk", slug=collection.slug)
