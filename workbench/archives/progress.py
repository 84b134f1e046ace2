"""How far a worker is with an archive. It works in one transaction, which nobody sees into: so it tells by the cache,
which may forget; what it tells decides nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import IO, Any

from django.core.cache import cache

#: Seconds between two words, and for which the last one holds.
_EVERY, _HOLDS = 0.5, 3600


class Told:
    """Counts bytes and tells how many there are; ``check`` is asked as often and may raise to stop the work."""

    def __init__(self, key: int, *, total: int, check: Callable[[], None]) -> None:
        self._key, self._total, self._check = _key(key), total, check
        self._done, self._next = 0, 0.0

    def more(self, size: int) -> None:
        """So many more bytes are done."""
        self._done += size
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _EVERY
            self._check()
            share = min(100, 100 * self._done // self._total) if self._total else 100
            cache.set(self._key, share, _HOLDS)


class TellingReader:
    """A file that tells how much of it was read; everything else is the file's own."""

    def __init__(self, file: IO[bytes], told: Callable[[int], None]) -> None:
        self._file, self._told = file, told

    def read(self, size: int = -1) -> bytes:
        """As the file's."""
        block = self._file.read(size)
        self._told(len(block))
        return block

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def percent_done(key: int) -> int | None:
    """The last word, 0 to 100; None where there is none."""
    share: int | None = cache.get(_key(key))
    return share


def _key(key: int) -> str:
    return f"archives.done.{key}"
