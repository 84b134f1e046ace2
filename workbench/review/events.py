"""Events of people's decisions, for the apps above. Each is published in the transaction that writes it."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.accounts.models import User
from workbench.infra.events import Event

from .models import Adjudication, Review, SecondReview


@dataclass(frozen=True, slots=True)
class DecisionUndone:
    """A person undid their own decision. ``review`` is the one that no longer counts."""

    review: Review
    by: User


#: A person decided about a candidate, or could not tell.
decided: Event[Review] = Event()
decision_undone: Event[DecisionUndone] = Event()
#: A person confirmed or refuted a not-found result.
not_found_decided: Event[Review] = Event()
#: A second person gave a role without seeing the first one's.
second_review_given: Event[SecondReview] = Event()
#: A third person adjudicated a dispute.
dispute_adjudicated: Event[Adjudication] = Event()
