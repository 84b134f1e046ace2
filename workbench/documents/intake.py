"""Bringing files of this machine into a collection and waiting until each has an outcome.

Workers do the work, as with any upload. The waiting process does it itself in two cases: a file that needs a
password, which is neither stored nor sent to the broker; and when nobody has worked on any document for a while,
because no worker runs.

An ingest can be interrupted at any moment and begun again: what is here is known by its SHA-256, so that the same
files again are only waited for. A file that an earlier run took in is told from the copy of another file by its name.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import structlog
from django.core.files.base import ContentFile, File
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.errors import Conflict, WorkbenchError

from .ingest import document_ingest
from .models import WORKING_STATUSES, Collection, Document, DocumentStatus
from .services import clean_file_name, collection_create, document_retry, document_upload
from .unpacking import archive_files, is_archive

logger = structlog.get_logger(__name__)

#: Seconds without a worker at work after which the waiting process takes the next document itself.
PATIENCE_SECONDS = 30.0
#: Seconds between two looks at the database: the first, and the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 1.0


@dataclass(frozen=True, slots=True)
class IngestOutcome:
    """What became of one file. The figures are the document's; a file that was refused has none.

    Scripts read what :meth:`row` gives, where a file that was taken in before is a ``duplicate`` like any other.
    """

    file: str
    status: str  # ready, failed or duplicate
    reason: str = ""
    pages: int = 0
    lines: int = 0
    sections: int = 0
    section_depth: int = 0
    passages: int = 0
    seconds: float = 0.0
    #: A duplicate of itself: an earlier run took in this very file.
    is_known: bool = False
    #: The document was not read yet when the file came, and is now.
    was_awaited: bool = False
    #: Why the document cannot be read, also where another file brought it.
    failure: str = ""

    def row(self) -> dict[str, str | int | float]:
        """The fields that scripts rely on, and no other."""
        row = asdict(self)
        for name in ("is_known", "was_awaited", "failure"):
            del row[name]
        return row


@dataclass(frozen=True, slots=True)
class _Received:
    """A file's document, or why it was refused."""

    file: str
    document_id: int | None = None
    is_duplicate: bool = False
    is_namesake: bool = False
    is_unread: bool = False
    refusal: str = ""


class IngestInterrupted(KeyboardInterrupt):
    """Ctrl-C came before every file had an outcome: of ``files``, ``uploaded`` are here, ``ended`` have one."""

    def __init__(self, *, files: int, uploaded: int, ended: int) -> None:
        super().__init__()
        self.files = files
        self.uploaded = uploaded
        self.ended = ended


class IngestProgress:
    """Is told how an ingest goes on; this one keeps it to itself."""

    def received(self, file: str, *, refusal: str) -> None:
        """A file was uploaded, or refused with a reason."""

    def ended(self, *, done: int, total: int) -> None:
        """So many of the uploaded documents have ended."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """How the wait passes; tests give their own clock."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    patience: float = PATIENCE_SECONDS


def collection_ensure(*, actor: User, slug: str) -> Collection:
    """The collection of that short name, created when it is missing."""
    found = Collection.objects.filter(slug=slug).first()
    if found:
        return found
    name = slug.replace("-", " ").replace("_", " ").strip().capitalize() or slug
    try:
        return collection_create(actor=actor, name=name, slug=slug)
    except Conflict:
        return Collection.objects.get(slug=slug)


def files_ingest(
    *,
    actor: User,
    collection: Collection,
    paths: Sequence[Path],
    passwords: Mapping[Path, str] | None = None,
    retry_failed: bool = False,
    waiting: Waiting | None = None,
    progress: IngestProgress | None = None,
) -> list[IngestOutcome]:
    """Uploads files and waits until each has an outcome; the outcomes stand in the order of the files.

    A file that is refused at the door (empty, too large, unreadable) is ``failed`` with the reason. Bytes that the
    collection holds already are ``duplicate`` with the existing document's figures, except where the existing document
    failed and a password is given or ``retry_failed`` is set: then it is tried again. A duplicate under the document's
    own name, the first in this call, is the file itself, which an earlier run took in.

    Raises :class:`IngestInterrupted` at Ctrl-C; what was uploaded stays, and the same call goes on from there.
    """
    progress = progress or IngestProgress()
    received: list[_Received] = []
    with _counted_when_interrupted(received, files=len(paths)):
        for path in paths:
            password = (passwords or {}).get(path)
            for one in _receive(
                actor=actor, collection=collection, path=path, password=password, again=retry_failed
            ):
                received.append(one)
                progress.received(one.file, refusal=one.refusal)
        ids = _document_ids(received)
        documents_await(document_ids=ids, waiting=waiting or Waiting(), progress=progress)
    documents = Document.objects.in_bulk(ids)
    first = {one.document_id: one for one in reversed(received)}
    return [_outcome(one, documents, is_first=first[one.document_id] is one) for one in received]


@contextmanager
def _counted_when_interrupted(received: list[_Received], *, files: int) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as interrupt:
        unfinished = set(_unfinished(_document_ids(received)))
        ended = sum(one.document_id not in unfinished for one in received)
        raise IngestInterrupted(files=files, uploaded=len(received), ended=ended) from interrupt


def _document_ids(received: Iterable[_Received]) -> list[int]:
    return [one.document_id for one in received if one.document_id is not None]


def documents_await(
    *, document_ids: Iterable[int], waiting: Waiting, progress: IngestProgress | None = None
) -> None:
    """Returns once every document has ended (or is gone)."""
    wanted = list(dict.fromkeys(document_ids))
    progress = progress or IngestProgress()
    idle_since = waiting.monotonic()
    pause = FIRST_PAUSE
    while unfinished := _unfinished(wanted):
        progress.ended(done=len(wanted) - len(unfinished), total=len(wanted))
        if _somebody_works():
            idle_since = waiting.monotonic()
        elif waiting.monotonic() - idle_since >= waiting.patience:
            _ingest_here(unfinished[0])
            continue
        waiting.sleep(pause)
        pause = min(pause * 1.5, LONGEST_PAUSE)
    progress.ended(done=len(wanted), total=len(wanted))


def _receive(
    *, actor: User, collection: Collection, path: Path, password: str | None, again: bool
) -> Iterator[_Received]:
    """Uploads a file, or each file of a ZIP; ``again``: a document of the same bytes that failed is tried once more."""
    try:
        with path.open("rb") as stream:
            file = File(stream, name=path.name)
            if is_archive(path.name):
                yield from _receive_archive(
                    actor=actor, collection=collection, path=path, file=file, again=again
                )
            elif password is None:
                yield _upload(actor=actor, collection=collection, path=path, file=file, again=again)
            else:
                yield _receive_locked(
                    actor=actor, collection=collection, path=path, file=file, password=password
                )
    except WorkbenchError as error:
        yield _Received(str(path), refusal=error.message)
    except OSError as error:
        refusal = _("The file cannot be read: %(error)s.") % {"error": error.strerror or error}
        yield _Received(str(path), refusal=refusal)


def _receive_archive(
    *, actor: User, collection: Collection, path: Path, file: File, again: bool
) -> Iterator[_Received]:
    for member in archive_files(file):
        place = path / member.name
        if member.refusal:
            yield _Received(str(place), refusal=member.refusal)
            continue
        try:
            yield _upload(
                actor=actor, collection=collection, path=place, file=ContentFile(member.content), again=again
            )
        except WorkbenchError as error:
            yield _Received(str(place), refusal=error.message)


def _upload(*, actor: User, collection: Collection, path: Path, file: File, again: bool) -> _Received:
    outcome = document_upload(actor=actor, collection=collection, file=file, name=path.name)
    is_again = again and outcome.is_duplicate and outcome.document.status in _TRIED_IN_VAIN
    if is_again:
        document_retry(actor=actor, document=outcome.document)
    return _Received(
        str(path),
        outcome.document.pk,
        is_duplicate=outcome.is_duplicate and not is_again,
        is_namesake=outcome.document.name == clean_file_name(path.name),
        is_unread=outcome.document.status in WORKING_STATUSES,
    )


_TRIED_IN_VAIN = (DocumentStatus.FAILED, DocumentStatus.CANCELLED)


def _receive_locked(
    *, actor: User, collection: Collection, path: Path, file: File, password: str
) -> _Received:
    """Uploads a file and ingests it here and now with its password."""
    taken: list[int] = []

    def ingest_taken() -> None:
        for document_id in taken:
            _ingest_here(document_id, password=password)

    with transaction.atomic():
        # Before the upload's own callback, so that a worker that is woken by it finds the document ended.
        transaction.on_commit(ingest_taken)
        received = _upload(actor=actor, collection=collection, path=path, file=file, again=True)
        if received.document_id is not None and not received.is_duplicate:
            taken.append(received.document_id)
    return received


def _ingest_here(document_id: int, *, password: str | None = None) -> None:
    """Does a worker's work; by its lease, so that a worker that comes back meanwhile does not do it twice."""
    try:
        document_ingest(document_id=document_id, password=password)
    except Exception:
        # As in a worker: the attempt is counted on the row, and after the last one the document fails.
        logger.exception("intake.ingest_failed", document_id=document_id)


def _unfinished(document_ids: list[int]) -> list[int]:
    rows = Document.objects.filter(pk__in=document_ids, status__in=WORKING_STATUSES)
    return list(rows.order_by("pk").values_list("pk", flat=True))


def _somebody_works() -> bool:
    """Whether a worker holds any document: ours may be waiting behind others."""
    return Document.objects.filter(status__in=WORKING_STATUSES, lease_until__gt=Now()).exists()


def _outcome(received: _Received, documents: Mapping[int, Document], *, is_first: bool) -> IngestOutcome:
    """``is_first``: no file before it in the same call is this document."""
    if received.document_id is None:
        return IngestOutcome(
            file=received.file, status="failed", reason=received.refusal, failure=received.refusal
        )
    document = documents.get(received.document_id)
    if document is None:
        gone = _("The document was deleted meanwhile.")
        return IngestOutcome(file=received.file, status="failed", reason=gone, failure=gone)
    is_ready = document.status == DocumentStatus.READY
    is_known = received.is_duplicate and received.is_namesake and is_first
    failure = _failure(document)
    return IngestOutcome(
        file=received.file,
        status="duplicate" if received.is_duplicate else "ready" if is_ready else "failed",
        reason=_duplicate_reason(document, is_known=is_known) if received.is_duplicate else failure,
        pages=document.page_count,
        lines=document.line_count,
        sections=document.section_count,
        section_depth=document.section_depth,
        passages=document.passage_count,
        seconds=round(document.seconds, 3),
        is_known=is_known,
        was_awaited=is_first and is_ready and received.is_unread,
        failure=failure,
    )


def _failure(document: Document) -> str:
    if document.status == DocumentStatus.CANCELLED:
        return _("The document was cancelled while it was being read.")
    return document.failure_reason


def _duplicate_reason(document: Document, *, is_known: bool) -> str:
    if is_known:
        here = _("This file was imported already, by an earlier run of the command or another upload.")
    else:
        here = _("The same bytes are here already as %(name)s.") % {"name": document.name}
    return f"{here} {_failure(document)}".strip()
