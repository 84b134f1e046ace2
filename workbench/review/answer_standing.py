"""The state of an answer: provisional while something must be decided, then final or signed; not found, and who
confirmed it.

Pages and the API use this module, so that they agree. It reveals the state of the queue and people's decisions, so it
must not be called for anybody who still decides blind on this run (``blindness``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from arbitration.contracts import Role
from workbench.runs.models import Answer, ReviewState, Run, RunStatus, dom_id_of
from workbench.runs.records import anchor_of

from .models import QueueItem, Review, ReviewAction
from .results import is_not_found
from .selectors import effective_role, newest_of, standing_review
from .signing import items_to_decide


class AnswerState(StrEnum):
    NONE = "none"  # the run is under way, failed or was stopped
    PROVISIONAL = (
        "provisional"  # people decide on passages yet, or one of them was changed since it was written
    )
    FINAL = "final"
    SIGNED = "signed"


@dataclass(frozen=True, slots=True)
class Standing:
    """``waiting``: what must be decided first. ``not_found``: the result after people's decisions. ``confirmed_by``:
    who confirmed it, once nothing waits. ``cannot_tell``: who could not decide, by the candidate's key (None: the
    not-found result)."""

    state: AnswerState
    waiting: Sequence[QueueItem] = ()
    not_found: bool = False
    confirmed_by: str = ""
    cannot_tell: Mapping[int | None, str] = field(default_factory=dict)


def standing_of(*, run: Run, answer: Answer | None, roles: Sequence[Role | None] | None = None) -> Standing:
    """The state of the newest answer of a run. ``roles`` are the effective ones, if known."""
    waiting = items_to_decide(run=run)
    by_candidate: dict[int | None, list[Review]] = {}
    for review in run.reviews.select_related("reviewer").order_by("pk"):
        by_candidate.setdefault(review.candidate_id, []).append(review)
    if roles is None:
        roles = [
            Role(role) if (role := _role(machine_role, by_candidate.get(key, []))) else None
            for key, machine_role in run.candidates.values_list("pk", "verdict__role")
        ]
    not_found = is_not_found(run, roles=roles)
    unsure = {
        item.candidate_id: str(review.reviewer)
        for item in waiting
        if (review := newest_of(by_candidate.get(item.candidate_id, []))) is not None
        and review.action == ReviewAction.UNSURE
    }
    return Standing(
        state=_state(run, answer, waiting),
        waiting=waiting,
        not_found=not_found,
        confirmed_by="" if waiting or not not_found else _confirmed_by(run, by_candidate),
        cannot_tell=unsure,
    )


def _role(machine_role: str | None, reviews: list[Review]) -> str | None:
    return effective_role(machine_role=machine_role, review=newest_of(reviews))


def standing_words(
    *, run: Run, answer: Answer | None, roles: Sequence[Role | None] | None = None
) -> dict[str, Any]:
    """The state of the answer for a page: each open card with its place, its link and who could not tell."""
    standing = standing_of(run=run, answer=answer, roles=roles)
    cards = [_card(item, standing) for item in standing.waiting]
    return {
        "standing": standing,
        "waiting_cards": cards[:WAITING_SHOWN],
        "waiting_more": len(cards[WAITING_SHOWN:]),
    }


#: Cards that wait and are named beside an answer; the others are counted.
WAITING_SHOWN = 5


def _card(item: QueueItem, standing: Standing) -> dict[str, Any]:
    candidate = item.candidate
    return {
        "dom_id": dom_id_of(candidate.candidate_id) if candidate else "answer-title",
        "document": str(candidate.document) if candidate else "",
        "scope": anchor_of(candidate) if candidate else None,
        "cannot_tell": standing.cannot_tell.get(item.candidate_id, ""),
    }


def _confirmed_by(run: Run, reviews: Mapping[int | None, list[Review]]) -> str:
    """Who confirmed the not-found result; if the machine had found evidence, who discarded the last of it."""
    if run.not_found:
        word = standing_review(reviews.get(None, []))
        return str(word.reviewer) if word and word.action == ReviewAction.CONFIRM_NOT_FOUND else ""
    words = [standing_review(rows) for key, rows in reviews.items() if key is not None]
    last = max((word for word in words if word), key=lambda word: word.pk, default=None)
    return str(last.reviewer) if last else ""


def _state(run: Run, answer: Answer | None, waiting: Sequence[QueueItem]) -> AnswerState:
    if answer is None or run.status != RunStatus.DONE:
        return AnswerState.NONE
    if run.review_state == ReviewState.SIGNED:
        return AnswerState.SIGNED
    return AnswerState.PROVISIONAL if waiting or answer.is_stale else AnswerState.FINAL
