"""Words of people, for the apps above: each is told in the transaction that writes it."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.accounts.models import User
from workbench.infra.events import Event

from .models import Adjudication, Review, SecondReview


@dataclass(frozen=True, slots=True)
class Decided:
    """A person decided about a candidate, or said that they cannot tell."""

    review: Review


@dataclass(frozen=True, slots=True)
class DecisionUndone:
    """A person took a decision of their own back; ``review`` is the one that counts no longer."""

    review: Review
    by: User


@dataclass(frozen=True, slots=True)
class NotFoundDecided:
    """A person confirmed or refuted that the documents do not answer."""

    review: Review


@dataclass(frozen=True, slots=True)
class SecondReviewGiven:
    """A second person gave a role without sight of the first one's."""

    second_review: SecondReview


@dataclass(frozen=True, slots=True)
class DisputeAdjudicated:
    """A third person decided between two."""

    adjudication: Adjudication


decided: Event[Decided] = Event()
decision_undone: Event[DecisionUndone] = Event()
not_found_decided: Event[NotFoundDecided] = Event()
second_review_given: Event[SecondReviewGiven] = Event()
dispute_adjudicated: Event[DisputeAdjudicated] = Event()
