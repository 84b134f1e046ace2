"""A cache in this process's memory that takes what the shared one takes: JSON."""

from __future__ import annotations

import json
from typing import Any

from django.core.cache.backends.locmem import LocMemCache


class JsonLocMemCache(LocMemCache):
    """As the cache in the broker (``workbench.infra.shared_cache``): other values raise ``TypeError``."""

    def set(self, key: str, value: Any, *args: Any, **options: Any) -> None:
        """Keeps a value that JSON can hold."""
        super().set(key, json.loads(json.dumps(value)), *args, **options)

    def add(self, key: str, value: Any, *args: Any, **options: Any) -> bool:
        """Keeps a value that JSON can hold, where none is kept."""
        return super().add(key, json.loads(json.dumps(value)), *args, **options)
