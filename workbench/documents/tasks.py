"""Tasks of ingestion."""

from __future__ import annotations

from celery import shared_task

from workbench.infra.dispatch import dispatch, dispatch_room
from workbench.infra.leases import lease_free

from .drawings import drawing_make
from .ingest import ingest_next
from .likeness import earlier_documents_sketch
from .selectors import documents_to_wake
from .turns import a_file_waits


@shared_task(name="documents.ingest")
def ingest(*, document_id: int) -> None:
    """Takes the document whose turn it is to its end, and wakes a worker for the next one. The document that the
    message names is one that waits; another may go first."""
    if ingest_next() and (waiting := a_file_waits()) is not None:
        dispatch(ingest, document_id=waiting)


@shared_task(name="documents.sweep")
def sweep() -> int:
    """Wakes workers for documents whose message was lost or whose worker is gone, as far as their queue has room;
    returns how many. Compares a few documents of earlier versions with the others."""
    earlier_documents_sketch()
    waiting = documents_to_wake(free=lease_free(), most=dispatch_room(ingest))
    return sum(dispatch(ingest, document_id=pk) for pk in waiting)


@shared_task(name="documents.draw", soft_time_limit=120, time_limit=150)
def draw(*, drawing_id: int) -> None:
    """Draws one page."""
    drawing_make(drawing_id=drawing_id)
