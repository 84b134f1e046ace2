"""Candidate cards on the run page, in the queue and in single responses. ``templates/partials/_candidate_card.html``
describes the shape of a card."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from django.db.models import Count, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, collections_with
from workbench.runs.matches import Matches, marked
from workbench.runs.models import Candidate, ReviewState, Run, RunStatus, Verdict, dom_id_of
from workbench.runs.records import anchor_of, decider_fields, verdict_of
from workbench.runs.words import METHOD_LABELS, erased_words

from .blindness import Sight
from .candidates import candidates_shown
from .models import ItemStage, ItemState, QueueItem, ReasonCode, Review, ReviewAction
from .outline import HIDDEN, Outline, by_role
from .results import candidate_role
from .selectors import UNDO_WINDOW, current_review, standing_review

NEEDS_PERSON = {
    "uncertain": gettext_lazy("Low confidence"),
    "embedding_only": gettext_lazy("Only its meaning is near the question; no word of it matches."),
    "unsupported_departure": gettext_lazy("The model's role departs from what the detectors found."),
    "displaced": gettext_lazy(
        "Rules or reranker rate it above the noise; the model kept few others instead."
    ),
    "no_strong_match": gettext_lazy("It is among the nearest passages, and none comes close."),
    "undecided": gettext_lazy("The model gave no usable verdict for it."),
    "unverified_quote": gettext_lazy("The reason quotes words that are not in the source."),
    "no_quote": gettext_lazy("The model quotes nothing of the passage."),
    "orders_disagree": gettext_lazy("Read in another order, the model gives the passage another role."),
}

#: Reasons that the card flags with their words.
_FLAGGED = frozenset({"injection_suspected"})


def dom_id(candidate: Candidate | Outline) -> str:
    """The HTML id of the card: unique, and valid in CSS."""
    return dom_id_of(candidate.candidate_id)


def item_of(candidate: Candidate) -> QueueItem | None:
    return getattr(candidate, "queue_item", None)


#: A template looks for what is missing in many places before it gives up: what a card does not offer is named too.
_NOT_OFFERED: dict[str, Any] = dict.fromkeys(
    ("approve_url", "override_url", "unsure_url", "blind_url", "waits_for", "document_name", "document_url")
)
#: The same of a page whose cards were not refused anything.
NOTHING_TYPED: dict[str, Any] = {
    "card_error": "",
    "typed": dict.fromkeys(("role", "reason_code", "comment"), ""),
    "next_url": "",
    "item_id": "",
}


def card_of(
    candidate: Candidate, *, run: Run, sight: Sight, reviewer: User | None, is_brief: bool = False
) -> dict[str, Any]:
    """The data of a candidate's card. ``is_brief`` folds it into one line with its reason. ``sight`` belongs to the
    person looking at it; ``reviewer`` is that person if they can decide. A hidden card contains nothing from the
    machine, nor who found the passage and how well."""
    verdict, newest = verdict_of(candidate), current_review(candidate)
    hidden = sight.hides(item=item_of(candidate), run=run)
    matches = Matches() if hidden else matches_of(candidate)
    card = _NOT_OFFERED | {
        "dom_id": dom_id(candidate),
        "candidate_id": candidate.candidate_id,
        "scope": anchor_of(candidate),
        "breadcrumb": _breadcrumb(candidate),
        "detectors": [] if hidden else _detectors(candidate),
        "rrf_rank": None if hidden else candidate.rrf_rank,
        "evidence_url": reverse("questions:evidence", args=[candidate.pk]),
        "decision": None if hidden else _decision(candidate, newest, reviewer),
        "version": newest.pk if newest else None,
        "effective_role": None if hidden else candidate_role(candidate),
        "added_by": str(candidate.added_by) if candidate.added_by_id and not hidden else "",
        "is_brief": is_brief and not hidden,
        "hide_machine": hidden,
        **_machine(None if hidden else verdict),
        **_words(candidate, whole=hidden or not is_brief, matches=matches),
    }
    if run.question.document_id is None:
        card |= {
            "document_name": str(candidate.document),
            "document_url": candidate.document.get_absolute_url(),
        }
    if reviewer is not None:
        card |= _addresses(candidate, verdict, reviewer, is_hidden=hidden)
    return card


def _decision(candidate: Candidate, newest: Review | None, reviewer: User | None) -> dict[str, Any] | None:
    """The decision that counts, with the undo address of the person's own latest one."""
    decision = decision_of(standing_review(candidate.reviews.all()))
    if decision is None or newest is None or reviewer is None:
        return decision
    is_fresh = newest.created_at > timezone.now() - UNDO_WINDOW
    if newest.action != ReviewAction.UNDO and newest.reviewer_id == reviewer.pk and is_fresh:
        decision["undo_url"] = reverse("review:undo", args=[candidate.pk])
    return decision


def matches_of(candidate: Candidate) -> Matches:
    """The words that match the question's; none for an erased text."""
    text = getattr(candidate, "text", None)
    return Matches() if text is None else Matches.of(text.matched_words, candidate.document.language)


def _words(candidate: Candidate, *, whole: bool, matches: Matches) -> dict[str, Any]:
    """The text of a card: the evidence and, if the card shows it whole, the section around it."""
    text = getattr(candidate, "text", None)
    if text is None:
        return {
            "snippet": marked(erased_words(), [], "en"),
            "context": [],
            "context_lines": 0,
            "meant": [],
        }
    keywords, language = candidate.matched_keywords, candidate.document.language
    around = text.context if whole and len(text.context) > len(text.anchor) else ""
    return {
        "snippet": marked(reflowed(text.anchor or text.snippet), keywords, language, matches),
        "context": marked(reflowed(around), keywords, language, matches),
        "meant": matches.pairs,
        "context_lines": around.count("\n") + 1 if around else 0,
    }


#: What begins a line of its own although the line before it is full: a bullet, a dash, "(a)", "4.2", "3)".
_ITEM = re.compile(r"\s*(?:[•●▪◦*–—-]\s|\(?[a-z0-9ivx]{1,4}[.)]\s|\d+(?:\.\d+)+\s)", re.IGNORECASE)
#: A line shorter than this share of the longest one was ended on purpose: a heading, an equation, a last line.
_FULL_LINE = 0.7


def reflowed(text: str) -> str:
    """The text without the page's line breaks in running paragraphs. Its length is unchanged, so that offsets stay
    valid."""
    lines = text.split("\n")
    full = _FULL_LINE * max(map(len, lines))
    parts = [lines[0]]
    for before, line in pairwise(lines):
        parts.append(" " if len(before) >= full and not _ITEM.match(line) else "\n")
        parts.append(line)
    return "".join(parts)


def _machine(verdict: Verdict | None) -> dict[str, Any]:
    if verdict is None:
        return {
            "role": None,
            "reason": None,
            "quotes": [],
            "counter_argument": "",
            "decided_by": None,
            "probability": None,
            "terms": [],
            "needs_person_reasons": [],
            "injection_suspected": False,
            "injection_words": [],
        }
    return {
        "role": verdict.role,
        "reason": verdict.reason,
        "quotes": verdict.quotes,
        "counter_argument": verdict.counter_argument,
        "decided_by": decider_fields(verdict),
        "probability": verdict.probability,
        "terms": list(verdict.terms.items()),
        "needs_person_reasons": _why_person(verdict.needs_person_reasons),
        "injection_suspected": verdict.injection_suspected,
        "injection_words": verdict.injection_words,
    }


def _why_person(reasons: list[str]) -> list[str]:
    """The reasons in words, except those with their own flag. Each may include the engine's details after a colon."""
    codes = {reason: reason.split(":")[0] for reason in reasons}
    return [str(NEEDS_PERSON.get(code, reason)) for reason, code in codes.items() if code not in _FLAGGED]


def _addresses(
    candidate: Candidate, verdict: Verdict | None, reviewer: User, *, is_hidden: bool
) -> dict[str, str]:
    """The addresses for this person's decisions. A card that waits for another person's decision says so instead."""
    item = item_of(candidate)
    choose = {"blind_url": reverse("review:choose", args=[candidate.pk])}
    unsure = {"unsure_url": reverse("review:unsure", args=[candidate.pk])}
    if item is not None and item.state == ItemState.WAITING and item.stage != ItemStage.FIRST:
        if is_hidden:
            return choose
        if reviewer.pk != item.first_reviewer_id:
            return {
                "waits_for": str(item.get_stage_display()),
                "item_url": reverse("review:item", args=[item.pk]),
            }
    elif is_hidden:
        return choose | unsure
    found = {"override_url": reverse("review:override", args=[candidate.pk])} | unsure
    if verdict and verdict.role:
        found["approve_url"] = reverse("review:approve", args=[candidate.pk])
    return found


def _breadcrumb(candidate: Candidate) -> list[str]:
    return [part for part in candidate.breadcrumb.split(" › ") if part]


def _detectors(candidate: Candidate) -> list[dict[str, Any]]:
    return [
        {
            "label": str(METHOD_LABELS.get(method, method)),
            "rank": candidate.ranks.get(method),
            "score": candidate.scores.get(method),
            "why": candidate.whys.get(method, ""),
        }
        for method in candidate.methods
    ]


def decision_of(review: Review | None) -> dict[str, Any] | None:
    """A person's decision as shown on cards; None if nobody decided."""
    if review is None:
        return None
    return {
        "action": review.action,
        "role": review.role,
        "reason_label": review.get_reason_code_display() if review.reason_code else "",
        "comment": review.comment,
        "by": str(review.reviewer),
        "at": review.created_at,
    }


def is_reviewable(run: Run) -> bool:
    return run.status == RunStatus.DONE and run.review_state != ReviewState.SIGNED


def may_decide(*, run: Run, user: User) -> bool:
    """Whether the person sees decision forms on this run's cards."""
    if not is_reviewable(run):
        return False
    reviewed = collections_with(user=user, permission=Permission.REVIEW)
    return reviewed is None or run.collection_id in reviewed


def single_card(*, candidate: Candidate, user: User) -> dict[str, Any]:
    run = candidate.run
    reviewer = user if may_decide(run=run, user=user) else None
    card = card_of(candidate, run=run, sight=Sight(user), reviewer=reviewer)
    return {"card": card, "hide_machine": card["hide_machine"], "reason_choices": ReasonCode.choices}


ROLE_SAYS = {
    HIDDEN: gettext_lazy("hidden until you decide, in the order of the document"),
    "primary": gettext_lazy("carries the answer"),
    "supporting": gettext_lazy("gives context the answer needs"),
    "tangential": gettext_lazy("related, of low priority"),
    "discarded": gettext_lazy("rejected, with the reason on record"),
    "": gettext_lazy("no usable verdict; a person decides"),
}


#: Folded cards of a role that stand on the run page from the beginning; the others come when they are wanted.
FOLDED_SHOWN = 5
#: So few more are not worth a step.
_FEW_MORE = 3


def card_groups(
    *,
    run: Run,
    rows: list[Outline],
    viewer: User,
    reviewer: User | None,
    everything: bool = False,
    named: frozenset[str] = frozenset(),
) -> list[dict[str, Any]]:
    """The cards of a run by effective role. Of the folded cards that need no review, only the first are included, and
    those whose ids are ``named`` because a link leads to them. ``rest`` counts the others, unless ``everything`` is
    set. ``rows`` are the run's."""
    groups = by_role(rows)
    kept = {role: [] if everything else rest_of(members, named=named) for role, members in groups.items()}
    later = {row.pk for members in kept.values() for row in members}
    shown = [row for row in rows if row.pk not in later]
    cards = cards_of(shown, run=run, viewer=viewer, reviewer=reviewer)
    return [
        {
            "role": role,
            "is_hidden": role == HIDDEN,
            "dom_id": f"group-{role or 'undecided'}",
            "says": ROLE_SAYS[role],
            "cards": [cards[row.pk] for row in members if row.pk in cards],
            "count": len(members),
            "rest": len(kept[role]),
        }
        for role, members in groups.items()
    ]


def cards_of(
    rows: list[Outline], *, run: Run, viewer: User, reviewer: User | None
) -> dict[int, dict[str, Any]]:
    """Cards of the run page, by key. Reads their details besides the outline."""
    outlines, sight = {row.pk: row for row in rows}, Sight(viewer)
    return {
        candidate.pk: card_of(
            candidate, run=run, sight=sight, reviewer=reviewer, is_brief=outlines[candidate.pk].is_brief
        )
        for candidate in candidates_shown(run, keys=list(outlines))
    }


def rest_of(members: list[Outline], *, named: frozenset[str] = frozenset()) -> list[Outline]:
    """The cards of a role that the run page loads on demand: folded, nothing to decide, not among the first and not
    named by a link."""
    quiet = [row for row in members if row.is_brief and not row.needs_person and not row.is_hidden]
    rest = [row for row in quiet[FOLDED_SHOWN:] if dom_id(row) not in named]
    return rest if len(rest) > _FEW_MORE else []


def review_tally(*, run: Run) -> dict[str, int]:
    """Counts the verdicts of a run that people must decide, and how many of them are open."""
    required = Q(is_required=True, candidate__isnull=False)
    counts: dict[str, int] = run.queue_items.aggregate(
        required=Count("pk", filter=required),
        open=Count("pk", filter=required & Q(state=ItemState.WAITING)),
    )
    return counts | {"decided": counts["required"] - counts["open"]}


def not_found_review(*, run: Run) -> Review | None:
    """The decision on a not-found result; None if nobody decided."""
    return standing_review(_not_found_reviews(run))


def not_found_words(*, run: Run, reviewer: User | None) -> dict[str, Any]:
    """The decision on a not-found result for the page, with the undo address while the person can undo it."""
    reviews = _not_found_reviews(run)
    newest = max(reviews, key=lambda review: review.pk, default=None)
    may_undo = (
        reviewer is not None
        and newest is not None
        and newest.action != ReviewAction.UNDO
        and newest.reviewer_id == reviewer.pk
        and newest.created_at > timezone.now() - UNDO_WINDOW
    )
    return {
        "not_found_review": standing_review(reviews),
        "not_found_undo_url": reverse("review:not-found-undo", args=[run.pk]) if may_undo else "",
    }


def _not_found_reviews(run: Run) -> list[Review]:
    if not run.not_found:
        return []
    return list(run.reviews.filter(candidate__isnull=True).select_related("reviewer"))
