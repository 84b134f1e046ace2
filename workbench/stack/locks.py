"""Advisory file locks: they belong to an open file, so the kernel frees them when a process dies.

That makes them the only truth about who is there; pid files are hints for messages.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class FileLock:
    """A held lock on a file. It ends with `release`, or with the process, however that ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Give the lock back; doing so twice does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def try_exclusive(path: Path) -> FileLock | None:
    """The lock for one holder, or None when anyone holds it."""
    return _try(path, fcntl.LOCK_EX | fcntl.LOCK_NB)


def try_shared(path: Path) -> FileLock | None:
    """The lock for many holders, or None while one holds it exclusively."""
    return _try(path, fcntl.LOCK_SH | fcntl.LOCK_NB)


def is_free(path: Path) -> bool:
    """Whether nobody holds the lock exclusively at this moment."""
    lock = try_shared(path)
    if lock is None:
        return False
    lock.release()
    return True


def _try(path: Path, operation: int) -> FileLock | None:
    # Not inherited by child processes (PEP 446): a child must not keep its parent's lock alive.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, operation)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return FileLock(descriptor)
