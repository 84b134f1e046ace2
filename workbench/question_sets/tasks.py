"""Tasks of question sets."""

from __future__ import annotations

from celery import shared_task

from workbench.ops.dispatch import dispatch


@shared_task(name="question_sets.fill")
def fill(*, round_id: int) -> None:
    """Asks the next cells of a round, and goes on while there are any."""
    from .services import round_fill

    if round_fill(round_id=round_id):
        dispatch(fill, round_id=round_id)


@shared_task(name="question_sets.sweep")
def sweep() -> int:
    """Goes on with rounds whose message was lost; returns how many."""
    from .selectors import rounds_unfilled

    return sum(dispatch(fill, round_id=pk) for pk in rounds_unfilled())
