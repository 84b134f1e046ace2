"""Deletes documents, and implements legal hold, retention and the delay in which a deletion can be undone.

A deletion has two steps. Somebody deletes the document with a reason: it is no longer asked, searched or rendered, and
its text waits. After the collection's delay, a worker erases the text (:mod:`workbench.erasure`). A legal hold on the
collection refuses both, here and by database triggers (``migrations/*.sql``).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.infra.dispatch import dispatch_on_commit

from .models import (
    DELETED_STATUSES,
    RESTING_STATUSES,
    WORKING_STATUSES,
    Collection,
    Document,
    DocumentQuerySet,
    DocumentStatus,
)
from .services import index_epoch_bump

#: Days; a slip of the hand must not delete what was uploaded this morning.
SHORTEST_RETENTION, LONGEST_RETENTION = 1, 36_500
LONGEST_DELAY = 365
LONGEST_REASON = 500
#: Documents that one tick of the retention deletes: the next tick takes the next ones.
_AT_ONCE = 100
_NOT_DELETED: dict[str, Any] = {
    "status_before": "",
    "deleted_by": None,
    "deleted_at": None,
    "deletion_reason": "",
    "erase_at": None,
}


def document_delete(*, actor: User, document: Document, reason: str) -> Document:
    """Deletes a document: it is no longer asked, and its text is erased after the collection's delay. Raises
    :class:`NotAllowed` without the right to manage the collection, :class:`WorkbenchError` without a reason,
    :class:`Conflict` under a legal hold, while the document is being read, or if it is deleted already."""
    _require_manage(actor, document.collection)
    reason = _required(reason)
    with transaction.atomic():
        locked, collection = locked_rows(document)
        _require_deletable(collection, locked)
        Document.objects.filter(pk=locked.pk).update(
            status=DocumentStatus.DELETED,
            status_before=locked.status,
            deleted_by=actor,
            deleted_at=Now(),
            deletion_reason=reason,
            erase_at=Now() + timedelta(days=collection.erasure_delay_days),
        )
        document.refresh_from_db()
        index_epoch_bump(collection_ids=[collection.pk])
        audit_record(
            actor=actor,
            action=Action.DOCUMENT_DELETED,
            obj=document,
            before={"status": locked.status},
            after={"erase_at": document.erase_at, "sha256": locked.sha256},
            reason=reason,
        )
        if collection.erasure_delay_days == 0:
            dispatch_on_commit("documents.erase", document_id=document.pk)
    return document


def document_keep(*, actor: User, document: Document, reason: str) -> Document:
    """Undoes a deletion while the text still exists: the document is as before. Raises :class:`NotAllowed`,
    :class:`WorkbenchError` without a reason, :class:`Conflict` if it is not deleted, is erased already, or retention
    would delete it again immediately."""
    _require_manage(actor, document.collection)
    reason = _required(reason)
    with transaction.atomic():
        locked, collection = locked_rows(document)
        if locked.status != DocumentStatus.DELETED:
            raise Conflict(_("This document is not waiting to be erased."), code="not_deleted")
        if _ended(collection).filter(pk=locked.pk).exists():
            raise Conflict(
                _("The retention of this collection has ended for it. Change the retention first."),
                code="retention_ended",
            )
        Document.objects.filter(pk=locked.pk).update(**_NOT_DELETED | {"status": locked.status_before})
        index_epoch_bump(collection_ids=[locked.collection_id])
        audit_record(
            actor=actor,
            action=Action.DOCUMENT_KEPT,
            obj=locked,
            before={"erase_at": locked.erase_at},
            after={"status": locked.status_before},
            reason=reason,
        )
    document.refresh_from_db()
    return document


def locked_rows(document: Document) -> tuple[Document, Collection]:
    """Locks document and collection until the transaction ends, so that this and placing a hold wait for each other.
    The document is locked first, as at the end of ingestion."""
    row = Document.objects.select_for_update(no_key=True).get(pk=document.pk)
    return row, Collection.objects.select_for_update(no_key=True).get(pk=row.collection_id)


def documents_retain() -> int:
    """Deletes documents whose retention has ended, a batch at a time. Returns their number. The deletion can be undone
    during the collection's delay."""
    deleted = 0
    for document in documents_due():
        reason = f"retention of {document.collection.retention_days} days"
        try:
            document_delete(actor=User.objects.system(), document=document, reason=reason)
        except Conflict:  # held or taken up meanwhile
            continue
        deleted += 1
    return deleted


def documents_due() -> list[Document]:
    """The next documents for the retention to delete, of each collection the oldest first. An index holds them by
    collection and age (``documents_by_age``): what is not due is not looked at."""
    due: list[Document] = []
    for collection in Collection.objects.filter(retention_days__isnull=False).order_by("pk"):
        due += _ended(collection).filter(status__in=RESTING_STATUSES)[: _AT_ONCE - len(due)]
        if len(due) >= _AT_ONCE:
            break
    return due


def _ended(collection: Collection) -> DocumentQuerySet:
    """Documents older than the retention of their collection, the oldest first; none under a hold."""
    if collection.retention_days is None or collection.legal_hold:
        return Document.objects.none()
    before = Now() - timedelta(days=collection.retention_days)
    old = Document.objects.filter(collection=collection, created_at__lt=before)
    return old.select_related("collection").order_by("created_at", "pk")


def hold_set(*, actor: User, collection: Collection, is_held: bool, reason: str) -> Collection:
    """Places a legal hold on the collection, or lifts it. Raises :class:`NotAllowed`, :class:`WorkbenchError` without a
    reason."""
    action = Action.COLLECTION_HOLD_PLACED if is_held else Action.COLLECTION_HOLD_LIFTED
    return _change(actor, collection, {"legal_hold": is_held}, reason, action=action)


def retention_set(
    *, actor: User, collection: Collection, days: int | None, delay_days: int, reason: str
) -> Collection:
    """Sets the retention: documents are deleted automatically after ``days`` (None: never), and erased ``delay_days``
    later. Raises :class:`NotAllowed`; :class:`WorkbenchError` without a reason or outside the limits."""
    if days is not None and not SHORTEST_RETENTION <= days <= LONGEST_RETENTION:
        raise WorkbenchError(
            _("A retention lasts between %(least)d and %(most)d days.")
            % {"least": SHORTEST_RETENTION, "most": LONGEST_RETENTION},
            code="bad_days",
        )
    if not 0 <= delay_days <= LONGEST_DELAY:
        raise WorkbenchError(
            _("A deletion can be taken back for at most %(most)d days.") % {"most": LONGEST_DELAY},
            code="bad_days",
        )
    values = {"retention_days": days, "erasure_delay_days": delay_days}
    return _change(actor, collection, values, reason, action=Action.COLLECTION_RETENTION_CHANGED)


def _change(
    actor: User, collection: Collection, values: Mapping[str, int | bool | None], reason: str, *, action: str
) -> Collection:
    _require_manage(actor, collection)
    reason = _required(reason)
    with transaction.atomic():
        locked = Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
        before = {name: getattr(locked, name) for name in values}
        if before != values:
            # The event comes first: a hold is changed only in a transaction that has it (a trigger sees to it).
            audit_record(
                actor=actor,
                action=action,
                obj=locked,
                collection_id=locked.pk,
                before=before,
                after=dict(values),
                reason=reason,
            )
            Collection.objects.filter(pk=locked.pk).update(**values)
    collection.refresh_from_db()
    return collection


def _require_manage(actor: User, collection: Collection) -> None:
    if not has_permission(actor, collection, Permission.MANAGE):
        raise NotAllowed(
            _("Only an admin of the collection deletes its documents or decides how long they stay.")
        )


def _required(reason: str) -> str:
    if not (reason := reason.strip()[:LONGEST_REASON]):
        raise WorkbenchError(_("Say why; it goes on record."), code="reason_missing")
    return reason


def _require_deletable(collection: Collection, document: Document) -> None:
    if collection.legal_hold:
        raise Conflict(
            _(
                "This collection is under a legal hold: nothing in it is deleted until an admin lifts the hold."
            ),
            code="legal_hold",
        )
    if document.status in DELETED_STATUSES:
        raise Conflict(_("This document is deleted already."), code="deleted")
    if document.status in WORKING_STATUSES:
        raise Conflict(_("This document is being read. Stop it first."), code="working")
