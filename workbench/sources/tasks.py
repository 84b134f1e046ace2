"""Tasks of sources."""

from __future__ import annotations

from celery import shared_task

from workbench.infra.dispatch import dispatch

from .looking import source_look
from .selectors import sources_due


@shared_task(name="sources.look")
def look(*, source_id: int) -> None:
    """Looks at a source, if it is due, and wakes a worker for the next: while this machine was looking, those of others
    found no room."""
    if source_look(source_id=source_id):
        for pk in sources_due()[:1]:
            dispatch(look, source_id=pk)


@shared_task(name="sources.sweep")
def sweep() -> int:
    """Wakes a worker for each source that is due; returns how many."""
    return sum(dispatch(look, source_id=pk) for pk in sources_due())
