"""Asking, and the pages that show runs with what people decided."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers
from django_htmx.http import trigger_client_event

from workbench.accounts.permissions import Permission
from workbench.collection_settings.strategy_fields import StrategyFields
from workbench.documents.models import Collection
from workbench.documents.picker import picker
from workbench.errors import WorkbenchError
from workbench.infra.acts import refused_in, told
from workbench.infra.addresses import words_in
from workbench.infra.exports import download
from workbench.infra.replica import from_replica
from workbench.runs import selectors, services
from workbench.runs.estimates import Estimate, question_estimate
from workbench.runs.forms import AskForm, CompareDecisionForm, CompareForm, ScopeFields
from workbench.runs.models import Candidate, dom_id_of
from workbench.runs.strategies import strategy_for
from workbench.runs.suggestions import drafted

from . import candidate_page, comparison, run_answer, run_page, run_tabs
from .ask_page import ask_page
from .blindness import after_blind_decisions, require_sight
from .candidates import candidate_for
from .run_list import run_list as list_of_runs


@require_http_methods(["GET", "POST"])
def ask(request: HttpRequest) -> HttpResponse:
    """The question form; a posted question leads to its run."""
    collection = _chosen_collection(request)
    form = AskForm(
        request.POST or None,
        user=request.user,
        collection=collection,
        initial=_asked_for(request, collection),
    )
    if request.method == "POST" and form.is_valid():
        cleaned = form.cleaned_data
        with refused_in(form):
            outcome = services.question_ask(
                actor=request.user,
                collection=cleaned["collection"],
                text=cleaned["text"],
                **form.scope(),
                strategy=cleaned["strategy"],
                use_cache=not cleaned["fresh"],
                follow_references=cleaned["follow_references"],
                methods=cleaned["methods"],
                edits=cleaned["keywords"],
                options=form.options(),
                follows=cleaned["follows"],
            )
            if outcome.is_cached:
                messages.info(
                    request,
                    _(
                        "This was asked before: here is that run. Tick “Ignore earlier answers” to run it again."
                    ),
                )
                if cleaned["follows"] and outcome.run.follows_id != cleaned["follows"].pk:
                    messages.info(request, _("It is not linked to the question that you followed up."))
            return redirect("questions:run", pk=outcome.run.pk)
    if request.htmx and request.htmx.target == "ask-documents" and collection is not None:
        found = picker(
            collection=collection,
            user=request.user,
            find=request.GET.get("find", ""),
            chosen=form.documents_so_far(),
        )
        return render(request, "runs/ask.html#documents", {"picker": found})
    context = ask_page(
        user=request.user, form=form, collection=collection, find=request.GET.get("find", "")
    ) | {
        "estimate": _estimate(form, collection),
        "is_choosing": "find" in request.GET,
        "is_elsewhere": collection is not None and request.GET.get("shown") != collection.slug,
    }
    return render(request, "runs/ask.html#changed" if request.htmx else "runs/ask.html", context)


def _asked_for(request: HttpRequest, collection: Collection | None) -> dict[str, Any]:
    """What the address says of the form; ``q`` is the question in links, ``about`` a heading to ask about."""
    given = request.GET
    text = given.get("text") or given.get("q") or drafted(words_in(given.get("about"))[:200])
    initial: dict[str, Any] = {"collection": collection, "text": text}
    plain = ("follows", "strategy", "keywords", "follow_references", "fresh", *StrategyFields.base_fields)
    initial |= {name: given[name] for name in plain if name in given}
    return initial | {
        name: given[name] if name.startswith("effective_") else given.getlist(name)
        for name in ("document", *ScopeFields.base_fields)
        if name in given
    }


def _estimate(form: AskForm, collection: Collection | None) -> Estimate | None:
    """What the question in the form will cost. None while the form is incomplete."""
    if collection is None:
        return None
    try:
        strategy = strategy_for(collection=collection, wanted=form["strategy"].value() or "")
        return question_estimate(
            collection=collection, strategy=strategy, given=form.options_so_far(strategy)
        )
    except WorkbenchError:
        return None


def _chosen_collection(request: HttpRequest) -> Collection | None:
    slug = request.POST.get("collection") or request.GET.get("collection")
    visible = Collection.objects.visible_to(request.user, Permission.ASK)
    return visible.filter(slug=slug).first() if slug else visible.first()


@require_GET
def run_list(request: HttpRequest) -> HttpResponse:
    context = list_of_runs(user=request.user, query=request.GET)
    return render(request, "runs/runs.html", context)


@require_GET
@vary_on_headers("HX-Request")
def run_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """The run page: stages while it goes, then answer, candidates by role, and the tabs."""
    run = selectors.run_for(user=request.user, pk=pk)
    given, named = request.GET, frozenset(request.GET.getlist("card"))
    if request.htmx and "rest" in given:
        rest = run_page.rest_page(run=run, user=request.user, role=given["rest"], named=named)
        return render(request, "runs/run.html#rest", rest)
    if request.htmx and given.get("part") == "answer" and run.is_ended:
        answer = run_answer.answer_page(run=run, user=request.user)
        response = render(request, "runs/run.html#answer", answer)
        if answer.get("regeneration") or "answer" not in answer:
            return response
        return trigger_client_event(response, "workbench:announce", {"text": _("The answer is written.")})
    context = run_page.run_page(
        run=run, user=request.user, tab=given.get("tab", ""), everything="all" in given, named=named
    )
    return render(request, "runs/run.html#live" if request.htmx else "runs/run.html", context)


@require_GET
@after_blind_decisions
def run_json(request: HttpRequest, pk: int) -> HttpResponse:
    run = selectors.run_for(user=request.user, pk=pk)
    require_sight(user=request.user, runs=[run])
    body = json.dumps(run_tabs.record(run), ensure_ascii=False, indent=2)
    return download(body, f"run-{run.pk}.json")


@require_GET
@vary_on_headers("HX-Request")
def evidence(request: HttpRequest, pk: int) -> HttpResponse:
    """A candidate on its page: the exact lines boxed on the image, and the same text. For htmx, only the panel beside
    the cards."""
    candidate = candidate_for(user=request.user, pk=pk, as_card=True)
    page_num = _evidence_page(request, candidate)
    if request.htmx:
        panel = candidate_page.evidence_panel(candidate=candidate, user=request.user, page_num=page_num)
        return render(request, "runs/evidence.html#panel", panel)
    context = candidate_page.evidence_page(candidate=candidate, query=request.GET, user=request.user)
    return render(request, "runs/evidence.html", context)


def _evidence_page(request: HttpRequest, candidate: Candidate) -> int:
    raw = request.GET.get("page", "")
    if not raw:
        return candidate.anchor_page_start
    if not raw.isdecimal() or not 1 <= int(raw) <= max(candidate.document.page_count, 1):
        raise Http404
    return int(raw)


@require_http_methods(["GET", "POST"])
def compare(request: HttpRequest) -> HttpResponse:
    collection = _chosen_collection(request)
    initial = {
        "collection": collection,
        "document": request.GET.get("document"),
        "text": request.GET.get("q"),
    }
    form = CompareForm(request.POST or None, user=request.user, collection=collection, initial=initial)
    if request.method == "POST" and form.is_valid():
        with refused_in(form):
            started = comparison.comparison_start(actor=request.user, **form.cleaned_data)
            return redirect(started)
    return render(request, "runs/compare.html", {"form": form})


@require_GET
@from_replica
@after_blind_decisions
def comparison_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """Roles side by side, disagreements first."""
    found = comparison.comparison_for(user=request.user, pk=pk)
    context = comparison.comparison_page(comparison=found, user=request.user)
    template = "runs/comparison.html#live" if request.htmx else "runs/comparison.html"
    return render(request, template, context)


@require_POST
def comparison_decide(request: HttpRequest, pk: int) -> HttpResponse:
    found = comparison.comparison_for(user=request.user, pk=pk)
    form = CompareDecisionForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("Choose a candidate and a role."))
        return redirect(found)
    with told(request):
        comparison.comparison_decide(actor=request.user, comparison=found, **form.cleaned_data)
    return redirect(f"{found.get_absolute_url()}#{dom_id_of(form.cleaned_data['candidate_id'])}")
