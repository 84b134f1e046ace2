"""Tasks of ingestion."""

from __future__ import annotations

from celery import shared_task

from workbench.infra.dispatch import dispatch
from workbench.infra.leases import lease_free


@shared_task(name="documents.ingest")
def ingest(*, document_id: int) -> None:
    """Takes the document whose turn it is to its end, and wakes a worker for the next one. The document that the
    message names is one that waits; another may go first."""
    from .ingest import ingest_next
    from .turns import a_file_waits

    if ingest_next() and (waiting := a_file_waits()) is not None:
        dispatch(ingest, document_id=waiting)


@shared_task(name="documents.carry_over")
def carry_over(*, document_id: int) -> None:
    """Takes the decisions on the version before to an accepted version."""
    from workbench.review.carry_over import anchors_carry_over

    anchors_carry_over(document_id=document_id)


@shared_task(name="documents.sweep")
def sweep() -> int:
    """Wakes a worker for each document whose message was lost or whose worker is gone; returns how many."""
    from workbench.review.carry_over import carry_overs_to_wake

    from .selectors import documents_to_wake

    woken = sum(dispatch(ingest, document_id=pk) for pk in documents_to_wake(free=lease_free()))
    return woken + sum(dispatch(carry_over, document_id=pk) for pk in carry_overs_to_wake())


@shared_task(name="documents.draw", soft_time_limit=120, time_limit=150)
def draw(*, drawing_id: int) -> None:
    """Draws one page."""
    from .drawings import drawing_make

    drawing_make(drawing_id=drawing_id)


@shared_task(name="documents.erase")
def erase(*, document_id: int) -> None:
    """Erases one deleted document whose time has come."""
    from .purge import document_purge

    document_purge(document_id=document_id)


@shared_task(name="documents.retain")
def retain() -> int:
    """Deletes what the retention of its collection has ended, and erases what is due; returns how many were settled."""
    from .erasure import documents_retain
    from .purge import documents_purge

    documents_retain()
    return documents_purge()
