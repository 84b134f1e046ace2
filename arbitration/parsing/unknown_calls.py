"""The parent's ear for system calls on none of a parser's lists: each is logged once, and answered "not there".

Without it such a call would fail in silence, and somebody with another C library would look long for the reason.
Layout: struct seccomp_notif and seccomp_notif_resp in linux/seccomp.h. Where the kernel cannot ask, it answers itself.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import selectors
import socket
import struct
from types import TracebackType

from arbitration.parsing.seccomp import name_of

_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_QUESTION = 80  # bytes; the call's number comes after an identity of eight, and two words of four
_MOST = 16  # answers to one child; after that the kernel answers, so that a child cannot keep its parent busy

logger = logging.getLogger(__name__)
_logged: set[int] = set()


class UnknownCalls:
    """A pair of sockets: the child gets ``theirs`` and sends the descriptor on which the kernel asks."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self.theirs = self._theirs.fileno()
        self._listener: int | None = None
        self._answers = 0

    def __enter__(self) -> UnknownCalls:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close_theirs()
        self._ours.close()
        if self._listener is not None:
            os.close(self._listener)
            self._listener = None

    def close_theirs(self) -> None:
        """The child has its own copy by now; its end is the end of the line."""
        self._theirs.close()

    def listen(self, selector: selectors.BaseSelector) -> None:
        """Have the selector tell when there is something to hear."""
        selector.register(self._ours, selectors.EVENT_READ, self)

    def hear(self, selector: selectors.BaseSelector) -> None:
        """Take the listener, or answer one question."""
        if self._listener is None:
            selector.unregister(self._ours)
            self._listener = self._sent()
            if self._listener is not None:
                selector.register(self._listener, selectors.EVENT_READ, self)
            return
        if self._answers >= _MOST or not self._answer(self._listener):
            selector.unregister(self._listener)
            os.close(self._listener)
            self._listener = None
        self._answers += 1

    def _sent(self) -> int | None:
        try:
            _, descriptors, _, _ = socket.recv_fds(self._ours, 1, 1)
        except OSError:
            return None
        return descriptors[0] if descriptors else None

    def _answer(self, listener: int) -> bool:
        """Whether there was a question; at the child's end there is none."""
        question = bytearray(_QUESTION)
        try:
            fcntl.ioctl(listener, _RECEIVE, question, True)
        except OSError as error:
            return error.errno == errno.EINTR
        identity, _, _, number = struct.unpack_from("=QIIi", question)
        if number not in _logged:
            _logged.add(number)
            logger.warning(
                "a parser made a system call that is not on its list, and was told that there is none: %s",
                name_of(number),
            )
        with contextlib.suppress(OSError):  # the child ended while it waited
            fcntl.ioctl(listener, _SEND, struct.pack("=QqiI", identity, 0, -errno.ENOSYS, 0))
        return True
