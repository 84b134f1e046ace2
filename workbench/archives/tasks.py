"""Tasks of archives."""

from __future__ import annotations

from celery import shared_task

from workbench.infra.dispatch import dispatch

from .transfers import archive_work, archives_remove_old, archives_to_wake


@shared_task(name="archives.work")
def work(*, transfer_id: int) -> None:
    """Writes, checks or takes in an archive, whichever it waits for."""
    archive_work(transfer_id=transfer_id)


@shared_task(name="archives.sweep")
def sweep() -> int:
    """Wakes a worker for each archive whose message was lost, removes old ones; returns how many were woken."""
    archives_remove_old()
    return sum(dispatch(work, transfer_id=pk) for pk in archives_to_wake())
