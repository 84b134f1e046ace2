"""Erasing the text of a deleted document: it goes from every table, file and index; what was decided stays.

What remains is a tombstone: the document's hash, size and figures, who deleted it and why, its candidates with places,
scores and hashes, verdicts and decisions with roles. A text stands there as its SHA-256, so that receipts and
signatures can still be held against a copy that somebody kept.

The work is done in passes that may be repeated and may be killed anywhere. The first erases every table in one
transaction; each removes the files again; the last one settles the document once nothing is under way that could have
read the text before it went.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import structlog
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from workbench.archives.transfers import archive_under_way, archives_erase
from workbench.audit.actions import Action
from workbench.audit.services import audit_work
from workbench.documents.erasure import locked_rows
from workbench.documents.lexical import index_forget
from workbench.documents.models import Document, DocumentStatus
from workbench.documents.pages import forget_pages
from workbench.documents.services import index_epoch_bump
from workbench.exports.models import Export, ExportState
from workbench.exports.services import exports_erase
from workbench.infra.stored import folder_empty
from workbench.review.models import Regeneration, RegenerationState
from workbench.runs.models import ENDED, Run, RunStatus
from workbench.sources.models import SourceFile

from .erased_text import text_erase

logger = structlog.get_logger(__name__)

#: A run that began before the deletion may finish; after this long it is erased under.
_PATIENCE = timedelta(hours=1)
#: Seconds that one tick of the worker takes at most, and documents it looks at.
_TICK_SECONDS, _AT_ONCE = 120.0, 100
ERASED_NAME = "d{pk} (erased)"


def documents_purge() -> int:
    """Erases deleted documents whose time has come, one after another; gives the number that were settled."""
    ends = time.monotonic() + _TICK_SECONDS
    settled = 0
    for pk in _due().order_by("erase_at", "pk").values_list("pk", flat=True)[:_AT_ONCE]:
        if time.monotonic() > ends:
            break
        settled += document_purge(document_id=pk)
    return settled


def document_purge(*, document_id: int) -> bool:
    """Takes one document as far as it goes now; True when it is settled. Does nothing to one that is not due."""
    if not _erase_tables(document_id):
        return False
    document = Document.objects.get(pk=document_id)
    is_quiet = not _is_under_way(document)
    # Once more, for what was written while the first pass was at work.
    if not _erase_tables(document_id) or not _erase_original(document):
        return False
    _erase_copies(document, whole=is_quiet)
    return is_quiet and _settle(document)


def _due() -> QuerySet[Document]:
    return Document.objects.filter(
        Q(status=DocumentStatus.DELETED, erase_at__lte=Now())
        | Q(status=DocumentStatus.ERASED, settled_at__isnull=True),
        collection__legal_hold=False,
    )


def _erase_tables(document_id: int) -> bool:
    """One transaction; False when the document is not due, is held, or had better wait for a run."""
    with transaction.atomic():
        due = _due().filter(pk=document_id).first()
        if due is None:
            return False
        document, collection = locked_rows(due)
        if collection.legal_hold or not _due().filter(pk=document_id).exists():
            return False
        is_first = document.status == DocumentStatus.DELETED
        is_recent = document.erase_at is not None and document.erase_at > timezone.now() - _PATIENCE
        if is_first and is_recent and _is_under_way(document):
            return False
        figures = text_erase(document)
        if is_first:
            _entomb(document, figures)
    return True


def _entomb(document: Document, figures: dict[str, int]) -> None:
    Document.objects.filter(pk=document.pk).update(
        status=DocumentStatus.ERASED,
        erased_at=Now(),
        name=ERASED_NAME.format(pk=document.pk),
        title="",
        failure_code="",
        failure_reason="",
        warnings=[],
        tags=[],
        document_type="",
        issuer="",
        jurisdiction="",
        version_of=None,
    )
    # What a source called it: the hash of its place there stays, so that it does not come in again.
    SourceFile.objects.filter(document=document).update(key="", name="", facts={})
    index_epoch_bump(collection_ids=[document.collection_id])
    audit_work(
        action=Action.DOCUMENT_ERASED,
        obj=document,
        before={
            "sha256": document.sha256,
            "size": document.size,
            "status": document.status_before,
            "version_of": document.version_of_id,
        },
        after=figures | {"deleted_by": document.deleted_by_id},
        reason=document.deletion_reason,
    )


def _is_under_way(document: Document) -> bool:
    """Whether something of the collection is being made that may have read the text before it went."""
    since: dict[str, Any] = {"created_at__lte": document.erased_at or document.deleted_at}
    runs = Run.objects.filter(collection=document.collection_id, **since)
    return (
        runs.exclude(status__in=[*ENDED, RunStatus.QUEUED]).exists()
        or Regeneration.objects.filter(
            run__collection=document.collection_id, state=RegenerationState.WAITING, **since
        ).exists()
        or Export.objects.filter(
            collection=document.collection_id, state=ExportState.WAITING, **since
        ).exists()
        or archive_under_way(collection_id=document.collection_id, **since)
    )


def _erase_original(document: Document) -> bool:
    """The uploaded file; False when a hold came in between. Killed before its end, it is done again."""
    with transaction.atomic():
        locked, collection = locked_rows(document)
        if collection.legal_hold:
            return False
        if locked.file:
            default_storage.delete(locked.file.name)
            Document.objects.filter(pk=locked.pk).update(file="")
    return True


def _erase_copies(document: Document, *, whole: bool) -> None:
    """Page images and the index on this host, exports and archives of the collection. ``whole``: no export is being
    made that could leave another file."""
    forget_pages(document=document)
    index_forget(collection_id=document.collection_id)
    exports_erase(collection=document.collection)
    archives_erase(collection=document.collection)
    if whole:
        _erase_export_remains(document.collection_id)


def _erase_export_remains(collection_id: int) -> None:
    """Files of exports that are removed, failed, or lost their worker: nothing points at them any more."""
    root = f"exports/{collection_id}"
    alive = {
        str(pk)
        for pk in Export.objects.filter(
            collection=collection_id, state__in=[ExportState.WAITING, ExportState.READY]
        ).values_list("pk", flat=True)
    }
    for folder in _folders(root):
        if folder not in alive:
            folder_empty(f"{root}/{folder}")


def _folders(root: str) -> list[str]:
    try:
        return list(default_storage.listdir(root)[0])
    except FileNotFoundError:
        return []


def _settle(document: Document) -> bool:
    """Ends the erasure; a hold placed meanwhile changes nothing any more, the text is gone."""
    with transaction.atomic():
        changed = Document.objects.filter(
            pk=document.pk, status=DocumentStatus.ERASED, settled_at__isnull=True
        ).update(settled_at=Now())
        if changed:
            audit_work(
                action=Action.DOCUMENT_ERASURE_SETTLED,
                obj=document,
                after={"sha256": document.sha256},
            )
    logger.info("document.erasure_settled", document_id=document.pk)
    return bool(changed)
