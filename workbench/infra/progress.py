"""A bar for a person who waits, on a terminal."""

from __future__ import annotations

import shutil
from typing import TextIO

from tqdm import tqdm


class ProgressBar:
    """How far ``total`` things are; without a stream it shows nothing."""

    def __init__(self, stream: TextIO | None, *, total: int, says: str, unit: str = " files") -> None:
        # A terminal that does not say how large it is has 80 columns and 24 rows, not none.
        columns, rows = shutil.get_terminal_size()
        self._bar = tqdm(
            total=total,
            desc=says,
            unit=unit,
            file=stream,
            disable=stream is None,
            ncols=columns,
            nrows=rows,
            mininterval=0.2,
        )

    def advance(self) -> None:
        self._bar.update(1)

    def move_to(self, done: int) -> None:
        self._bar.update(done - self._bar.n)
        self._bar.refresh()

    def write(self, text: str) -> None:
        """A line above the bar."""
        if not self._bar.disable:
            self._bar.write(text, file=self._bar.fp)

    def close(self) -> None:
        self._bar.close()
