"""Files of the product's store, which may be on this machine's disk or elsewhere."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from django.core.files.base import File
from django.core.files.storage import Storage, default_storage


@dataclass(frozen=True, slots=True)
class StoredFile:
    """Where the store put a file, with its bytes and their SHA-256."""

    path: str
    size: int
    sha256: str


def path_on_disk(storage: Storage, name: str) -> Path | None:
    """Where the file lies on this machine; None where the store is no disk of it."""
    try:
        return Path(storage.path(name))
    except NotImplementedError:
        return None


@contextmanager
def scratch() -> Iterator[BinaryIO]:
    """A file without a name, for content that is too large for memory, on its way into the store."""
    with closing(tempfile.TemporaryFile()) as file:
        yield cast(BinaryIO, file)


def file_store(content: BinaryIO, *, folder: str, name: str) -> StoredFile:
    """Puts all of the content, wherever it was left, into a folder of the store."""
    size = content.seek(0, 2)
    content.seek(0)
    digest = hashlib.file_digest(content, "sha256").hexdigest()
    content.seek(0)
    return StoredFile(default_storage.save(f"{folder}/{name}", File(content, name)), size, digest)


def folder_empty(folder: str) -> None:
    """Deletes the files that lie in a folder of the store, if there is one."""
    try:
        names = default_storage.listdir(folder)[1]
    except FileNotFoundError:
        return
    for name in names:
        default_storage.delete(f"{folder}/{name}")
