"""The HTTP client ends every call on time and takes no more than it can hold."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import httpx2
import pytest

from arbitration.adapters import http_client
from arbitration.adapters.http_client import bounded_client, call_deadline
from tests.fake_llm import FakeLLM

pytest_plugins = ["tests.fake_llm.plugin"]


@contextmanager
def raw_server(serve: Callable[[socket.socket, threading.Event], None]) -> Iterator[str]:
    """A server of one connection that ``serve`` handles as it likes; yields its address."""
    stop = threading.Event()
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def run() -> None:
            connection, _ = listener.accept()
            with closing(connection):
                try:
                    connection.recv(65536)
                    serve(connection, stop)
                except OSError:
                    return

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        stop.set()
        thread.join(5)


def dribbling_headers(connection: socket.socket, stop: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while not stop.wait(0.05):
        connection.sendall(b"x")


def silent(connection: socket.socket, stop: threading.Event) -> None:
    stop.wait(60)


@pytest.mark.parametrize("serve", [dribbling_headers, silent])
def test_headers_must_arrive_before_the_deadline(
    serve: Callable[[socket.socket, threading.Event], None],
) -> None:
    with raw_server(serve) as url, bounded_client() as client:
        started = time.monotonic()
        with pytest.raises(httpx2.TimeoutException), call_deadline(0.4):
            client.get(url, timeout=30.0)
        assert time.monotonic() - started < 15.0


def test_a_passed_deadline_lets_nothing_more_out(fake_llm: FakeLLM) -> None:
    with bounded_client() as client, call_deadline(-1.0), pytest.raises(httpx2.TimeoutException):
        client.get(f"{fake_llm.base_url}/models")


def test_the_deadline_ends_with_its_block(fake_llm: FakeLLM) -> None:
    with bounded_client() as client:
        with call_deadline(-1.0):
            pass
        assert client.get(f"{fake_llm.base_url}/models").status_code == 200


def test_an_answer_that_is_too_large_is_broken_off(
    fake_llm: FakeLLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_client, "MAX_RESPONSE_BYTES", 50)
    with bounded_client() as client, pytest.raises(httpx2.ReadError, match="larger"):
        client.get(f"{fake_llm.base_url}/models")


def test_a_compressed_answer_is_refused_unopened(fake_llm: FakeLLM) -> None:
    """A small compressed body can unfold to any size; the adapters ask for plain answers."""
    fake_llm.fault("gzip")
    with bounded_client() as client, pytest.raises(httpx2.DecodingError, match="compresses"):
        client.post(f"{fake_llm.base_url}/chat/completions", json={"model": "m", "messages": []})


def test_proxies_of_the_environment_are_not_used(fake_llm: FakeLLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with bounded_client() as client:
        assert client.get(f"{fake_llm.base_url}/models").status_code == 200


def test_a_rule_sees_every_address_before_it_is_used(fake_llm: FakeLLM) -> None:
    seen: list[tuple[str, str]] = []
    url = fake_llm.base_url.replace("127.0.0.1", "localhost")
    with bounded_client(address_rule=lambda host, address: seen.append((host, address))) as client:
        assert client.get(f"{url}/models").status_code == 200

    assert seen[-1] == ("localhost", "127.0.0.1")
