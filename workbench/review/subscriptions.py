"""A finished run fills the queue, the last decision has the answer written anew, and the trail keeps the roles from who
decides blind."""

from workbench.audit.withholding import withhold
from workbench.runs.events import run_finished

from .blindness import events_hidden
from .enqueue import queue_fill
from .events import decided, decision_undone, dispute_adjudicated, not_found_decided, second_review_given
from .regeneration import answer_follow

withhold(events_hidden)
run_finished.subscribe(lambda event: queue_fill(run=event.run, candidates=event.candidates))
decided.subscribe(lambda review: answer_follow(run=review.run))
decision_undone.subscribe(lambda event: answer_follow(run=event.review.run))
not_found_decided.subscribe(lambda review: answer_follow(run=review.run))
second_review_given.subscribe(lambda second: answer_follow(run=second.run))
dispute_adjudicated.subscribe(lambda adjudication: answer_follow(run=adjudication.run))
