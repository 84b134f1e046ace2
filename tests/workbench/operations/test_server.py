"""The application server with one thread, and clients that dawdle: everybody else is answered at once.

Where a client must not be answered before another, the order is the test: on a server whose only thread waits for the
slow one, the quick one is never answered, and its socket gives up after ``PATIENCE`` seconds.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.ports import own_port
from tests.product import ROOT, eventually
from workbench.operations.server import HEADER_BYTES, SHORT_BODY
from workbench.stack.project import WEB_WORKER

PATIENCE = 20.0
_APPLICATION = """
import hashlib
from workbench.operations import server
{settings}
def application(environ, start_response):
    if environ["PATH_INFO"] == "/stream":
        {stream}
    length = int(environ.get("CONTENT_LENGTH") or 0)
    body = environ["wsgi.input"].read(length) if environ["PATH_INFO"] != "/unread" else b""
    answer = "{{}} {{}} {{}} {{}}".format(
        environ["REQUEST_METHOD"], environ["PATH_INFO"], len(body), hashlib.sha256(body).hexdigest()
    ).encode()
    start_response("200 OK", [("Content-Length", str(len(answer)))])
    return [answer]
"""


@contextmanager
def server(folder: Path, settings: str = "", stream: str = "pass") -> Iterator[int]:
    """A server of one process with one thread; gives its port."""
    (folder / "tiny.py").write_text(_APPLICATION.format(settings=settings, stream=stream))
    port = own_port()
    command = (
        *(sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--worker-class", WEB_WORKER),
        *("--preload", "--workers", "1", "--threads", "1", "--keep-alive", "75", "--graceful-timeout", "5"),
        *("--no-control-socket", "tiny:application"),
    )
    paths = os.pathsep.join([str(folder), str(ROOT)])
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths}, stdout=log, stderr=log) as process,
    ):
        try:
            eventually(lambda: _listens(port))
            yield port
        finally:
            process.terminate()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with server(tmp_path_factory.mktemp("server")) as number:
        yield number


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server whose limits end in half a second."""
    limits = "server.HEADER_SECONDS = server.BODY_SECONDS = .3; server.LOWEST_SPEED = 10**9"
    with server(tmp_path_factory.mktemp("hasty"), limits) as number:
        yield number


class Client:
    """A connection that sends what it is told, and reads answers one by one."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def send(self, data: bytes) -> Client:
        self.socket.sendall(data)
        return self

    def answer(self) -> tuple[int, str]:
        """Status and text of the next answer; (0, "") where the server has closed."""
        status = self.file.readline()
        if not status:
            return 0, ""
        length = 0
        while (line := self.file.readline()) not in (b"\r\n", b""):
            if found := re.match(rb"content-length: (\d+)", line, re.IGNORECASE):
                length = int(found[1])
        return int(status.split()[1]), self.file.read(length).decode()

    def close(self) -> None:
        self.file.close()
        self.socket.close()


@pytest.fixture
def connect() -> Iterator[Callable[[int], Client]]:
    with ExitStack() as stack:

        def connected(port: int) -> Client:
            client = Client(port)
            stack.callback(client.close)
            return client

        yield connected


Connect = Callable[[int], Client]


def request(path: str = "/", body: bytes = b"", *more: str) -> bytes:
    lines = [f"{'POST' if body else 'GET'} {path} HTTP/1.1", "Host: here", *more]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def echo(path: str, body: bytes = b"") -> tuple[int, str]:
    digest = hashlib.sha256(body).hexdigest()
    return 200, f"{'POST' if body else 'GET'} {path} {len(body)} {digest}"


UPLOAD = bytes(range(256)) * 8 * 1024  # 2 MB


@pytest.mark.parametrize(
    "half",
    [
        b"G",
        request()[:-1],
        request("/", b"x" * 1000)[:-1],
        request("/", b"x" * SHORT_BODY)[:-1],
        request("/", UPLOAD)[:-1],
        request("/", UPLOAD)[: SHORT_BODY // 2],
        request("/first") + request("/second")[:-1],
        request("/", b"x", "Expect: 100-continue")[:-1],
    ],
    ids=["byte", "headers", "body", "short", "upload", "begun", "second", "asks"],
)
def test_a_dozen_half_sent_requests_hold_nobody_up(port: int, connect: Connect, half: bytes) -> None:
    for _ in range(12):
        connect(port).send(half)
    assert connect(port).send(request("/quick")).answer() == echo("/quick")


def test_connections_that_say_nothing_hold_nobody_up(port: int, connect: Connect) -> None:
    for _ in range(12):
        connect(port)
    assert connect(port).send(request("/quick")).answer() == echo("/quick")


def test_those_that_do_not_close_their_side_hold_nobody_up(port: int, connect: Connect) -> None:
    for _ in range(12):
        assert connect(port).send(request("/bye", b"", "Connection: close")).answer() == echo("/bye")
    assert connect(port).send(request("/quick")).answer() == echo("/quick")


@pytest.mark.parametrize("step", [1, 7])
def test_a_request_in_pieces_is_read_whole(port: int, connect: Connect, step: int) -> None:
    client, whole = connect(port), request("/slowly", b"some words")
    for start in range(0, len(whole), step):
        client.send(whole[start : start + step])
    assert client.answer() == echo("/slowly", b"some words")


@pytest.mark.parametrize("size", [1, SHORT_BODY - 1, SHORT_BODY, SHORT_BODY + 1, len(UPLOAD)])
def test_bodies_arrive_as_they_were_sent_and_the_connection_stays(
    port: int, connect: Connect, size: int
) -> None:
    client, body = connect(port), UPLOAD[:size]
    for path in ("/first", "/second"):
        assert client.send(request(path, body)).answer() == echo(path, body)
    assert client.send(request("/third")).answer() == echo("/third")


def test_requests_sent_together_are_answered_in_their_order(port: int, connect: Connect) -> None:
    client = connect(port)
    client.send(
        request("/a") + request("/b", b"body") + request("/c") + request("/d", UPLOAD) + request("/e")
    )
    answers = [client.answer() for _ in range(5)]
    assert answers == [echo("/a"), echo("/b", b"body"), echo("/c"), echo("/d", UPLOAD), echo("/e")]


def test_a_client_that_asks_first_is_told_once_to_go_on(port: int, connect: Connect) -> None:
    client, whole = connect(port), request("/asks", b"body", "Expect: 100-continue")
    assert client.send(whole[: -len(b"body")]).answer() == (100, "")
    assert client.send(b"body").answer() == echo("/asks", b"body")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: here\r\nX: " + b"x" * HEADER_BYTES, 431),
        (b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (b"GET /" + b"x" * 4095 + b" HTTP/1.1\r\nHost: here\r\n\r\n", 414),
        (b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 400),
        (b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length : 1\r\n\r\nx", 400),
        (b"nonsense\r\n\r\n", 400),
    ],
)
def test_what_is_no_request_is_refused(port: int, connect: Connect, sent: bytes, status: int) -> None:
    assert connect(port).send(sent).answer()[0] == status
    assert connect(port).send(request("/quick")).answer() == echo("/quick")


def test_an_answer_before_the_end_of_an_upload_reaches_the_client(port: int, connect: Connect) -> None:
    client = connect(port).send(request("/unread", UPLOAD)[: SHORT_BODY + 4096])
    assert client.answer()[0] == 200


@pytest.mark.parametrize(
    ("half", "status"),
    [(request()[:-1], 408), (request("/", b"x" * 1000)[:-1], 408), (request("/first") + b"GET", 200)],
)
def test_a_late_request_is_given_up(hasty: int, connect: Connect, half: bytes, status: int) -> None:
    client = connect(hasty).send(half)
    answers = [client.answer()[0]]
    while answers[-1]:
        answers.append(client.answer()[0])
    assert answers[0] == status
    assert answers[-1] == 0  # closed


def test_a_late_upload_ends_as_if_the_client_had_gone(hasty: int, connect: Connect) -> None:
    client = connect(hasty).send(request("/upload", UPLOAD)[:-1])
    status, text = client.answer()
    assert (status, text.split()[2]) in {(0, ""), (200, str(len(UPLOAD) - 1))} or status == 400
    assert client.answer()[0] == 0


class TestAnswersThatGoOn:
    def test_they_hold_no_thread_of_pages(self, tmp_path: Path, connect: Connect) -> None:
        """The only thread of pages answers while as many streams as there may be go on; one more is refused."""
        waits = (
            "server.STREAM_THREADS = 2\n"
            "from workbench.infra.stopping import STOPPING\n"
            "def endless(start_response):\n"
            "    start_response('200 OK', [('Content-Type', 'text/event-stream')])\n"
            "    yield b'data: 1\\n\\n'\n"
            "    STOPPING.wait(20)\n"
        )
        with server(tmp_path, waits, stream="return endless(start_response)") as port:
            kind = "Accept: text/event-stream"
            streams = [connect(port).send(request("/stream", b"", kind)) for _ in range(2)]
            for stream in streams:
                assert stream.file.readline().startswith(b"HTTP/1.1 200")
            assert connect(port).send(request("/page")).answer() == echo("/page")
            assert connect(port).send(request("/stream", b"", kind)).answer()[0] == 503
            assert connect(port).send(request("/again")).answer() == echo("/again")
