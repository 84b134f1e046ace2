"""Where buckets and mailboxes may lie, and how much they may take and send.

Addresses are checked right before each connection, against the product's one list. Libraries bound single reads only,
so a server that sends a byte a minute, or never ends, could hold a worker: here every read draws on the deadline of the
look (``call_deadline``) and on a budget of bytes.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from arbitration.adapters.http_client import call_seconds_left
from workbench.errors import WorkbenchError
from workbench.infra.outbound import AddressRefused, address_allowed, host_allowed


@dataclass(slots=True)
class Budget:
    """Bytes that may still come in; below zero once more came, or was about to."""

    left: int

    @property
    def is_spent(self) -> bool:
        """Whether the server sent more than it may."""
        return self.left < 0


class _Current(threading.local):
    budget: Budget | None = None


_current = _Current()


class TooMuch(OSError):
    """The server sends more than was asked for."""


@contextmanager
def byte_budget(most: int) -> Iterator[Budget]:
    """All that this thread receives inside the block over :func:`checked_connection` is at most ``most`` bytes."""
    previous, _current.budget = _current.budget, Budget(most)
    try:
        yield _current.budget
    finally:
        _current.budget = previous


def require_room(size: int) -> None:
    """Raises :class:`TooMuch` where an answer that says its size goes beyond the budget, before it is read."""
    if _current.budget is not None and size > _current.budget.left:
        _current.budget.left = -1
        raise TooMuch("more than was asked for")


def time_is_up() -> bool:
    """Whether the deadline of the look has passed."""
    left = call_seconds_left()
    return left is not None and left <= 0


class BoundedSocket(socket.socket):
    """A connection whose reads and writes draw on deadline and budget."""

    def recv(self, *given: Any) -> bytes:
        """Some bytes."""
        received = _in_time(self, super().recv, *given)
        _draw(len(received))
        return received

    def recv_into(self, *given: Any) -> int:
        """The same into a buffer; what a file made of the socket calls."""
        received: int = _in_time(self, super().recv_into, *given)
        _draw(received)
        return received

    def sendall(self, *given: Any) -> None:
        """Sends all, which the library ends after the time-out as a whole."""
        _in_time(self, super().sendall, *given)


class BoundedTLS(ssl.SSLSocket):
    """The same inside TLS, where each way to read leads to :meth:`read`."""

    def read(self, *given: Any) -> Any:
        """Some bytes, or how many came into the buffer."""
        received = _in_time(self, super().read, *given)
        _draw(received if isinstance(received, int) else len(received))
        return received

    def send(self, *given: Any) -> int:
        """Sends some."""
        sent: int = _in_time(self, super().send, *given)
        return sent


def bounded_tls(context: ssl.SSLContext) -> ssl.SSLContext:
    """The context, whose connections are of the kind above."""
    context.sslsocket_class = BoundedTLS
    return context


def _in_time(connection: socket.socket, act: Callable[..., Any], *given: Any) -> Any:
    """Acts within the connection's own time-out and what is left of the deadline. Raises ``TimeoutError``."""
    own = connection.gettimeout()
    connection.settimeout(_seconds(own))
    try:
        return act(*given)
    finally:
        with suppress(OSError):  # it was closed meanwhile
            connection.settimeout(own)


def _seconds(own: float | None) -> float | None:
    left = call_seconds_left()
    if left is None:
        return own
    if left <= 0:
        raise TimeoutError("the deadline has passed")
    return left if own is None else min(own, left)


def _draw(size: int) -> None:
    if _current.budget is not None:
        _current.budget.left -= size
        if _current.budget.is_spent:
            raise TooMuch("more than was asked for")


def require_host(host: str, *, scheme: str) -> None:
    """Refuses a host that may not be called now. Raises :class:`WorkbenchError`."""
    allowed = host_allowed(host, scheme=scheme, networks=settings.SOURCE_NETWORKS)
    if allowed is None:
        raise WorkbenchError(
            _("“%(host)s” has no address. Is it spelled correctly?") % {"host": host}, code="host_unknown"
        )
    if not allowed:
        raise WorkbenchError(
            _(
                "This address is not allowed: sources are read from public addresses over TLS, and "
                "otherwise only from the networks named in SOURCE_NETWORKS."
            ),
            code="address_refused",
        )


def checked_connection(host: str, port: int, *, scheme: str, timeout: float) -> socket.socket:
    """A connection to the first address of the host that answers, each asked for before it is connected to.

    Raises :class:`AddressRefused` where one of them may not be called, ``OSError`` where none answers.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for *_rest, address in found:
        if not address_allowed(str(address[0]), scheme=scheme, networks=settings.SOURCE_NETWORKS):
            raise AddressRefused(host)
    failure = OSError("no address")
    for family, kind, protocol, _name, address in found:
        connection = BoundedSocket(family, kind, protocol)
        try:
            connection.settimeout(_seconds(timeout))
            connection.connect(address)
            connection.settimeout(timeout)
        except OSError as error:
            connection.close()
            failure = error
        else:
            return connection
    raise failure
