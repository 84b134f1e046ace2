"""Files of the product's store, which may be on this machine's disk or elsewhere."""

from __future__ import annotations

from pathlib import Path

from django.core.files.storage import Storage


def path_on_disk(storage: Storage, name: str) -> Path | None:
    """Where the file lies on this machine; None where the store is no disk of it."""
    try:
        return Path(storage.path(name))
    except NotImplementedError:
        return None
