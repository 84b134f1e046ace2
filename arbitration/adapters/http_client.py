"""An HTTP client whose calls end on time and whose answers end at all.

The library's own time-outs bound single reads, so a server that sends one byte a second could hold a
worker for ever. Here every network operation of a call draws on one deadline, from the connection to the
last byte of the body. Answers are limited in size, redirects are not followed, and each address a name
resolves to can be checked before it is used, which is also what it is then connected to.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import httpcore2
import httpx2

#: Called with (host name, numeric address); raises to refuse the connection.
AddressRule = Callable[[str, str], None]

MAX_RESPONSE_BYTES = 64 * 1024 * 1024
#: Idle connections are dropped before common servers drop theirs (uvicorn: 5 s), lest one is reused dead.
KEEPALIVE_S = 4.0


class _Deadline(threading.local):
    at: float | None = None


_deadline = _Deadline()


@contextmanager
def call_deadline(seconds: float) -> Iterator[None]:
    """All network operations of this thread inside the block share ``seconds``."""
    previous, _deadline.at = _deadline.at, time.monotonic() + seconds
    try:
        yield
    finally:
        _deadline.at = previous


def bounded_client(*, address_rule: AddressRule | None = None) -> httpx2.Client:
    """A client as described in the module's docstring; thread-safe. Proxy settings of the environment are
    not used: an endpoint is reached directly or not at all."""
    return httpx2.Client(transport=_BoundedTransport(address_rule=address_rule), follow_redirects=False)


def call_seconds_left() -> float | None:
    """The seconds until the deadline of this thread, negative after it; None where there is none."""
    return None if _deadline.at is None else _deadline.at - time.monotonic()


def _left(timeout: float | None) -> float | None:
    """The seconds a network operation may take; raises the library's time-out when none are left."""
    left = call_seconds_left()
    if left is None:
        return timeout
    if left <= 0:
        raise httpcore2.ReadTimeout("the call's deadline has passed")
    return left if timeout is None else min(left, timeout)


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    """One context for all clients: reading the system's certificates takes tens of milliseconds."""
    return httpx2.create_ssl_context()


class _BoundedTransport(httpx2.HTTPTransport):
    """The library's transport over a connection pool of our own network operations."""

    def __init__(self, *, address_rule: AddressRule | None) -> None:
        super().__init__(verify=_tls(), trust_env=False)
        self._pool.close()
        self._pool = httpcore2.ConnectionPool(
            ssl_context=_tls(),
            max_connections=None,
            max_keepalive_connections=64,
            keepalive_expiry=KEEPALIVE_S,
            network_backend=_BoundedBackend(address_rule=address_rule),
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = super().handle_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            response.close()
            raise httpx2.DecodingError("the endpoint compresses although asked not to")
        response.stream = _BoundedBody(response.stream)
        return response


class _BoundedBody(httpx2.SyncByteStream):
    """A response body that ends with an error once it is too large."""

    def __init__(self, body: Any) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for chunk in self._body:
            size += len(chunk)
            if size > MAX_RESPONSE_BYTES:
                raise httpx2.ReadError(f"the answer is larger than {MAX_RESPONSE_BYTES} bytes")
            yield chunk

    def close(self) -> None:
        self._body.close()


class _BoundedBackend(httpcore2.NetworkBackend):
    """Connects to checked numeric addresses, each try within what is left of the deadline."""

    def __init__(self, *, address_rule: AddressRule | None) -> None:
        self._address_rule = address_rule
        self._network = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        failure: Exception = httpcore2.ConnectError(f"{host} has no address")
        for address in _addresses(host, port):
            if self._address_rule is not None:
                self._address_rule(host, address)
            try:
                stream = self._network.connect_tcp(
                    address, port, _left(timeout), local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
                continue
            return _BoundedStream(stream)
        raise failure


def _addresses(host: str, port: int) -> list[str]:
    """The numeric addresses of a host, in the resolver's order, each once."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise httpcore2.ConnectError(f"{host} cannot be resolved") from error
    return list(dict.fromkeys(str(address[4][0]) for address in found))


class _BoundedStream(httpcore2.NetworkStream):
    """A connection whose every operation draws on the deadline of the calling thread."""

    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return _BoundedStream(self._stream.start_tls(ssl_context, server_hostname, _left(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
