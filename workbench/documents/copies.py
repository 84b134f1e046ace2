"""Removes this host's copies of erased documents: page images and the index, which every host builds itself.

The host that erases removes its own copies immediately. The others check every COPIES_SWEEP_SECONDS: after a task in a
worker or a request in a web process (health checks count), whichever comes first. No list of hosts is needed, and a
host that was away checks when it is back.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, connection

from workbench.private import private_folder

from .lexical import index_forget
from .models import Document, DocumentStatus

logger = structlog.get_logger(__name__)


class _Looked:
    """When this process last checked whether the sweep is due on its host."""

    at = 0.0


def copies_sweep_if_due(**_: Any) -> None:
    """Sweeps if no process of this host has done so for a while. Failures are retried later."""
    seconds = settings.COPIES_SWEEP_SECONDS
    if not seconds or time.monotonic() - _Looked.at < seconds or connection.in_atomic_block:
        return
    _Looked.at = time.monotonic()
    mark = Path(settings.WORKBENCH_HOME) / "cache" / "swept"
    try:
        if mark.exists() and 0 <= time.time() - mark.stat().st_mtime < seconds:
            return
        private_folder(mark.parent)
        mark.touch()
        copies_sweep()
    except (DatabaseError, OSError) as error:
        logger.warning("copies.sweep_failed", error=type(error).__name__)


def copies_sweep() -> int:
    """Removes the page images of erased documents, and each index that contains one. Returns the number of removed
    folders."""
    gone = [*_images_of_erased(), *_indexes_with_erased()]
    if gone:
        logger.info("copies.removed", folders=len(gone))
    return len(gone)


def _images_of_erased() -> Iterator[Path]:
    root = Path(settings.WORKBENCH_HOME) / "cache" / "pages"
    for collection in _folders(root):
        images = {folder.name: folder for folder in _folders(collection)}
        kept = Document.objects.filter(collection=int(collection.name), sha256__in=list(images))
        for sha256 in kept.exclude(status=DocumentStatus.ERASED).values_list("sha256", flat=True):
            images.pop(sha256, None)
        for folder in images.values():
            shutil.rmtree(folder, ignore_errors=True)
            yield folder


def _indexes_with_erased() -> Iterator[Path]:
    """Indexes that contain an erased document. The next question rebuilds them."""
    root = Path(settings.WORKBENCH_HOME) / "index" / str(connection.settings_dict["NAME"])
    for folder in _folders(root):
        held = _held(folder)
        there = Document.objects.filter(collection=int(folder.name)).exclude(status=DocumentStatus.ERASED)
        if held is None or held - set(there.filter(pk__in=held).values_list("pk", flat=True)):
            index_forget(collection_id=int(folder.name))
            yield folder


def _held(index: Path) -> set[int] | None:
    """Keys of the documents in an index, from its manifest; None if it has none."""
    try:
        return {int(pk) for pk in json.loads((index / "manifest.json").read_text())["documents"]}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _folders(root: Path) -> list[Path]:
    """Its subfolders named like collections or contents."""
    if not root.is_dir():
        return []
    return [folder for folder in root.iterdir() if folder.is_dir() and folder.name.isalnum()]
