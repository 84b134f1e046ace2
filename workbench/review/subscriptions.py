"""A finished run fills the queue, the last decision has the answer written anew, and the trail and the vocabulary keep
the roles from who decides blind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q

from workbench.audit.withholding import withhold
from workbench.runs.events import RunFinished, run_finished
from workbench.synonyms.origins import origins_open

from .blindness import events_hidden, of_hidden_card
from .enqueue import queue_fill
from .events import (
    Decided,
    DecisionUndone,
    DisputeAdjudicated,
    NotFoundDecided,
    SecondReviewGiven,
    decided,
    decision_undone,
    dispute_adjudicated,
    not_found_decided,
    second_review_given,
)
from .regeneration import answer_follow

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from workbench.accounts.models import User


def _queue(event: RunFinished) -> None:
    queue_fill(run=event.run, candidates=event.candidates)


def _follow(event: Decided | DecisionUndone | NotFoundDecided) -> None:
    answer_follow(run=event.review.run)


def _follow_second(event: SecondReviewGiven) -> None:
    answer_follow(run=event.second_review.run)


def _follow_adjudication(event: DisputeAdjudicated) -> None:
    answer_follow(run=event.adjudication.run)


def _origin_open(user: User | AnonymousUser) -> Q:
    # Only a passage confirmed as evidence teaches a pair: who knows the pair's origin knows the role.
    return ~Q(of_hidden_card(user=user, candidate="proposed_from__candidate"))


withhold(events_hidden)
origins_open(_origin_open)
run_finished.subscribe(_queue)
decided.subscribe(_follow)
decision_undone.subscribe(_follow)
not_found_decided.subscribe(_follow)
second_review_given.subscribe(_follow_second)
dispute_adjudicated.subscribe(_follow_adjudication)
