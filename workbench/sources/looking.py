"""One look at a source: what is new there becomes documents, each once.

A file and its row are one transaction, which ends with a conditional update that only the holder of the lease passes.
So a worker that dies in between leaves nothing half done, and one that lost its lease writes nothing: whatever it did
not write down is listed again, and what it did is known. The cursor moves with the last file.

A worker may also die of what it reads. So each look is noted as begun, with the pause that a failed one is followed by,
and each entry before it is fetched: one that ends its worker again and again is given up, and the next comes in.
"""

from __future__ import annotations

import hashlib
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import timedelta
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import IO, Any

import structlog
from django.conf import settings
from django.core.files.base import File
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Greatest, Now
from django.utils.translation import gettext as _

from arbitration.adapters.http_client import call_deadline
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.locks import LockSpace, advisory_lock
from workbench.documents.services import clean_file_name, document_upload, too_large
from workbench.documents.unpacking import archive_files, is_archive
from workbench.errors import Unavailable, WorkbenchError
from workbench.infra.leases import (
    HOST_CHARACTERS,
    Heartbeat,
    LeaseLost,
    Limit,
    lease_claim,
    leased,
    new_owner,
)
from workbench.infra.storable import storable, storable_json

from .borders import require_own_place
from .connections import byte_budget, time_is_up
from .kinds import kind_named
from .models import FileState, Source, SourceFile, SourceState
from .protocol import Cursor, Entry, Piece, Reader, SourceDown, packed
from .secrets import opened

logger = structlog.get_logger(__name__)

#: Seconds after which a look takes no further file; the next one goes on from there. A single file may take longer.
_LONGEST_LOOK = 120.0
#: Seconds after which nothing more is received or taken in.
_DEADLINE = 600.0
#: Seconds after which the process ends that does not end by itself.
_OVERDUE = 1500.0
#: Bytes that a server may send to be signed in to, and to list what it has.
_MOST_LISTED = 32 * 1024 * 1024
#: Bytes that a server may send beside a file.
_BESIDE = 16 * 1024
#: A file that may still be written is the same for so long before it is taken.
SETTLED_AFTER = timedelta(seconds=5)
#: Nobody writes at one file for so long: it was taken away before it was whole.
_FORGOTTEN_AFTER = timedelta(days=1)
#: Seconds between two looks at a source that fails, at most.
_LONGEST_PAUSE = 900
_IN_MEMORY = 4 * 1024 * 1024
_BATCH = 1000
_CHUNK = 1024 * 1024
#: More than the files that a ZIP may hold: the parts of one attachment do not run into those of the next.
_PARTS_OF_ARCHIVE = 10_000


@dataclass(frozen=True, slots=True)
class _Look:
    """A look that goes on: who holds the source, and what reads it."""

    source: Source
    owner: str
    reader: Reader
    heartbeat: Heartbeat
    started: float

    @property
    def is_long(self) -> bool:
        """Whether the rest is left to the next look."""
        return time.monotonic() - self.started > _LONGEST_LOOK


@dataclass(frozen=True, slots=True)
class _Fetched:
    """A piece with its bytes, or why there are none."""

    part: int
    name: str
    facts: dict[str, str]
    stream: IO[bytes] | None = None
    error: str = ""


def source_look(*, source_id: int) -> bool:
    """Looks at a source, if it is due, nobody else looks and this machine has room; else False."""
    rows = Source.objects.filter(pk=source_id)
    owner = new_owner()
    if not _turn_take(source_id, owner):
        return False

    def overdue() -> None:
        logger.warning("source.overdue", source_id=source_id)
        _end(rows.get(), owner, _("The check took too long and was stopped."))

    with leased(rows, owner=owner, limit=Limit(_OVERDUE, overdue)) as heartbeat:
        source = rows.select_related("collection", "created_by").get()
        error = ""
        try:
            with call_deadline(_DEADLINE):
                error = _looked(source, owner, heartbeat)
        except LeaseLost:
            return True
        except Exception:
            # A kind of somebody else's may raise anything; its source waits, the others go on.
            logger.exception("source.look_failed", source_id=source_id)
            error = _("The check failed for an unknown reason. The worker's log says more.")
        _end(source, owner, error)
    return True


def _looked(source: Source, owner: str, heartbeat: Heartbeat) -> str:
    """Looks; why the source cannot be read, or ""."""
    try:
        with byte_budget(_MOST_LISTED):  # for signing in and out; each list and each file has its own
            _look_at(source, owner, heartbeat)
    except SourceDown as down:
        return _("The check took too long and was stopped.") if time_is_up() else str(down)
    return ""


def _turn_take(source_id: int, owner: str) -> bool:
    """Claims the source, and notes before the look what a look that ends its worker leaves behind: a failure, and a
    pause that grows. Slow servers hold as many workers of a machine as SOURCES_AT_ONCE says, and no more."""
    host = f"{socket.gethostname()[:HOST_CHARACTERS]}:"
    due = Source.objects.filter(pk=source_id, state=SourceState.ACTIVE, next_look_at__lte=Now())
    with transaction.atomic():
        advisory_lock(LockSpace.SOURCE_TURN)
        looking = Source.objects.filter(lease_until__gte=Now(), lease_owner__startswith=host).count()
        if looking >= settings.SOURCES_AT_ONCE or not lease_claim(due, owner=owner, count_attempt=False):
            return False
        source = Source.objects.get(pk=source_id)
        values: dict[str, Any] = {"is_unfinished": True}
        if source.is_unfinished:  # the look before was
            values["failures"] = source.failures = _once_more(source.failures)
            values["error"] = source.error or _("Its worker stopped before it was done.")
        values["next_look_at"] = Now() + timedelta(seconds=_pause(_once_more(source.failures)))
        Source.objects.filter(pk=source_id).update(**values)
    return True


def _once_more(failures: int) -> int:
    return min(failures + 1, 30)


def _pause(failures: int) -> int:
    return max(settings.SOURCE_SECONDS, min(settings.SOURCE_SECONDS * 2**failures, _LONGEST_PAUSE))


def _end(source: Source, owner: str, error: str) -> None:
    failures = _once_more(source.failures) if error else 0
    pause: float = settings.SOURCE_SECONDS
    if error:
        pause = _pause(failures)
    elif source.files.filter(state=FileState.WAITING).exists():
        pause = min(pause, SETTLED_AFTER.total_seconds())  # what may still be written is looked at again soon
    Source.objects.filter(pk=source.pk, lease_owner=owner).update(
        last_looked_at=Now(),
        next_look_at=Now() + timedelta(seconds=pause),
        error=storable(error)[:500],
        failures=failures,
        is_unfinished=False,
    )


def _look_at(source: Source, owner: str, heartbeat: Heartbeat) -> None:
    if not has_permission(source.created_by, source.collection, Permission.MANAGE):
        raise SourceDown(
            _(
                "It looks on behalf of %(who)s, who does not manage this collection any more. Pause it, then resume it."
            )
            % {"who": source.created_by}
        )
    secret = opened(source.secret)
    if secret is None:
        raise SourceDown(
            _("Its secret is under a key that is not known any more. Remove the source and add it again.")
        )
    try:
        # Asked again: a link may lead elsewhere by now, and not every source was added under this rule.
        require_own_place(collection=source.collection, kind=source.kind, settings=source.settings)
        reader = kind_named(source.kind).open(source.settings, secret)
    except WorkbenchError as error:
        raise SourceDown(error.message) from error
    with closing(reader):
        look = _Look(source, owner, reader, heartbeat, time.monotonic())
        _take_again(look)
        _take_new(look)


def _take_again(look: _Look) -> None:
    """What somebody asked to try once more; a file that does not come in is failed again, with the reason."""
    for row in list(look.source.files.filter(state=FileState.AGAIN).order_by("pk")[:_BATCH]):
        look.heartbeat.check()
        if look.is_long:
            return
        _take(look, Entry(row.key, row.fingerprint, row.name), again=row)


def _take_new(look: _Look) -> None:
    cursor: Cursor = look.source.cursor
    while True:
        look.heartbeat.check()
        with byte_budget(_MOST_LISTED):
            listing = look.reader.list(cursor)
        new = [entry for batch in _batches(listing.entries) for entry in _new_of(look, batch)]
        for number, entry in enumerate(new, start=1):
            look.heartbeat.check()
            if look.is_long:
                return
            _take(look, entry, cursor=listing.cursor if number == len(new) else None)
        if not new and dict(listing.cursor) != dict(cursor):
            _move(look, listing.cursor)
        cursor = listing.cursor
        if listing.is_last or look.is_long:
            return


def _batches(entries: Iterable[Entry]) -> list[list[Entry]]:
    every = list(entries)
    return [every[first : first + _BATCH] for first in range(0, len(every), _BATCH)]


def _new_of(look: _Look, entries: list[Entry]) -> list[Entry]:
    """Those that are to be taken now. One that may still be written is noted down, and taken when it stays the same."""
    by_key = {_key_sha256(entry.key): entry for entry in entries}
    rows = look.source.files.filter(key_sha256__in=by_key)
    known = set(rows.exclude(state=FileState.WAITING).values_list("key_sha256", "fingerprint"))
    waiting = rows.filter(state=FileState.WAITING).annotate(is_old=Q(at__lte=Now() - SETTLED_AFTER))
    seen = {
        (key, mark): is_old
        for key, mark, is_old in waiting.values_list("key_sha256", "fingerprint", "is_old")
    }
    new, noted = [], []
    for key, entry in by_key.items():
        mark = _mark(entry)
        if (key, mark) in known and (key, mark) not in seen:  # in both: some of its pieces came in
            continue
        if entry.is_settled or seen.get((key, mark)):
            new.append(entry)
        elif (key, mark) not in seen:
            noted.append((key, mark, entry))
    if noted or _forgotten(look).exists():
        _note(look, noted)
    return new


def _forgotten(look: _Look) -> QuerySet[SourceFile]:
    """What was noted and is not there any more. Where some of its pieces came in, the others may still be to come."""
    pieces = SourceFile.objects.filter(
        source=look.source, key_sha256=OuterRef("key_sha256"), fingerprint=OuterRef("fingerprint"), part__gt=0
    )
    old = look.source.files.filter(state=FileState.WAITING, at__lt=Now() - _FORGOTTEN_AFTER)
    return old.exclude(Exists(pieces))


def _note(look: _Look, noted: list[tuple[str, str, Entry]]) -> None:
    with transaction.atomic():
        waiting = look.source.files.filter(state=FileState.WAITING)
        waiting.filter(key_sha256__in=[key for key, _mark_, _entry in noted]).delete()
        _forgotten(look).delete()
        SourceFile.objects.bulk_create(
            SourceFile(
                source=look.source,
                key=storable(entry.key),
                key_sha256=key,
                fingerprint=mark,
                name=_name(entry.name),
                state=FileState.WAITING,
            )
            for key, mark, entry in noted
        )
        _move(look)


def _take(
    look: _Look, entry: Entry, *, cursor: Cursor | None = None, again: SourceFile | None = None
) -> None:
    """Brings an entry in, the pieces one after the other, so that none waits in memory for the others. The entry as a
    whole comes last, in one transaction with the cursor where it is the last of its listing."""
    key = again.key_sha256 if again is not None else _key_sha256(entry.key)
    row = _begin(look, entry, key, cursor=cursor, again=again)
    if row is None:
        return
    with byte_budget(packed(settings.MAX_UPLOAD_BYTES) + _BESIDE) as budget:
        try:
            _take_begun(look, entry, key, row, cursor=cursor, again=again)
        except SourceDown as down:
            if budget.is_spent:
                raise SourceDown(_("The server sends more than a file may hold.")) from down
            if not time_is_up():  # no fault of the entry: it waits until the source is back
                SourceFile.objects.filter(pk=row.pk, begun__gt=0).update(begun=F("begun") - 1)
            raise


def _take_begun(
    look: _Look,
    entry: Entry,
    key: str,
    row: SourceFile,
    *,
    cursor: Cursor | None,
    again: SourceFile | None,
) -> None:
    attempt = row.attempts + row.begun + 1
    with ExitStack() as files:
        whole = _pieces_taken(look, entry, key, attempt, files, again=again)
        with transaction.atomic():
            if again is None or not again.part:
                # The row that noted it as begun, or as being written, or that failed as a whole: what came of it
                # takes its place.
                rows = look.source.files.filter(key_sha256=key)
                stale = rows.filter(
                    Q(state=FileState.WAITING) | Q(part=0, state=FileState.AGAIN, fingerprint=_mark(entry))
                )
                stale.exclude(fingerprint=_mark(entry), part__in=[0] if whole else []).delete()
            if whole is not None:
                _write_down(look, entry, key, whole, attempt)
            _move(look, cursor)


def _begin(
    look: _Look, entry: Entry, key: str, *, cursor: Cursor | None, again: SourceFile | None
) -> SourceFile | None:
    """Notes that an entry is about to be fetched: one that ends its worker leaves the note. The row as it was before;
    None for an entry that did so too often, which is given up."""
    with transaction.atomic():
        row = again
        if row is None:
            row, _is_new = SourceFile.objects.get_or_create(
                source=look.source,
                key_sha256=key,
                fingerprint=_mark(entry),
                part=0,
                defaults={
                    "key": storable(entry.key),
                    "name": _name(entry.name),
                    "state": FileState.WAITING,
                },
            )
        is_over = row.begun >= settings.MAX_ATTEMPTS
        rows = SourceFile.objects.filter(pk=row.pk)
        if is_over:
            rows.update(
                state=FileState.FAILED,
                error=_("Importing this file stopped the check three times. It was given up."),
                attempts=F("attempts") + F("begun"),
                begun=0,
                at=Now(),
            )
        else:
            rows.update(begun=F("begun") + 1)
        _move(look, cursor if is_over else None)
    return None if is_over else row


def _pieces_taken(
    look: _Look, entry: Entry, key: str, attempt: int, files: ExitStack, *, again: SourceFile | None
) -> _Fetched | None:
    """Writes the pieces of an entry down, or the one that is tried again; gives the entry as a whole, whose stream
    closes with ``files``, where that is what it holds."""
    wanted = again.part if again is not None else 0
    whole: _Fetched | None = None
    is_there = not wanted
    with closing(_fetched(look, entry)) as pieces:
        for piece in pieces:
            look.heartbeat.check()
            if time_is_up():
                raise SourceDown(_("The check took too long and was stopped."))
            if wanted not in (0, piece.part):
                continue
            is_there = True
            if piece.part:
                _piece_taken(look, entry, key, piece, attempt)
                continue
            whole = piece
            if piece.stream is not None:
                files.callback(piece.stream.close)
    if not is_there and again is not None:
        gone = _Fetched(wanted, again.name, {}, error=_("It is not there any more."))
        _piece_taken(look, entry, key, gone, attempt)
    return whole


def _piece_taken(look: _Look, entry: Entry, key: str, piece: _Fetched, attempt: int) -> None:
    with transaction.atomic():
        _write_down(look, entry, key, piece, attempt)
        _move(look)


def _write_down(look: _Look, entry: Entry, key: str, piece: _Fetched, attempt: int) -> None:
    known = look.source.files.filter(key_sha256=key, fingerprint=_mark(entry), part=piece.part)
    row = known.first()
    if row is not None and row.state == FileState.TAKEN:
        return  # before the worker died; its document may be erased since
    values: dict[str, Any] = {"state": FileState.FAILED, "error": piece.error, "document": None}
    if piece.stream is not None:
        try:
            with transaction.atomic():
                outcome = document_upload(
                    actor=look.source.created_by,
                    collection=look.source.collection,
                    file=File(piece.stream, name=piece.name),
                    name=piece.name,
                    source_id=look.source.pk,
                )
        except Unavailable as error:
            raise SourceDown(error.message) from error
        except WorkbenchError as error:
            values["error"] = error.message
        else:
            values = {
                "state": FileState.TAKEN,
                "error": "",
                "document": outcome.document,
                "is_duplicate": outcome.is_duplicate,
            }
    values |= {
        "error": storable(values["error"])[:500],
        "name": _name(piece.name),
        "facts": storable_json(piece.facts),
    }
    if row is None:
        SourceFile.objects.create(
            source=look.source,
            key=storable(entry.key),
            key_sha256=key,
            fingerprint=_mark(entry),
            part=piece.part,
            attempts=attempt,
            **values,
        )
    else:
        known.update(**values, attempts=F("attempts") + Greatest(F("begun"), 1), begun=0, at=Now())


def _fetched(look: _Look, entry: Entry) -> Iterator[_Fetched]:
    """The pieces of an entry, each in a temporary file that is gone after it, but for the entry as a whole."""
    is_empty = True
    try:
        with closing(look.reader.fetch(entry, most_bytes=settings.MAX_UPLOAD_BYTES)) as found:  # type: ignore[type-var]
            for piece in found:
                is_empty = False
                yield from _fetched_piece(look, piece)
    except WorkbenchError as error:
        yield _Fetched(0, entry.name, {}, error=error.message)
        return
    if is_empty:
        yield _Fetched(0, entry.name, {}, error=_("It contains no file."))


def _fetched_piece(look: _Look, piece: Piece) -> Iterator[_Fetched]:
    facts = dict(piece.facts)
    stream = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  (whoever takes the whole entry closes it)
    is_kept = piece.part == 0 and not is_archive(piece.name)
    try:
        _copy(piece.stream, stream, look.heartbeat)
        if is_archive(piece.name):
            yield from _unpacked(piece, facts, stream)
        else:
            yield _Fetched(piece.part, piece.name, facts, stream)
    except WorkbenchError as error:
        yield _Fetched(piece.part, piece.name, facts, error=error.message)
    finally:
        if not is_kept:
            stream.close()


def _unpacked(piece: Piece, facts: dict[str, str], stream: IO[bytes]) -> Iterator[_Fetched]:
    """The files of a ZIP, each a part of its own; one that is refused as a whole raises."""
    for number, member in enumerate(archive_files(File(stream)), start=1):
        part = piece.part * _PARTS_OF_ARCHIVE + number
        if member.refusal:
            yield _Fetched(part, member.name, facts, error=member.refusal)
        else:
            yield _Fetched(part, member.name, facts, BytesIO(member.content))


def _copy(stream: IO[bytes], target: IO[bytes], heartbeat: Heartbeat) -> None:
    size = 0
    while chunk := stream.read(_CHUNK):
        heartbeat.check()
        size += len(chunk)
        if size > settings.MAX_UPLOAD_BYTES:
            raise too_large()
        target.write(chunk)
    target.seek(0)


def _move(look: _Look, cursor: Cursor | None = None) -> None:
    """Ends the transaction of whoever holds the source, and of nobody else. The row is locked only from here on: the
    heartbeat must not wait for a file that is being stored."""
    rows = Source.objects.filter(pk=look.source.pk, lease_owner=look.owner, state=SourceState.ACTIVE)
    moved = rows.update(cursor=dict(cursor)) if cursor is not None else rows.update(lease_owner=look.owner)
    if moved != 1:
        raise LeaseLost


def _key_sha256(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


def _mark(entry: Entry) -> str:
    return storable(entry.fingerprint)[:200]


def _name(name: str) -> str:
    return clean_file_name(storable(name))
