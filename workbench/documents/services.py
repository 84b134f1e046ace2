"""Collections and documents: everything that writes, except the steps of ingestion (``ingest.py``)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

import structlog
from django.conf import settings
from django.core.files.base import ContentFile, File
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils.text import slugify
from django.utils.translation import gettext as _

from workbench.accounts.memberships import roles_forget
from workbench.accounts.models import MemberRole, Membership, User
from workbench.accounts.permissions import Permission, has_permission, token_allows
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import Conflict, NotAllowed, Unavailable, WorkbenchError
from workbench.infra.dispatch import dispatch_on_commit
from workbench.infra.model_endpoints import model_endpoints

from .models import DELETED_STATUSES, WORKING_STATUSES, Collection, Document, DocumentStatus
from .restrictions import hidden_from

if TYPE_CHECKING:
    from collections.abc import Iterable

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class UploadOutcome:
    """The document of an uploaded file, and whether the same bytes existed already."""

    document: Document
    is_duplicate: bool


def collection_create(*, actor: User, name: str, slug: str = "", description: str = "") -> Collection:
    """Creates a collection. Its creator becomes admin and analyst. Raises :class:`NotAllowed` for a token without the
    scope to manage collections, :class:`WorkbenchError` if the name yields no usable slug, :class:`Conflict` if the
    slug is taken."""
    require_creation(actor)
    name = name.strip()
    slug = slug or slugify(name)
    if not name or not slug:
        raise WorkbenchError(_("Give the collection a name with letters or digits."), code="name_missing")
    try:
        with transaction.atomic():
            collection = Collection.objects.create(
                name=name, slug=slug, description=description, allowed_endpoints=_endpoints_at_creation()
            )
            if not actor.is_system:
                Membership.objects.bulk_create(
                    Membership(user=actor, collection=collection, role=role)
                    for role in (MemberRole.ADMIN, MemberRole.ANALYST)
                )
            audit_record(
                actor=actor,
                action=Action.COLLECTION_CREATED,
                obj=collection,
                collection_id=collection.pk,
                after={"slug": slug, "name": name},
            )
    except IntegrityError as error:
        raise Conflict(
            _("There is a collection with this short name already: %(slug)s.") % {"slug": slug}
        ) from error
    roles_forget(user=actor)
    return collection


def require_creation(actor: User) -> None:
    """Raises :class:`NotAllowed` for a token without the scope to manage collections. People may create them."""
    if not token_allows(actor, Permission.MANAGE):
        raise NotAllowed(_("This token may not manage collections."))


def _endpoints_at_creation() -> list[str]:
    """The installation's first endpoint, if any. An admin must add others."""
    return [endpoint.base_url for endpoint in model_endpoints()[:1]]


def document_upload(
    *, actor: User, collection: Collection, file: File, name: str, source_id: int | None = None
) -> UploadOutcome:
    """Stores a file under its SHA-256 and queues it for parsing. If the same bytes exist already, returns their
    document. ``source_id`` names the source that imported it automatically on the actor's behalf. Raises
    :class:`NotAllowed` without the right to upload, :class:`WorkbenchError` for an empty or too large file."""
    if not has_permission(actor, collection, Permission.UPLOAD):
        raise NotAllowed(_("You may not upload to this collection."))
    name = clean_file_name(name)
    size, sha256 = _measure(file)
    existing = _living(collection, sha256)
    if existing:
        _require_open(existing, actor)
        return UploadOutcome(existing, is_duplicate=True)
    stored = _store(file, path=_path_of(collection, sha256), size=size)
    try:
        with transaction.atomic():
            document = _document_create(
                actor=actor,
                collection=collection,
                stored=stored,
                name=name,
                size=size,
                sha256=sha256,
                source_id=source_id,
            )
            dispatch_on_commit("documents.ingest", document_id=document.pk)
    except IntegrityError:
        # Two identical uploads at the same time: the other one created the row.
        existing = Document.objects.get(collection=collection, sha256=sha256, erased_at__isnull=True)
        if existing.file.name != stored:
            default_storage.delete(stored)
        _require_open(existing, actor)
        return UploadOutcome(existing, is_duplicate=True)
    return UploadOutcome(document, is_duplicate=False)


def document_row_for(*, actor: User, collection: Collection, name: str, content: bytes) -> Document:
    """Gets or creates the document of these bytes in the collection, without waking a worker."""
    sha256 = hashlib.sha256(content).hexdigest()
    existing = _living(collection, sha256)
    if existing:
        return existing
    stored = _store(ContentFile(content), path=_path_of(collection, sha256), size=len(content))
    with transaction.atomic():
        return _document_create(
            actor=actor, collection=collection, stored=stored, name=name, size=len(content), sha256=sha256
        )


def _require_open(existing: Document, actor: User) -> None:
    """Refuses to reveal a restricted document. Whoever has the bytes may know that they exist here, but name and fields
    are only for its readers."""
    if hidden_from(actor).filter(pk=existing.pk).exists():
        raise Conflict(
            _(
                "This file is already here, as a document that you may not see. Ask an admin of the collection."
            ),
            code="restricted",
        )


def _living(collection: Collection, sha256: str) -> Document | None:
    """The document of these bytes. Raises :class:`Conflict` until a deleted one is gone, because both use the same file
    name."""
    rows = Document.objects.filter(collection=collection, sha256=sha256).exclude(
        status=DocumentStatus.ERASED, file=""
    )
    existing = rows.first()
    if existing is not None and existing.status in DELETED_STATUSES:
        raise Conflict(
            _(
                "This file was deleted and is about to be erased. Keep that document, or wait until it is gone."
            ),
            code="deleted",
        )
    return existing


def _document_create(
    *,
    actor: User,
    collection: Collection,
    stored: str,
    name: str,
    size: int,
    sha256: str,
    source_id: int | None = None,
) -> Document:
    document = Document(collection=collection, sha256=sha256, name=name, size=size, uploaded_by=actor)
    document.file.name = stored
    document.save(force_insert=True)
    audit_record(
        actor=actor,
        action=Action.DOCUMENT_UPLOADED,
        obj=document,
        collection_id=collection.pk,
        after={"name": name, "sha256": sha256, "size": size}
        | ({} if source_id is None else {"source": source_id}),
        actor_kind=None if source_id is None else "worker",
    )
    return document


def _path_of(collection: Collection, sha256: str) -> str:
    return f"{collection.pk}/{sha256[:2]}/{sha256}"


def _store(file: File, *, path: str, size: int) -> str:
    """Stores the bytes under their hash and returns the file name. An existing file is used only if it is complete. If
    it is still being written or was left by a crash, the bytes get another name."""
    is_new = not default_storage.exists(path)
    if not is_new and default_storage.size(path) == size:
        return path
    file.seek(0)
    try:
        return str(default_storage.save(path, file))
    except OSError as error:
        # Disk full or storage not responding: remove the partial file so that it takes no space.
        if is_new and default_storage.exists(path) and default_storage.size(path) != size:
            default_storage.delete(path)
        logger.warning("document.not_stored", error=type(error).__name__, errno=error.errno)
        raise Unavailable(
            _("The file could not be stored: the disk may be full. Nothing was kept; try again later."),
            code="not_stored",
        ) from error


def _measure(file: File) -> tuple[int, str]:
    """Returns size in bytes and SHA-256 of a file, read in chunks. Refuses empty and oversized files."""
    digest, size = hashlib.sha256(), 0
    for chunk in file.chunks():
        size += len(chunk)
        if size > settings.MAX_UPLOAD_BYTES:
            raise too_large()
        digest.update(chunk)
    if size == 0:
        raise WorkbenchError(_("The file is empty. Choose another one."), code="empty")
    return size, digest.hexdigest()


def too_large() -> WorkbenchError:
    """The error for a file that is too large."""
    limit = settings.MAX_UPLOAD_BYTES // (1024 * 1024)
    return WorkbenchError(
        _("The file is larger than %(limit)d MB. Split it, or ask an admin to raise the limit.")
        % {"limit": limit},
        code="too_large",
    )


def clean_file_name(name: str) -> str:
    """The last part of a path in either style, without control characters, at most 255 characters."""
    last = PurePath(name.replace("\\", "/")).name
    cleaned = "".join(character for character in last if character.isprintable()).strip()
    return cleaned[-255:] or "file"


def document_retry(*, actor: User, document: Document) -> Document:
    """Queues a failed or cancelled document again."""
    require_upload_right(actor, document.collection)
    with transaction.atomic():
        changed = Document.objects.filter(
            pk=document.pk, status__in=[DocumentStatus.FAILED, DocumentStatus.CANCELLED]
        ).update(
            status=DocumentStatus.QUEUED,
            failure_code="",
            failure_reason="",
            attempts=0,
            lease_owner="",
            lease_until=None,
            stage_done=0,
            stage_total=0,
            finished_at=None,
        )
        if changed != 1:
            raise Conflict(_("Only a failed or cancelled document can be retried."))
        audit_record(
            actor=actor, action=Action.DOCUMENT_RETRIED, obj=document, collection_id=document.collection_id
        )
        dispatch_on_commit("documents.ingest", document_id=document.pk)
    document.refresh_from_db()
    return document


def document_cancel(*, actor: User, document: Document) -> Document:
    """Cancels a document that is still being processed. Its worker stops at its next step."""
    require_upload_right(actor, document.collection)
    with transaction.atomic():
        changed = Document.objects.filter(pk=document.pk, status__in=WORKING_STATUSES).update(
            status=DocumentStatus.CANCELLED, lease_owner="", lease_until=None
        )
        if changed != 1:
            raise Conflict(_("This document is not being worked on any more."))
        audit_record(
            actor=actor, action=Action.DOCUMENT_CANCELLED, obj=document, collection_id=document.collection_id
        )
    document.refresh_from_db()
    return document


def index_epoch_bump(*, collection_ids: Iterable[int]) -> None:
    """Tells every worker's local lexical index that searchable text changed."""
    Collection.objects.filter(pk__in=list(collection_ids)).update(index_epoch=F("index_epoch") + 1)


def require_upload_right(actor: User, collection: Collection) -> None:
    """Raises NotAllowed unless the person can change the documents of the collection."""
    if not has_permission(actor, collection, Permission.UPLOAD):
        raise NotAllowed(_("You may not change documents of this collection."))
