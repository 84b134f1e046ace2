"""Adjudication, agreement, and the export of labels."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from workbench.accounts.permissions import Permission
from workbench.documents.selectors import collection_for
from workbench.errors import WorkbenchError
from workbench.infra.addresses import number_in
from workbench.infra.exports import download
from workbench.infra.replica import from_replica
from workbench.review.blindness import after_blind_decisions

from . import adjudication as disputed
from . import agreement_page, presenters
from .export import labels_csv
from .forms import AdjudicationForm
from .models import Pair, PairState

#: What the form sends instead of a role where the pair cannot be told.
SET_ASIDE = PairState.SET_ASIDE.value


@require_GET
def adjudication(request: HttpRequest) -> HttpResponse:
    return render(request, "labeling/adjudication.html", presenters.adjudication_page(user=request.user))


@require_http_methods(["GET", "POST"])
def dispute(request: HttpRequest, pk: int) -> HttpResponse:
    """One disputed pair; posting decides it and goes on to the next."""
    pair = presenters.pair_for_adjudication(user=request.user, pk=pk)
    if request.method == "GET":
        return render(
            request,
            "labeling/dispute.html",
            presenters.dispute_page(
                pair=pair, user=request.user, page_num=number_in(request.GET.get("page"))
            ),
        )
    form = AdjudicationForm(request.POST)
    comment = request.POST.get("comment", "")
    try:
        _decide(request, pair, form)
    except WorkbenchError as error:
        context = presenters.dispute_page(pair=pair, user=request.user, error=error.message, comment=comment)
        return render(request, "labeling/dispute.html", context, status=409 if error.status == 409 else 422)
    messages.success(request, _("Decided; it is on record."))
    following = disputed.disputes(user=request.user).first()
    return redirect("labeling:dispute", pk=following.pk) if following else redirect("labeling:adjudication")


def _decide(request: HttpRequest, pair: Pair, form: AdjudicationForm) -> None:
    given = form.cleaned_data if form.is_valid() else {"role": "", "comment": request.POST.get("comment", "")}
    if given["role"] == SET_ASIDE:
        disputed.pair_set_aside(actor=request.user, pair=pair, comment=given["comment"])
    else:
        disputed.pair_adjudicate(actor=request.user, pair=pair, **given)


@require_GET
@from_replica
def agreement(request: HttpRequest) -> HttpResponse:
    context = agreement_page.agreement_page(user=request.user, query=request.GET)
    return render(request, "labeling/agreement.html", context)


@require_GET
@from_replica
@after_blind_decisions
def export(request: HttpRequest, slug: str) -> HttpResponse:
    """All labels of a collection as CSV, one column a judge."""
    collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
    body = labels_csv(actor=request.user, collection=collection)
    return download(body, f"labels-{collection.slug}.csv")
