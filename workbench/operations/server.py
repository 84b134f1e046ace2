"""The worker of the application server: no thread ever waits for a client that dawdles.

gunicorn's own threaded worker reads a request inside a thread, so that twelve half-sent requests hold every thread of
an installation without a proxy. Here the loop that watches all connections gathers a request until its headers and its
body are there, under time limits, and only then gives it to a thread. A long body (an upload) is read while the
application runs, by threads of its own, and must keep to a lowest speed.

The bytes go to gunicorn's parser as they came. What this module reads in the headers decides how long to wait, never
what the request says.
"""

from __future__ import annotations

import errno
import json
import re
import resource
import select
import socket
import struct
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from selectors import EVENT_READ
from typing import Any

from gunicorn import http
from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, TConn, ThreadWorker

from workbench.infra.stopping import STOPPING

#: Seconds for the headers from their first byte on, and for a short body besides its bytes.
HEADER_SECONDS, BODY_SECONDS = 10.0, 10.0
#: Seconds that a long body may pause, and that a reader of an answer may.
PAUSE_SECONDS = 20.0
#: Bytes a second that a body must come with on average, once its grace is over.
LOWEST_SPEED = 16 * 1024
HEADER_BYTES = 64 * 1024
#: A body up to this is gathered before a thread is asked; a longer one is an upload.
SHORT_BODY = 1024 * 1024
#: Bytes of unfinished requests that a process holds; then the one that waits longest goes.
GATHERED_BYTES = 64 * 1024 * 1024
#: Uploads that a process reads at once.
UPLOAD_THREADS = 2
#: Answers that go on (server-sent events) of a process at once; one more is refused.
STREAM_THREADS = 16
LINGER_SECONDS, LINGER_BYTES = 2.0, 64 * 1024
_CHUNK = 64 * 1024
#: Files of a process that are no connections of clients.
_OTHER_FILES = 200
_END_OF_HEADERS = b"\r\n\r\n"
STREAM_KIND = b"text/event-stream"
_EXPECT = re.compile(rb"\r\nexpect:[^\r\n]*", re.IGNORECASE)


class Sent:
    """What a client has sent, as the parser reads it: first what was gathered, then, of an upload, the rest as it
    comes. Where a request should be whole, nothing more is waited for: it ends there."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._held = memoryview(b"")
        self._to_come = 0
        self._latest = 0.0

    def hand_over(self, gathered: bytes, *, to_come: int) -> None:
        """The next request: its bytes so far, and how many are still to come."""
        self._held, self._to_come = memoryview(gathered), to_come
        self._latest = time.monotonic() + BODY_SECONDS + to_come / LOWEST_SPEED

    def recv(self, size: int) -> bytes:
        """Up to ``size`` bytes; none at the end, and when the client is too slow."""
        if self._held:
            chunk, self._held = bytes(self._held[:size]), self._held[size:]
            return chunk
        patience = min(PAUSE_SECONDS, self._latest - time.monotonic())
        if self._to_come <= 0 or patience <= 0 or not select.select([self._sock], [], [], patience)[0]:
            return b""
        came = self._sock.recv(min(size, self._to_come))
        self._to_come -= len(came)
        return came

    @property
    def is_cut_off(self) -> bool:
        """Whether a part of the request never came, so that nobody knows where the next one begins."""
        return self._to_come > 0

    def left_over(self) -> bytes:
        """What came behind the request that was read."""
        rest, self._held = bytes(self._held), memoryview(b"")
        return rest


class Connection(TConn):
    """A connection, and as much as came of its next request."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.sent = Sent(self.sock)
        self.parser = http.get_parser(self.cfg, self.sent, self.client)
        self.initialized = True  # the parser is there: nothing else is to be negotiated
        self.received = bytearray()
        self.needed: int | None = None
        self.length = 0
        self.lingers = False
        self.is_upload = self.is_stream = False
        self.since = self.latest = 0.0

    def expect(self, *, received: bytes, seconds: float) -> None:
        """Begins to wait for a request. ``seconds`` for its first byte."""
        self.received = bytearray(received)
        self.needed, self.length, self.is_upload, self.is_stream = None, 0, False, False
        self.since = time.monotonic()
        self.latest = self.since + (HEADER_SECONDS if received else seconds)

    def take(self, data: bytes) -> None:
        """Some more bytes."""
        if not self.received:
            self.latest = time.monotonic() + HEADER_SECONDS
        self.received += data

    @property
    def is_whole(self) -> bool:
        """Whether a thread can have the request."""
        return self.needed is not None and len(self.received) >= self.needed

    def measure(self, *, searched: int) -> str:
        """Finds the end of the headers behind ``searched`` bytes, and with it how much is needed. Returns the status
        line of a refusal, or nothing."""
        if self.needed is not None:
            return ""
        end = self.received.find(_END_OF_HEADERS, max(0, searched - len(_END_OF_HEADERS) + 1))
        if end < 0:
            too_long = len(self.received) > HEADER_BYTES
            return "431 Request Header Fields Too Large" if too_long else ""
        head = bytes(self.received[: end + 2])
        if 0 < self.cfg.limit_request_line < head.index(b"\r\n"):
            return "414 URI Too Long"
        if _header(head, b"transfer-encoding"):
            # Django reads no more of a body than its length says, and this one says none.
            return "411 Length Required"
        lengths = _header(head, b"content-length")
        # Whatever is not one plain number is for the parser to refuse.
        self.length = int(lengths[0]) if len(lengths) == 1 and re.fullmatch(rb"\d{1,15}", lengths[0]) else 0
        self._continue(head)
        self.is_upload = self.length > SHORT_BODY
        self.is_stream = any(STREAM_KIND in kinds for kinds in _header(head, b"accept"))
        self.needed = (
            self.received.index(_END_OF_HEADERS) + len(_END_OF_HEADERS) + min(self.length, SHORT_BODY)
        )
        self.latest = time.monotonic() + BODY_SECONDS + min(self.length, SHORT_BODY) / LOWEST_SPEED
        return ""

    def _continue(self, head: bytes) -> None:
        """Says that the body may come, to a client that asks first."""
        if self.length and (asked := _EXPECT.search(head)):
            del self.received[asked.start() : asked.end()]
            with suppress(OSError):
                self.sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def hand_over(self) -> None:
        """Gives the parser what was gathered."""
        assert self.needed is not None
        missing = max(0, self.needed - min(self.length, SHORT_BODY) + self.length - len(self.received))
        self.sent.hand_over(bytes(self.received), to_come=missing)
        self.received = bytearray()


class GatheringWorker(ThreadWorker):
    """gunicorn's threaded worker, whose threads get whole requests."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self.worker_connections = max(16, min(self.worker_connections, files - _OTHER_FILES))
        self.max_keepalived = self.worker_connections - self.cfg.threads
        self._waiting: dict[Connection, None] = {}  # in the order in which they began to wait

    def init_process(self) -> None:
        """Makes the threads that read uploads, and those that answer on and on."""
        self._upload_pool = ThreadPoolExecutor(max_workers=UPLOAD_THREADS)
        self._stream_pool = ThreadPoolExecutor(max_workers=STREAM_THREADS)
        self._streams = 0
        super().init_process()

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Tells the answers that go on to end."""
        STOPPING.set()
        super().handle_exit(sig, frame)

    # --- a connection comes ---------------------------------------------------------------------------

    def accept(self, listener: socket.socket) -> None:
        """Takes a connection. Where there are too many, the one that has waited longest goes for it."""
        if self.nr_conns >= self.worker_connections - 1:
            self._drop_longest()
        try:
            sock, client = listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._drop_longest()
            elif error.errno not in (errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK):
                raise
            return
        # A client that does not read its answer holds a thread no longer than this between two reads.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(PAUSE_SECONDS), 0))
        self.nr_conns += 1
        self._expect(Connection(self.cfg, sock, client, listener.getsockname()))

    def on_client_socket_readable(self, conn: Connection, client: socket.socket) -> None:
        """A kept connection has something to say again."""
        self.poller.unregister(client)
        self.keepalived_conns.remove(conn)
        self._expect(conn)

    def _expect(self, conn: Connection, received: bytes = b"") -> None:
        conn.sock.setblocking(False)
        conn.expect(received=b"", seconds=self.cfg.keepalive or HEADER_SECONDS)
        self._waiting[conn] = None
        self.poller.register(conn.sock, EVENT_READ, partial(self._on_more, conn))
        if not (received and self._took(conn, received)):
            self._on_more(conn, conn.sock)

    # --- more of a request comes ----------------------------------------------------------------------

    def _on_more(self, conn: Connection, _sock: socket.socket) -> None:
        if conn not in self._waiting:  # dropped by what came before it in the same round
            return
        try:
            data = conn.sock.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(conn)
        elif conn.lingers:
            conn.length += len(data)
            if conn.length > LINGER_BYTES:
                self._drop(conn)
        else:
            self._took(conn, data)

    def _took(self, conn: Connection, data: bytes) -> bool:
        """Adds to the request; True when the connection waits no more."""
        searched = len(conn.received)
        conn.take(data)
        if refusal := conn.measure(searched=searched):
            self._refuse(conn, refusal)
            return True
        if not conn.is_whole:
            self._make_room(conn)
            return False
        self._forget(conn)
        conn.hand_over()
        self.enqueue_req(conn)
        return True

    def enqueue_req(self, conn: Connection) -> None:
        """A request is there: a thread takes it, for uploads and for answers that go on one of their own."""
        pool = self._upload_pool if conn.is_upload else self.tpool
        if conn.is_stream and not conn.is_upload:
            if self._streams >= STREAM_THREADS:
                self._refuse(conn, "503 Service Unavailable")
                return
            self._streams += 1
            pool = self._stream_pool
        pool.submit(self.handle, conn).add_done_callback(
            lambda done: self.method_queue.defer(self.finish_request, conn, done)
        )

    # --- a request has been answered ------------------------------------------------------------------

    def finish_request(self, conn: Connection, done: Future[Any]) -> None:
        """Waits for the next request, part of which may be there already, or takes leave."""
        self._streams -= conn.is_stream and not conn.is_upload
        stays = not done.cancelled() and done.exception() is None and bool(done.result())
        stays = stays and not conn.sent.is_cut_off
        if stays and (rest := conn.parser.unreader.take_buffered() + conn.sent.left_over()):
            self._expect(conn, rest)
        elif stays:
            super().finish_request(conn, done)
        else:
            self._take_leave(conn)

    def _take_leave(self, conn: Connection) -> None:
        """Closes so that the client gets all of its answer. The loop waits for its close, beside everything else."""
        try:
            conn.sock.setblocking(False)
            conn.sock.shutdown(socket.SHUT_WR)
            self.poller.register(conn.sock, EVENT_READ, partial(self._on_more, conn))
        except (OSError, ValueError, KeyError):
            self.nr_conns -= 1
            conn.close()
            return
        conn.expect(received=b"", seconds=LINGER_SECONDS)
        conn.lingers = True
        self._waiting[conn] = None

    # --- those that wait too long ---------------------------------------------------------------------

    def murder_pending(self) -> None:
        """Refuses requests that are late. One that stops lets go of connections that say nothing."""
        now = time.monotonic()
        for conn in list(self._waiting):
            if now > conn.latest:
                if conn.received:
                    self._refuse(conn, "408 Request Timeout")
                else:
                    self._drop(conn)
            elif not self.alive and not conn.received and now > conn.since + STOP_KEEPALIVE_LINGER:
                self._drop(conn)

    def _make_room(self, conn: Connection) -> None:
        """After a piece of a long request: keeps what this process holds of unfinished requests bounded."""
        if len(conn.received) > HEADER_BYTES:
            held = sum(len(other.received) for other in self._waiting)
            if held > GATHERED_BYTES:
                self._drop_longest()

    def _drop_longest(self) -> None:
        if self._waiting:
            self._drop(next(iter(self._waiting)))

    def _refuse(self, conn: Connection, status: str) -> None:
        """Answers without the application, and closes."""
        self.log.debug("Refused a request of %s: %s", conn.client, status)
        self._forget(conn)
        with suppress(OSError):
            conn.sock.send(_refusal(status))
        self._take_leave(conn)

    def _drop(self, conn: Connection) -> None:
        self._forget(conn)
        self.nr_conns -= 1
        conn.close()

    def _forget(self, conn: Connection) -> None:
        self._waiting.pop(conn, None)
        with suppress(OSError, KeyError, ValueError):
            self.poller.unregister(conn.sock)


def _refusal(status: str) -> bytes:
    """An answer as the API's problems are, without the application."""
    code, _, title = status.partition(" ")
    problem = {"type": "about:blank", "title": title, "status": int(code), "code": "refused", "detail": title}
    body = json.dumps(problem | {"request_id": None})
    lines = (
        f"HTTP/1.1 {status}",
        "Connection: close",
        "Content-Type: application/problem+json",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join([*lines, "", body]).encode()


def _header(head: bytes, name: bytes) -> list[bytes]:
    """The values of a header; ``head`` ends with a line's end."""
    lines = head.split(b"\r\n")[1:]
    return [
        value.strip(b" \t")
        for key, colon, value in (line.partition(b":") for line in lines)
        if colon and key.strip(b" \t").lower() == name
    ]
