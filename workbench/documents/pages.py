"""Page images: drawn by the isolated parser process, kept on this host's disk until the document goes."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from django.conf import settings

from arbitration.errors import ParseFailure
from arbitration.parsing.isolation import render_page

from .ingest import local_copy
from .models import DELETED_STATUSES, Document

#: Pixels per PDF point: 1.6 gives 979 x 1267 for a letter page, sharp enough at every width we show.
SCALE = 1.6
#: What can be drawn: pages of a PDF, and of the PDFs attached to a message.
KINDS_WITH_IMAGES = frozenset({"pdf", "email"})


def page_image(*, document: Document, page_num: int) -> bytes | None:
    """The page as PNG; None when the document has no pages to draw, no such page, or cannot be drawn."""
    if (
        document.status in DELETED_STATUSES
        or document.kind not in KINDS_WITH_IMAGES
        or not 1 <= page_num <= document.page_count
    ):
        return None
    cached = cache_folder(document) / f"{page_num}.png"
    try:
        return cached.read_bytes()
    except OSError:
        pass
    try:
        with local_copy(document) as path:
            image = render_page(path=path, page_num=page_num, scale=SCALE, filename=document.name)
    except ParseFailure:
        return None
    _keep(cached, image)
    return image


def cache_folder(document: Document) -> Path:
    """Where a document's page images lie on this host."""
    return Path(settings.WORKBENCH_HOME) / "cache" / "pages" / str(document.collection_id) / document.sha256


def forget_pages(*, document: Document) -> None:
    """Removes the page images of a document from this host."""
    shutil.rmtree(cache_folder(document), ignore_errors=True)


def _keep(target: Path, image: bytes) -> None:
    """Written under a temporary name and renamed, so that no reader sees half an image."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(image)
    os.replace(name, target)
