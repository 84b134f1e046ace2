"""Tasks of the labelling workbench."""

from __future__ import annotations

from celery import shared_task

from workbench.infra.dispatch import dispatch

from .supply import project_fill, projects_to_fill


@shared_task(name="labeling.fill")
def fill(*, project_id: int) -> None:
    project_fill(project_id=project_id)


@shared_task(name="labeling.supply")
def supply() -> int:
    """Wakes a worker for each project that runs out of pairs; returns how many."""
    return sum(dispatch(fill, project_id=pk) for pk in projects_to_fill())
