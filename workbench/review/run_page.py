"""The data of the run page."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from arbitration.contracts import CandidateScope, Role
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, permissions_in
from workbench.documents.beside import Place, beside_url
from workbench.infra.crumbs import crumbs
from workbench.runs import selectors
from workbench.runs.models import Candidate, Run, dom_id_of
from workbench.runs.progress import run_progress
from workbench.runs.records import anchor_of
from workbench.runs.stand_in import stand_in_of
from workbench.runs.words import spent_words

from . import cards
from .blindness import withheld_words
from .models import ReasonCode
from .outline import of_role, outlines_of, tally_of
from .run_answer import answer_of
from .run_tabs import TAB_CONTEXTS, TABS, TELLING_TABS, place_in_words, tabs_of
from .selectors import signing_of


def run_page(
    *, run: Run, user: User, tab: str, everything: bool = False, named: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The run page: progress while it runs, afterwards one tab, read with a fixed number of queries. ``everything``: no
    card is loaded later; ``named``: ids of cards to include."""
    tab = tab if tab in TABS else "verdicts"
    may = permissions_in(user, run.collection)
    context: dict[str, Any] = {
        "run": run,
        "collection": run.collection,
        "tab": tab,
        "facts": [],
        "documents_named": run.question.documents_named,
        "follow_ups": selectors.follow_ups(run=run, user=user),
        "may_ask": Permission.ASK in may,
        "may_share": bool({Permission.REVIEW, Permission.MANAGE, Permission.AUDIT} & may),
        "stand_in": stand_in_of(run),
        "tabs": tabs_of(run, tab),
        "tabs_label": _("Views of this run"),
        "progress": run_progress(run=run),
        "again_url": _again_url(run) if Permission.ASK in may else "",
        "crumbs": crumbs(
            run.collection,
            (_("Runs"), f"{reverse('questions:runs')}?collection={run.collection.slug}"),
            here=_("Run %(pk)d") % {"pk": run.pk},
        ),
    }
    if not run.is_ended:
        return context
    context |= signing_of(run=run) | {"withheld": withheld_words(user=user, run=run)}
    if not context["withheld"]:
        context["facts"] = _facts(run)
    if context["withheld"] and tab in TELLING_TABS:
        return context
    reviewer = user if Permission.REVIEW in may else None
    if tab == "verdicts":
        is_withheld = bool(context["withheld"])
        return context | _verdicts(
            run, user, reviewer, is_withheld=is_withheld, everything=everything, named=named
        )
    return context | TAB_CONTEXTS[tab](run, user)


def rest_page(*, run: Run, user: User, role: str, named: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The cards of a role that the run page, requested with the same names, loads later. Empty for an unknown role."""
    reviewer = user if cards.may_decide(run=run, user=user) else None
    rest = cards.rest_of(of_role(outlines_of(run, viewer=user), role), named=named)
    shown = cards.cards_of(rest, run=run, viewer=user, reviewer=reviewer)
    return {
        "rest": [shown[row.pk] for row in rest if row.pk in shown],
        "run": run,
        "reason_choices": ReasonCode.choices,
        **cards.NOTHING_TYPED,
    }


#: Shorter times are shown in milliseconds.
SECOND_MS = 1000


def _facts(run: Run) -> list[str]:
    """Time, model calls and cost of the run. A run that found nothing takes less, so these are part of what is
    withheld."""
    elapsed = run.elapsed_ms or 0
    short = _("%(ms)d ms") % {"ms": round(elapsed)}
    facts = [short if elapsed < SECOND_MS else _("%(s)s s") % {"s": number_format(elapsed / 1000, 1)}]
    return [*facts, *spent_words(run.llm_call_count, run.cost, run.unpriced_call_count)]


def scope_fields(run: Run) -> dict[str, Any]:
    """Collection, documents and filters of a run, as fields of the question form."""
    facts = dict(run.question.filters or {})
    named = facts.pop("documents", [])
    documents = [run.question.document_id] if run.question.document_id else named
    return {"collection": run.collection.slug, "document": documents, **facts}


def _again_url(run: Run) -> str:
    query = {"q": run.question.text, **scope_fields(run), "methods": run.settings.get("forced_methods", [])}
    if run.follows_id:
        query["follows"] = run.follows_id
    return f"{reverse('questions:ask')}?{urlencode(query, doseq=True)}"


def _follow_up_fields(run: Run) -> list[tuple[str, Any]]:
    """The hidden fields of the follow-up box."""
    given = scope_fields(run) | {"follows": run.pk}
    return [
        (name, value)
        for name, values in given.items()
        for value in (values if isinstance(values, list) else [values])
    ]


def _verdicts(
    run: Run,
    user: User,
    reviewer: User | None,
    *,
    is_withheld: bool,
    everything: bool,
    named: frozenset[str],
) -> dict[str, Any]:
    rows = outlines_of(run, viewer=user)
    may_review = reviewer is not None and cards.is_reviewable(run)
    deciding = reviewer if may_review else None
    answer = (
        {}
        if is_withheld
        else answer_of(
            run=run, reviewer=deciding, roles=[Role(row.role) if row.role else None for row in rows]
        )
    )
    conflicts = [] if is_withheld else _conflicts(run)
    folded = {cards.dom_id(row) for row in rows if row.is_brief}
    if answer:
        named |= _linked(answer, conflicts)
    named &= folded
    return {
        "groups": cards.card_groups(
            run=run, rows=rows, viewer=user, reviewer=deciding, everything=everything, named=named
        ),
        "named_query": urlencode({"card": sorted(named)}, doseq=True),
        "candidate_count": len(rows),
        "tally": tally_of(rows),
        "may_review": may_review,
        "follow_up_fields": _follow_up_fields(run),
        "reason_choices": ReasonCode.choices,
        "conflicts": conflicts,
        "displaced": int(run.artefacts.get("displaced", 0)),
        **cards.NOTHING_TYPED,
        **answer,
    }


def _linked(answer: dict[str, Any], conflicts: list[dict[str, str]]) -> set[str]:
    """Ids of the cards that the page links to: citations in any version of the answer, and contradictions."""
    told = [answer["sentences"], answer["more_sentences"], answer["differences"]]
    told += [earlier["sentences"] for earlier in answer["earlier_answers"]]
    cited = {cite["dom_id"] for sentences in told for sentence in sentences for cite in sentence["cites"]}
    cited |= {near["dom_id"] for near in answer["nearest"]}
    return cited.union(*({pair["first_dom_id"], pair["second_dom_id"]} for pair in conflicts))


def _conflicts(run: Run) -> list[dict[str, str]]:
    """Pairs of passages that contradict each other, with their locations. One query if there are any."""
    ids = {pair[name] for pair in run.conflicts for name in ("first_id", "second_id")}
    rows = run.candidates.filter(candidate_id__in=ids).select_related("document") if ids else ()
    named = {row.candidate_id: row for row in rows}
    return [
        pair
        | {
            "first_dom_id": dom_id_of(pair["first_id"]),
            "second_dom_id": dom_id_of(pair["second_id"]),
            "first_place": place_in_words(named.get(pair["first_id"]), names_document=True),
            "second_place": place_in_words(named.get(pair["second_id"]), names_document=True),
            "beside_url": _candidates_beside(named.get(pair["first_id"]), named.get(pair["second_id"])),
        }
        for pair in run.conflicts
    ]


def _candidates_beside(first: Candidate | None, second: Candidate | None) -> str:
    """The passages of two candidates side by side, while their documents are there."""
    if first is None or second is None or first.document.erased_at or second.document.erased_at:
        return ""
    return beside_url(*((one.document_id, _lines(anchor_of(one))) for one in (first, second)))


def _lines(scope: CandidateScope) -> Place:
    return (scope.page_start, scope.line_start), (scope.page_end, scope.line_end)
