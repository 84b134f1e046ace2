"""Archives by the pages: asked for or sent, worked on by a worker, fetched or taken in, removed. Each step is on
record; what an archive holds and how far it is believed is :mod:`.services`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from typing import Any, BinaryIO, cast

import structlog
from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import translation
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.documents.models import Collection
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.infra.dispatch import dispatch_on_commit
from workbench.infra.leases import Heartbeat, LeaseLost, lease_claim, lease_free, leased, new_owner
from workbench.infra.storable import storable
from workbench.infra.stored import file_store, folder_empty, scratch
from workbench.review.blindness import require_sight_of_collection

from .models import AT_WORK, Direction, Transfer, TransferState
from .progress import TellingReader, Told
from .reading import MEGABYTE, archive_glance, archive_open
from .services import archive_inspect, collection_export, collection_import

logger = structlog.get_logger(__name__)

#: Bytes of all documents of an archive that comes over the web; larger ones by ``manage.py import_collection``.
MOST_UPLOADED = 2048 * MEGABYTE
#: Archives that a person has sent and neither taken in nor removed.
MOST_WAITING = 3
#: A file holds a whole collection: it stays no longer than it takes to fetch it, or to decide.
KEPT_FOR = timedelta(days=2)
#: A request whose message should have arrived long ago.
LOST_AFTER = timedelta(seconds=10)


def archive_request(*, actor: User, collection: Collection) -> Transfer:
    """Asks for the collection as an archive. Raises :class:`NotAllowed` for those who do not manage it,
    :class:`Conflict` while one is being written."""
    if not has_permission(actor, collection, Permission.MANAGE):
        raise NotAllowed(_("Only an admin of this collection takes all of it out."))
    require_sight_of_collection(user=actor, collection=collection)
    if Transfer.objects.filter(collection=collection, state=TransferState.WRITING).exists():
        raise Conflict(_("An archive of this collection is being written already."), code="under_way")
    transfer = Transfer(
        direction=Direction.OUT,
        collection=collection,
        state=TransferState.WRITING,
        file_name=f"{collection.slug}.zip",
    )
    with transaction.atomic():
        _ask(transfer, actor=actor, action=Action.ARCHIVE_REQUESTED)
    return transfer


def archive_upload(*, actor: User, file: File) -> Transfer:
    """Keeps an archive that was sent, for a worker to check. What is seen to be no archive is refused at once and not
    kept.

    Raises :class:`~workbench.archives.reading.BadArchive`, and :class:`Conflict` when too many wait.
    """
    waiting = Transfer.objects.filter(requested_by=actor, direction=Direction.IN)
    if waiting.filter(state__in=[*AT_WORK, TransferState.CHECKED]).count() >= MOST_WAITING:
        raise Conflict(
            _("%(n)d archives that you uploaded are waiting. Import or remove them first.")
            % {"n": MOST_WAITING},
            code="too_many",
        )
    archive_glance(cast(BinaryIO, file), most_bytes=MOST_UPLOADED)
    file.seek(0)
    transfer = Transfer(
        direction=Direction.IN,
        state=TransferState.CHECKING,
        file_name=storable(str(file.name))[-160:] or "archive.zip",
    )
    stored = ""
    try:
        with transaction.atomic():
            _ask(transfer, actor=actor, action=Action.ARCHIVE_UPLOADED)
            stored = _store(transfer, cast(BinaryIO, file))
            transfer.save(update_fields=["path", "size", "sha256"])
    except BaseException:
        if stored:
            default_storage.delete(stored)
        raise
    return transfer


def archive_confirm(*, actor: User, transfer: Transfer, slug: str) -> None:
    """Has a checked archive taken in under this short name.

    Raises :class:`Conflict` when the name is taken, or the archive was removed or is taken in already.
    """
    if Collection.objects.filter(slug=slug).exists():
        raise Conflict(
            _("There is a collection with the short name %(slug)s here. Choose another one.")
            % {"slug": slug},
            code="slug_taken",
        )
    with transaction.atomic():
        changed = Transfer.objects.filter(pk=transfer.pk, state=TransferState.CHECKED).update(
            state=TransferState.TAKING_IN, slug=slug, attempts=0, failure="", changed_at=Now()
        )
        if not changed:
            raise Conflict(_("This archive is being imported already, or was removed."), code="not_checked")
        _record(actor, Action.ARCHIVE_CONFIRMED, transfer, {"slug": slug, "sha256": transfer.sha256})
        _wake(transfer)


def archive_remove(*, actor: User, transfer: Transfer) -> None:
    """Removes the file before its time. Raises :class:`Conflict` while a worker has it."""
    removed = _remove(transfer, actor=actor)
    if not removed:
        raise Conflict(_("A worker has this archive, or it is removed already."), code="not_removable")


def archive_fetched(*, actor: User, transfer: Transfer) -> None:
    """Records that a person takes the file out. Raises :class:`Conflict` when it was removed."""
    if transfer.state != TransferState.READY:
        raise Conflict(_("This archive was removed. Ask for it again."), code="removed")
    with transaction.atomic():
        _record(actor, Action.ARCHIVE_FETCHED, transfer, {"sha256": transfer.sha256})


def _ask(transfer: Transfer, *, actor: User, action: str) -> None:
    transfer.requested_by = actor
    transfer.language = (translation.get_language() or "en")[:8]
    transfer.save(force_insert=True)
    _record(actor, action, transfer, {"file": transfer.file_name})
    _wake(transfer)


def _wake(transfer: Transfer) -> None:
    dispatch_on_commit("archives.work", transfer_id=transfer.pk)


def _record(actor: User, action: str, transfer: Transfer, after: dict[str, Any], **more: Any) -> None:
    collection_id = transfer.collection_id
    audit_record(actor=actor, action=action, obj=transfer, collection_id=collection_id, after=after, **more)


# --- what a worker does -------------------------------------------------------------------------------------


def archive_work(*, transfer_id: int) -> None:
    """Does what the archive waits for. Safe to repeat: each step is done once, and a lost worker's is begun anew."""
    rows = Transfer.objects.filter(pk=transfer_id)
    owner = new_owner()
    if not lease_claim(rows.filter(state__in=AT_WORK), owner=owner):
        return
    with leased(rows, owner=owner) as heartbeat:
        transfer = rows.select_related("collection", "requested_by").get()
        try:
            if transfer.attempts > settings.MAX_ATTEMPTS:
                raise WorkbenchError(
                    _("This stopped its worker three times and was given up. Request it again.")
                )
            if not transfer.requested_by.is_active:
                raise NotAllowed(_("Who asked for this may not sign in any more."))
            with translation.override(transfer.language):
                _STEPS[TransferState(transfer.state)](transfer, heartbeat, owner)
        except LeaseLost:
            return
        except (WorkbenchError, OSError) as error:
            logger.warning("archive.failed", transfer=transfer.pk, error=type(error).__name__)
            _fail(
                transfer, owner, getattr(error, "message", "") or _("The file could not be read or written.")
            )


def _write(transfer: Transfer, heartbeat: Heartbeat, owner: str) -> None:
    assert transfer.collection is not None
    folder_empty(transfer.folder)  # what a lost worker left
    total = sum(transfer.collection.documents.values_list("size", flat=True))
    told = Told(transfer.pk, total=total, check=heartbeat.check)
    with scratch() as file:
        figures = collection_export(
            actor=transfer.requested_by,
            collection=transfer.collection,
            target=file,
            progress=told.more,
        )
        _store(transfer, file)
    with transaction.atomic():
        _moved(
            transfer, owner, TransferState.READY,
            path=transfer.path, size=transfer.size, sha256=transfer.sha256, figures=asdict(figures),
        )  # fmt: skip
        _record(
            User.objects.system(),
            Action.ARCHIVE_MADE,
            transfer,
            {"sha256": transfer.sha256},
            actor_kind="worker",
        )


def _check(transfer: Transfer, heartbeat: Heartbeat, owner: str) -> None:
    with default_storage.open(transfer.path, "rb") as stored:
        told = Told(transfer.pk, total=transfer.size, check=heartbeat.check)
        stream = cast(BinaryIO, TellingReader(stored, told.more))
        with archive_open(stream, most_bytes=MOST_UPLOADED) as archive:
            slug = _free_slug(archive.manifest.collection.slug)
        figures = archive_inspect(
            actor=transfer.requested_by, stream=stream, slug=slug, most_bytes=MOST_UPLOADED
        )
    _moved(transfer, owner, TransferState.CHECKED, slug=slug, figures=asdict(figures), attempts=0)


def _take_in(transfer: Transfer, heartbeat: Heartbeat, owner: str) -> None:
    stored: list[str] = []
    # Every byte is read twice: against its hash first, then into its place.
    told = Told(transfer.pk, total=2 * transfer.size, check=heartbeat.check)
    try:
        with default_storage.open(transfer.path, "rb") as file, transaction.atomic():
            collection, figures = collection_import(
                actor=transfer.requested_by,
                stream=cast(BinaryIO, TellingReader(file, told.more)),
                slug=transfer.slug,
                most_bytes=MOST_UPLOADED,
            )
            stored = list(collection.documents.values_list("file", flat=True))
            _moved(
                transfer,
                owner,
                TransferState.TAKEN_IN,
                collection=collection,
                figures=asdict(figures),
                path="",
            )
    except Conflict as error:
        if error.code != "slug_taken":
            raise
        # Somebody was quicker: the archive is as good as before and waits for another name.
        _moved(transfer, owner, TransferState.CHECKED, failure=error.message)
    except BaseException:
        for name in stored:
            default_storage.delete(name)
        raise
    else:
        folder_empty(transfer.folder)


_STEPS: dict[TransferState, Callable[[Transfer, Heartbeat, str], None]] = {
    TransferState.WRITING: _write,
    TransferState.CHECKING: _check,
    TransferState.TAKING_IN: _take_in,
}


def _free_slug(wanted: str) -> str:
    """The archive's own short name, or the first free one after it."""
    taken = set(Collection.objects.filter(slug__startswith=wanted[:70]).values_list("slug", flat=True))
    if wanted not in taken:
        return wanted
    number = 2
    while f"{wanted[:70]}-{number}" in taken:
        number += 1
    return f"{wanted[:70]}-{number}"


def _store(transfer: Transfer, content: BinaryIO) -> str:
    """Puts the file into the archive's folder; the row is saved by the caller."""
    stored = file_store(content, folder=transfer.folder, name="archive.zip")
    transfer.path, transfer.size, transfer.sha256 = stored.path, stored.size, stored.sha256
    return stored.path


def _moved(transfer: Transfer, owner: str, state: TransferState, **changes: Any) -> None:
    """The next state, if the row is still ours. Raises :class:`LeaseLost`."""
    rows = Transfer.objects.filter(pk=transfer.pk, lease_owner=owner, state=transfer.state)
    if not rows.update(state=state, changed_at=Now(), **changes):
        raise LeaseLost


def _fail(transfer: Transfer, owner: str, failure: str) -> None:
    with transaction.atomic():
        try:
            _moved(transfer, owner, TransferState.FAILED, failure=storable(failure), path="")
        except LeaseLost:
            return
        _record(
            User.objects.system(),
            Action.ARCHIVE_FAILED,
            transfer,
            {},
            reason=failure[:300],
            actor_kind="worker",
        )
    folder_empty(transfer.folder)


# --- what the sweeper does ----------------------------------------------------------------------------------


def archives_to_wake() -> list[int]:
    """Keys of archives whose message was lost or whose worker is gone."""
    rows = Transfer.objects.filter(lease_free(), state__in=AT_WORK, changed_at__lt=Now() - LOST_AFTER)
    return list(rows.order_by("pk").values_list("pk", flat=True)[:100])


def archives_remove_old() -> int:
    """Removes files that were kept long enough; gives their number."""
    old = Q(state__in=[TransferState.READY, TransferState.CHECKED], changed_at__lt=Now() - KEPT_FOR)
    system = User.objects.system()
    return sum(_remove(row, actor=system) for row in Transfer.objects.filter(old).order_by("pk")[:100])


def archives_erase(*, collection: Collection) -> int:
    """Removes every archive of a collection: called when text of it must go. Gives the number."""
    rows = Transfer.objects.filter(collection=collection, state=TransferState.READY)
    system = User.objects.system()
    return sum(_remove(row, actor=system) for row in rows)


def archive_under_way(*, collection_id: int, **since: Any) -> bool:
    """Whether an archive of the collection is being written that may have read text before it went."""
    rows = Transfer.objects.filter(collection=collection_id, state=TransferState.WRITING, **since)
    return rows.exists()


def _remove(transfer: Transfer, *, actor: User) -> bool:
    with transaction.atomic():
        changed = Transfer.objects.filter(
            pk=transfer.pk, state__in=[TransferState.READY, TransferState.CHECKED]
        ).update(state=TransferState.REMOVED, path="", changed_at=Now())
        if not changed:
            return False
        _record(actor, Action.ARCHIVE_REMOVED, transfer, {"sha256": transfer.sha256})
    folder_empty(transfer.folder)
    return True
