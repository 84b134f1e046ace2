"""Tasks of question sets."""

from __future__ import annotations

from celery import shared_task

from workbench.infra.dispatch import dispatch

from .selectors import rounds_unfilled
from .services import round_fill, rounds_finish


@shared_task(name="question_sets.fill")
def fill(*, round_id: int) -> None:
    """Asks the next cells of a round, and goes on while there are any."""
    if round_fill(round_id=round_id):
        dispatch(fill, round_id=round_id)


@shared_task(name="question_sets.sweep")
def sweep() -> int:
    """Puts finished rounds on record, and goes on with those whose message was lost; returns how many of these."""
    rounds_finish()
    return sum(dispatch(fill, round_id=pk) for pk in rounds_unfilled())
