"""A ZIP that is uploaded: each file in it becomes a document; the archive itself is not kept.

It is unpacked by the isolated parser, as any file is read. A file that cannot be taken says why; an archive that is
made to fill a disk is refused as a whole.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.core.files.base import ContentFile, File
from django.utils.translation import gettext as _

from arbitration.errors import ParseFailure
from arbitration.parsing.isolation import ParseLimits, UnpackedFile, unpack
from workbench.accounts.models import User
from workbench.errors import Unavailable, WorkbenchError

from .models import Collection
from .services import UploadOutcome, document_upload, require_upload_right, too_large

#: What the ZIP is called in the list of what can be uploaded.
ARCHIVE = ".zip"


@dataclass(slots=True)
class Received:
    """What became of an upload: its documents, and what was refused, in words."""

    outcomes: list[UploadOutcome] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)


def is_archive(name: str) -> bool:
    """Whether a file of that name is unpacked."""
    return name.lower().endswith(ARCHIVE)


def files_upload(*, actor: User, collection: Collection, file: File, name: str) -> Received:
    """Takes a file in, or each file of a ZIP. Raises what ``document_upload`` raises, and WorkbenchError for an archive
    that is refused as a whole."""
    if not is_archive(name):
        return Received([document_upload(actor=actor, collection=collection, file=file, name=name)])
    require_upload_right(actor, collection)
    received = Received()
    for member in archive_files(file):
        if member.refusal:
            received.refusals.append(f"{member.name}: {member.refusal}")
            continue
        try:
            outcome = document_upload(
                actor=actor, collection=collection, file=ContentFile(member.content), name=member.name
            )
        except Unavailable:
            raise
        except WorkbenchError as error:
            received.refusals.append(f"{member.name}: {error.message}")
        else:
            received.outcomes.append(outcome)
    return received


def archive_files(file: File) -> Iterator[UnpackedFile]:
    """The files of a ZIP, a few in memory at a time. Raises WorkbenchError, before the first, for an archive that is
    not taken."""
    limits = ParseLimits(
        max_bytes=settings.MAX_UPLOAD_BYTES,
        memory_bytes=settings.PARSER_MEMORY_BYTES,
        wall_s=settings.PARSER_SECONDS,
    )
    with _on_disk(file) as path:
        try:
            yield from unpack(path=path, limits=limits)
        except ParseFailure as failure:
            raise WorkbenchError(failure.message, code=failure.code) from failure


@contextmanager
def _on_disk(file: File) -> Iterator[Path]:
    """The upload as a file that a child process can be handed."""
    handle, name = tempfile.mkstemp(prefix="workbench-zip-")
    try:
        size = 0
        with os.fdopen(handle, "wb") as target:
            for chunk in file.chunks():
                size += len(chunk)
                if size > settings.MAX_UPLOAD_BYTES:
                    raise too_large()
                target.write(chunk)
        if size == 0:
            raise WorkbenchError(_("The file is empty. Choose another one."), code="empty")
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)
