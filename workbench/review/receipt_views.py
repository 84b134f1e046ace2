"""Receipts, and repeating a run to compare."""

from __future__ import annotations

import json

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from workbench.direction import shown_in_json
from workbench.infra.acts import told
from workbench.infra.addresses import number_in
from workbench.infra.crumbs import crumbs
from workbench.infra.exports import download
from workbench.runs.models import Run, RunStatus
from workbench.runs.selectors import run_for
from workbench.runs.similar import same_filters

from . import rerun
from .blindness import after_blind_decisions, require_sight
from .candidates import candidate_for
from .feature_words import features_in_words
from .receipts import receipt_of


@require_GET
@after_blind_decisions
def receipt(request: HttpRequest, pk: int) -> HttpResponse:
    candidate = candidate_for(user=request.user, pk=pk)
    run = candidate.run
    require_sight(user=request.user, runs=[run])
    body = receipt_of(candidate)
    context = {
        "candidate": candidate,
        "run": run,
        "receipt": body,
        "features": features_in_words(candidate.features),
        "json_text": shown_in_json(json.dumps(body, ensure_ascii=False, indent=2)),
        "crumbs": crumbs(
            run.collection,
            (_("Run %(pk)d") % {"pk": run.pk}, candidate.get_absolute_url()),
            here=_("Receipt"),
        ),
    }
    return render(request, "review/receipt.html", context)


@require_GET
@after_blind_decisions
def receipt_json(request: HttpRequest, pk: int) -> HttpResponse:
    candidate = candidate_for(user=request.user, pk=pk)
    require_sight(user=request.user, runs=[candidate.run])
    body = json.dumps(receipt_of(candidate), ensure_ascii=False, indent=2)
    return download(body, f"receipt-{pk}.json")


@require_http_methods(["GET", "POST"])
@after_blind_decisions
def against(request: HttpRequest, pk: int) -> HttpResponse:
    """GET compares this run with another of the same question. POST repeats it and redirects there."""
    run = run_for(user=request.user, pk=pk)
    if request.method == "POST":
        with told(request):
            again = rerun.run_again(actor=request.user, run=run)
            return redirect(f"{reverse('review:against', args=[pk])}?with={again.pk}")
        return redirect(run)
    after = _other(request, run)
    require_sight(user=request.user, runs=[run, after])
    context = rerun.against_page(before=run, after=after)
    name = "review/against.html#live" if request.htmx else "review/against.html"
    return render(request, name, context)


def _other(request: HttpRequest, run: Run) -> Run:
    """The run named in the address; by default the newest other finished run of the same question, or the run
    itself."""
    raw = request.GET.get("with", "")
    if raw:
        number = number_in(raw)
        if number is None:
            raise Http404
        return run_for(user=request.user, pk=number)
    same = (
        Run.objects.visible_to(request.user)
        .filter(
            question__normalised=run.question.normalised,
            question__document=run.question.document_id,
            collection=run.collection_id,
            status=RunStatus.DONE,
        )
        .filter(same_filters(run.question))
    )
    return same.exclude(pk=run.pk).select_related("question", "collection").order_by("-pk").first() or run
