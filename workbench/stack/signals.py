"""Signals for the supervisor: they wake its loop, and the first of them asks for the end."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from .errors import StopRequested

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """Counts requests to stop; `wait` returns early when any signal, also a child's end, comes in."""

    def __init__(self) -> None:
        self.stop_requests = 0
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)

    @contextmanager
    def installed(self) -> Iterator[Signals]:
        """Handle signals inside the block; the earlier handlers come back after it.

        A hang-up that ``nohup`` had ignored stays ignored.
        """
        handlers = dict.fromkeys(ENDING, self._on_stop) | {signal.SIGCHLD: _on_child}
        if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
            del handlers[signal.SIGHUP]
        earlier = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        descriptor = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        try:
            yield self
        finally:
            signal.set_wakeup_fd(descriptor)
            for number, handler in earlier.items():
                signal.signal(number, handler)
            os.close(self._reader)
            os.close(self._writer)

    def hurried(self) -> bool:
        """Whether a second request came: stop now, do not wait for work in hand."""
        return self.stop_requests > 1

    def wait(self, seconds: float) -> None:
        """Sleep, at most so long. Raises StopRequested once the end was asked for."""
        self.check()
        ready, _, _ = select.select([self._reader], [], [], seconds)
        if ready:
            os.read(self._reader, 4096)
        self.check()

    def check(self) -> None:
        """Raises StopRequested once the end was asked for."""
        if self.stop_requests:
            raise StopRequested

    def _on_stop(self, _number: int, _frame: FrameType | None) -> None:
        self.stop_requests += 1


def _on_child(_number: int, _frame: FrameType | None) -> None:
    """Nothing to do: the wake-up is all that is wanted."""
