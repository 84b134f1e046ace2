"""Events of people's decisions, for the apps above. Each is published in the transaction that writes it."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.accounts.models import User
from workbench.infra.events import Event

from .models import Adjudication, Review, SecondReview


@dataclass(frozen=True, slots=True)
class Decided:
    """A person decided about a candidate, or could not tell."""

    review: Review


@dataclass(frozen=True, slots=True)
class DecisionUndone:
    """A person undid their own decision. ``review`` is the one that no longer counts."""

    review: Review
    by: User


@dataclass(frozen=True, slots=True)
class NotFoundDecided:
    """A person confirmed or refuted a not-found result."""

    review: Review


@dataclass(frozen=True, slots=True)
class SecondReviewGiven:
    """A second person gave a role without seeing the first one's."""

    second_review: SecondReview


@dataclass(frozen=True, slots=True)
class DisputeAdjudicated:
    """A third person adjudicated a dispute."""

    adjudication: Adjudication


decided: Event[Decided] = Event()
decision_undone: Event[DecisionUndone] = Event()
not_found_decided: Event[NotFoundDecided] = Event()
second_review_given: Event[SecondReviewGiven] = Event()
dispute_adjudicated: Event[DisputeAdjudicated] = Event()
