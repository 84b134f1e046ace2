"""Tasks that erase documents. Their names are older than this app."""

from __future__ import annotations

from celery import shared_task

from workbench.documents.erasure import documents_retain

from .purge import document_purge, documents_purge


@shared_task(name="documents.erase")
def erase(*, document_id: int) -> None:
    """Erases one deleted document whose time has come."""
    document_purge(document_id=document_id)


@shared_task(name="documents.retain")
def retain() -> int:
    """Deletes what the retention of its collection has ended, and erases what is due; returns how many were settled."""
    documents_retain()
    return documents_purge()
