"""Verdicts of models and words of people are labels, and the trail keeps those on restricted documents."""

from __future__ import annotations

from workbench.audit.withholding import withhold
from workbench.review.events import (
    Decided,
    DecisionUndone,
    DisputeAdjudicated,
    SecondReviewGiven,
    decided,
    decision_undone,
    dispute_adjudicated,
    second_review_given,
)
from workbench.runs.events import VerdictsWritten, verdicts_written

from .selectors import events_hidden
from .services import (
    label_from_adjudication,
    label_from_review,
    label_from_second_review,
    labels_from_verdicts,
    labels_of_review_retract,
)


def _label_verdicts(event: VerdictsWritten) -> None:
    labels_from_verdicts(run=event.run, verdicts=event.verdicts)


def _label_decision(event: Decided) -> None:
    label_from_review(review=event.review)


def _take_back(event: DecisionUndone) -> None:
    labels_of_review_retract(review=event.review, by=event.by)


def _label_second_review(event: SecondReviewGiven) -> None:
    label_from_second_review(second=event.second_review)


def _label_adjudication(event: DisputeAdjudicated) -> None:
    label_from_adjudication(adjudication=event.adjudication)


withhold(events_hidden)
verdicts_written.subscribe(_label_verdicts)
decided.subscribe(_label_decision)
decision_undone.subscribe(_take_back)
second_review_given.subscribe(_label_second_review)
dispute_adjudicated.subscribe(_label_adjudication)
