"""Verdicts of models and words of people are labels, and the trail keeps those on restricted documents."""

from workbench.audit.withholding import withhold
from workbench.review.events import decided, decision_undone, dispute_adjudicated, second_review_given
from workbench.runs.events import verdicts_written

from .selectors import events_hidden
from .services import (
    label_from_adjudication,
    label_from_review,
    label_from_second_review,
    labels_from_verdicts,
    labels_of_review_retract,
)

withhold(events_hidden)
verdicts_written.subscribe(lambda event: labels_from_verdicts(run=event.run, verdicts=event.verdicts))
decided.subscribe(lambda review: label_from_review(review=review))
decision_undone.subscribe(lambda event: labels_of_review_retract(review=event.review, by=event.by))
second_review_given.subscribe(lambda second: label_from_second_review(second=second))
dispute_adjudicated.subscribe(lambda adjudication: label_from_adjudication(adjudication=adjudication))
