"""Keeps candidate pools of a long evaluation on disk, because cross-fitting labels every question before it ranks.

A pool of sixty passages takes about 200 kB, and thousands of them exceed a machine's memory. The file is unnamed,
belongs to this process and disappears with it.
"""

from __future__ import annotations

import pickle
import tempfile

from arbitration.pool import CandidatePool


class PoolSpool:
    """Pools by question key in one unnamed temporary file."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 -- closed by close()
        self._places: dict[str, int] = {}

    def get(self, key: str) -> CandidatePool | None:
        """The pool kept under this key; None where there is none."""
        if key not in self._places:
            return None
        self._file.seek(self._places[key])
        pool: CandidatePool = pickle.load(self._file)  # noqa: S301 -- written by put() of this object alone
        return pool

    def put(self, key: str, pool: CandidatePool) -> None:
        """Keeps a pool. Raises :class:`OSError` when the disk of temporary files is full."""
        self._places[key] = self._file.seek(0, 2)
        pickle.dump(pool, self._file, protocol=pickle.HIGHEST_PROTOCOL)

    def close(self) -> None:
        """Frees the disk space."""
        self._file.close()
