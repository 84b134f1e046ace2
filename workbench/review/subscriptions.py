"""A finished run fills the queue, the last decision has the answer written anew, and the trail and the vocabulary keep
the roles from who decides blind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import Q

from workbench.audit.withholding import withhold
from workbench.runs.events import run_finished
from workbench.synonyms.origins import origins_open

from .blindness import events_hidden, of_hidden_card
from .enqueue import queue_fill
from .events import decided, decision_undone, dispute_adjudicated, not_found_decided, second_review_given
from .regeneration import answer_follow

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from workbench.accounts.models import User


def _origin_open(user: User | AnonymousUser) -> Q:
    # Only a passage confirmed as evidence teaches a pair: who knows the pair's origin knows the role.
    return ~Q(of_hidden_card(user=user, candidate="proposed_from__candidate"))


withhold(events_hidden)
origins_open(_origin_open)
run_finished.subscribe(lambda event: queue_fill(run=event.run, candidates=event.candidates))
decided.subscribe(lambda review: answer_follow(run=review.run))
decision_undone.subscribe(lambda event: answer_follow(run=event.review.run))
not_found_decided.subscribe(lambda review: answer_follow(run=review.run))
second_review_given.subscribe(lambda second: answer_follow(run=second.run))
dispute_adjudicated.subscribe(lambda adjudication: answer_follow(run=adjudication.run))
