"""Tasks of ingestion."""

from __future__ import annotations

from celery import shared_task

from workbench.ops.dispatch import dispatch
from workbench.ops.leases import lease_free


@shared_task(name="documents.ingest")
def ingest(*, document_id: int) -> None:
    """Takes one document to its end."""
    from .ingest import document_ingest

    document_ingest(document_id=document_id)


@shared_task(name="documents.sweep")
def sweep() -> int:
    """Wakes a worker for each document whose message was lost or whose worker is gone; returns how many."""
    from .selectors import documents_to_wake

    waiting = documents_to_wake(free=lease_free())
    return sum(dispatch(ingest, document_id=pk) for pk in waiting)
