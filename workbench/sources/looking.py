"""One look at a source: what is new there becomes documents, each once.

The rows of a file and the cursor past it are one transaction, which ends with a conditional update that only the holder
of the lease passes. So a worker that dies in between leaves nothing half done, and one that lost its lease writes
nothing: whatever it did not write down is listed again, and what it did is known.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import timedelta
from tempfile import SpooledTemporaryFile
from typing import IO, Any

import structlog
from django.conf import settings
from django.core.files.base import File
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from workbench.accounts.permissions import Permission, has_permission
from workbench.documents.services import clean_file_name, document_upload, too_large
from workbench.documents.unpacking import archive_files, is_archive
from workbench.errors import Unavailable, WorkbenchError
from workbench.infra.leases import Heartbeat, LeaseLost, Limit, lease_claim, leased, new_owner
from workbench.infra.storable import storable, storable_json

from .borders import require_own_place
from .kinds import kind_named
from .models import FileState, Source, SourceFile, SourceState
from .protocol import Cursor, Entry, Piece, Reader, SourceDown
from .secrets import opened

logger = structlog.get_logger(__name__)

#: Seconds after which a look stops listing; the next one goes on from there. A single file may take longer.
_LONGEST_LOOK = 120.0
_OVERDUE = 1500.0
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


@dataclass(frozen=True, slots=True)
class _Fetched:
    """A piece with its bytes, or why there are none."""

    part: int
    name: str
    facts: dict[str, str]
    stream: IO[bytes] | None = None
    error: str = ""


def source_look(*, source_id: int) -> None:
    """Looks at a source, if it is due and nobody else looks."""
    rows = Source.objects.filter(pk=source_id)
    owner = new_owner()
    due = rows.filter(state=SourceState.ACTIVE, next_look_at__lte=Now())
    if not lease_claim(due, owner=owner, count_attempt=False):
        return
    limit = Limit(_OVERDUE, on_overdue=lambda: logger.warning("source.overdue", source_id=source_id))
    with leased(rows, owner=owner, limit=limit) as heartbeat:
        source = rows.select_related("collection", "created_by").get()
        error = ""
        try:
            _look_at(source, owner, heartbeat)
        except LeaseLost:
            return
        except SourceDown as down:
            error = str(down)
        except Exception:
            # A kind of somebody else's may raise anything; its source waits, the others go on.
            logger.exception("source.look_failed", source_id=source_id)
            error = _("The check failed for an unknown reason. The worker's log says more.")
        _end(source, owner, error)


def _end(source: Source, owner: str, error: str) -> None:
    failures = min(source.failures + 1, 30) if error else 0
    pause: float = settings.SOURCE_SECONDS
    if error:
        pause = min(settings.SOURCE_SECONDS * 2**failures, _LONGEST_PAUSE)
    elif source.files.filter(state=FileState.WAITING).exists():
        pause = min(pause, SETTLED_AFTER.total_seconds())  # what may still be written is looked at again soon
    Source.objects.filter(pk=source.pk, lease_owner=owner).update(
        last_looked_at=Now(),
        next_look_at=Now() + timedelta(seconds=pause),
        error=storable(error)[:500],
        failures=failures,
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
        look = _Look(source, owner, reader, heartbeat)
        _take_again(look)
        _take_new(look)


def _take_again(look: _Look) -> None:
    """What somebody asked to try once more; a file that does not come in is failed again, with the reason."""
    for row in list(look.source.files.filter(state=FileState.AGAIN).order_by("pk")[:_BATCH]):
        look.heartbeat.check()
        _take(look, Entry(row.key, row.fingerprint, row.name), again=row)


def _take_new(look: _Look) -> None:
    begun = time.monotonic()
    cursor: Cursor = look.source.cursor
    while True:
        look.heartbeat.check()
        listing = look.reader.list(cursor)
        new = [entry for batch in _batches(listing.entries) for entry in _new_of(look, batch)]
        for number, entry in enumerate(new, start=1):
            look.heartbeat.check()
            _take(look, entry, cursor=listing.cursor if number == len(new) else None)
        if not new and dict(listing.cursor) != dict(cursor):
            _move(look, listing.cursor)
        cursor = listing.cursor
        if listing.is_last or time.monotonic() - begun > _LONGEST_LOOK:
            return


def _batches(entries: Iterable[Entry]) -> list[list[Entry]]:
    every = list(entries)
    return [every[first : first + _BATCH] for first in range(0, len(every), _BATCH)]


def _new_of(look: _Look, entries: list[Entry]) -> list[Entry]:
    """Those that are to be taken now. One that may still be written is noted down, and taken when it stays the same."""
    by_key = {_key_sha256(entry.key): entry for entry in entries}
    rows = look.source.files.filter(key_sha256__in=by_key)
    known = set(rows.exclude(state=FileState.WAITING).values_list("key_sha256", "fingerprint"))
    waiting = rows.filter(state=FileState.WAITING)
    seen = {
        key: (mark, is_old)
        for key, mark, is_old in waiting.annotate(is_old=Q(at__lte=Now() - SETTLED_AFTER)).values_list(
            "key_sha256", "fingerprint", "is_old"
        )
    }
    new, noted = [], []
    for key, entry in by_key.items():
        mark = _mark(entry)
        if (key, mark) in known:
            continue
        before, is_old = seen.get(key, ("", False))
        if entry.is_settled or (before == mark and is_old):
            new.append(entry)
        elif before != mark:
            noted.append((key, mark, entry))
    if noted or look.source.files.filter(state=FileState.WAITING, at__lt=Now() - _FORGOTTEN_AFTER).exists():
        _note(look, noted)
    return new


def _note(look: _Look, noted: list[tuple[str, str, Entry]]) -> None:
    with transaction.atomic():
        files = look.source.files
        old = Q(key_sha256__in=[key for key, _mark_, _entry in noted]) | Q(at__lt=Now() - _FORGOTTEN_AFTER)
        files.filter(old, state=FileState.WAITING).delete()
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
    """Brings an entry in: all its rows, and the cursor where it is the last of its listing, in one transaction."""
    with ExitStack() as files:
        pieces = _fetched(look, entry, files)
        if again is not None and again.part:
            pieces = [piece for piece in pieces if piece.part == again.part] or [
                _Fetched(again.part, again.name, {}, error=_("It is not there any more."))
            ]
        key = again.key_sha256 if again is not None else _key_sha256(entry.key)
        with transaction.atomic():
            rows = look.source.files.filter(key_sha256=key)
            # The row that noted it as being written, or that failed as a whole: what came of it takes its place.
            stale = rows.filter(
                Q(state=FileState.WAITING) | Q(part=0, state=FileState.AGAIN, fingerprint=_mark(entry))
            )
            attempts = max([0, *stale.values_list("attempts", flat=True)])
            stale.exclude(fingerprint=_mark(entry), part__in=[piece.part for piece in pieces]).delete()
            for piece in pieces:
                _write_down(look, entry, key, piece, attempts)
            _move(look, cursor)


def _write_down(look: _Look, entry: Entry, key: str, piece: _Fetched, attempts: int) -> None:
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
    values["error"] = storable(values["error"])[:500]
    row, is_new = SourceFile.objects.get_or_create(
        source=look.source,
        key_sha256=key,
        fingerprint=_mark(entry),
        part=piece.part,
        defaults=values
        | {
            "key": storable(entry.key),
            "name": _name(piece.name),
            "facts": storable_json(piece.facts),
            "attempts": attempts + 1,
        },
    )
    if not is_new and row.state != FileState.TAKEN:
        SourceFile.objects.filter(pk=row.pk).update(
            **values,
            name=_name(piece.name),
            facts=storable_json(piece.facts),
            attempts=F("attempts") + 1,
            at=Now(),
        )


def _fetched(look: _Look, entry: Entry, files: ExitStack) -> list[_Fetched]:
    """The pieces of an entry in temporary files that close with ``files``."""
    pieces: list[_Fetched] = []
    try:
        with closing(look.reader.fetch(entry, most_bytes=settings.MAX_UPLOAD_BYTES)) as found:  # type: ignore[type-var]
            for piece in found:
                facts = dict(piece.facts)
                try:
                    stream = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  (closes with the others)
                    files.callback(stream.close)
                    _copy(piece.stream, stream, look.heartbeat)
                except WorkbenchError as error:
                    pieces.append(_Fetched(piece.part, piece.name, facts, error=error.message))
                    continue
                pieces += (
                    _unpacked(piece, facts, stream, files)
                    if is_archive(piece.name)
                    else [_Fetched(piece.part, piece.name, facts, stream)]
                )
    except WorkbenchError as error:
        return [_Fetched(0, entry.name, {}, error=error.message)]
    return pieces or [_Fetched(0, entry.name, {}, error=_("It contains no file."))]


def _unpacked(piece: Piece, facts: dict[str, str], stream: IO[bytes], files: ExitStack) -> list[_Fetched]:
    """The files of a ZIP, each a part of its own; the archive as one that failed, where it is refused as a whole."""
    found: list[_Fetched] = []
    try:
        for number, member in enumerate(archive_files(File(stream)), start=1):
            part = piece.part * _PARTS_OF_ARCHIVE + number
            if member.refusal:
                found.append(_Fetched(part, member.name, facts, error=member.refusal))
                continue
            inner = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  (closes with the others)
            files.callback(inner.close)
            inner.write(member.content)
            inner.seek(0)
            found.append(_Fetched(part, member.name, facts, inner))
    except WorkbenchError as error:
        return [_Fetched(piece.part, piece.name, facts, error=error.message)]
    return found


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
