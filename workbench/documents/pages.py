"""Where page images are kept: in the store, and beside a bucket on the disk of each web host.

A look at a disk is enough to know that an image is there: images are renamed into their place whole.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from workbench.infra.stored import folder_empty, path_on_disk
from workbench.private import private_folder

from .models import Document

#: Pixels per PDF point: 1.6 gives 979 x 1267 for a letter page, sharp enough at every width we show.
SCALE = 1.6
#: Of the small image beside it: a letter page is 122 pixels wide.
SMALL_SCALE = 0.2
#: What can be drawn: pages of a PDF, pictures, and the PDFs and pictures attached to a message.
KINDS_WITH_IMAGES = frozenset({"pdf", "email", "image"})
#: Folder of the store; left out of backups, for it can be made again.
FOLDER = "pages"
#: Ends the name of a small image.
_SMALL = "-small"


def can_be_drawn(document: Document, page_num: int) -> bool:
    """Whether the document exists and has such a page to draw."""
    return (
        document.is_readable and document.kind in KINDS_WITH_IMAGES and 1 <= page_num <= document.page_count
    )


def image_there(document: Document, page_num: int) -> bool:
    """Whether the image lies on a disk of this host; one in a bucket has to be looked for."""
    return any(path.is_file() for path in _on_disk(document, page_num))


def small_image_there(document: Document, page_num: int) -> bool:
    """The same of its small image."""
    return any(path.is_file() for path in _on_disk(document, page_num, _SMALL))


def kept_image(document: Document, page_num: int, *, is_small: bool = False) -> bytes | None:
    """The image, from this host's disk or from the store; a small one that nobody has drawn is the large one."""
    size = _SMALL if is_small else ""
    image = _kept(document, page_num, size)
    return _kept(document, page_num, "") if image is None and size else image


def _kept(document: Document, page_num: int, size: str) -> bytes | None:
    for path in _on_disk(document, page_num, size):
        with suppress(OSError):
            return path.read_bytes()
    if path_on_disk(default_storage, _name(document, page_num, size)) is not None:
        return None
    try:
        with default_storage.open(_name(document, page_num, size), "rb") as file:
            image = file.read()
    except FileNotFoundError:
        return None
    _write(_cached(document, page_num, size), image)
    return image


def image_keep(document: Document, page_num: int, image: bytes, *, is_small: bool = False) -> None:
    """Stores an image, and replaces an existing one."""
    name = _name(document, page_num, _SMALL if is_small else "")
    path = path_on_disk(default_storage, name)
    if path is not None:
        _write(path, image)
        return
    default_storage.delete(name)
    default_storage.save(name, ContentFile(image))


def image_forget(document: Document, page_num: int) -> None:
    """Removes the images of one page from the store."""
    for size in ("", _SMALL):
        default_storage.delete(_name(document, page_num, size))


def cache_folder(document: Document) -> Path:
    """Where a document's page images lie on this host."""
    return Path(settings.WORKBENCH_HOME) / "cache" / FOLDER / str(document.collection_id) / document.sha256


def forget_pages(*, document: Document) -> None:
    """Removes the page images of a document from the store and from this host."""
    folder_empty(_folder(document))
    shutil.rmtree(cache_folder(document), ignore_errors=True)


def _folder(document: Document) -> str:
    return f"{FOLDER}/{document.collection_id}/{document.sha256}"


def _name(document: Document, page_num: int, size: str = "") -> str:
    return f"{_folder(document)}/{page_num}{size}.png"


def _cached(document: Document, page_num: int, size: str) -> Path:
    return cache_folder(document) / f"{page_num}{size}.png"


def _on_disk(document: Document, page_num: int, size: str = "") -> list[Path]:
    stored = path_on_disk(default_storage, _name(document, page_num, size))
    return [_cached(document, page_num, size), *([stored] if stored is not None else [])]


def _write(target: Path, image: bytes) -> None:
    """Written under a temporary name and renamed, so that no reader sees half an image."""
    private_folder(target.parent)
    handle, name = tempfile.mkstemp(dir=target.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(image)
    os.replace(name, target)
