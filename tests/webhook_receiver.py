"""A program that is told of events: a real HTTP server, which knows of webhooks only what docs/webhooks.md says."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


def is_genuine(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """As the document has it."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    wanted = "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    fresh = abs(time.time() - int(headers["webhook-timestamp"])) < 300
    return fresh and any(hmac.compare_digest(wanted, one) for one in headers["webhook-signature"].split())


@dataclass(frozen=True)
class Received:
    """One request: headers in small letters, and the bytes of the body."""

    headers: dict[str, str]
    body: bytes
    path: str

    @property
    def id(self) -> str:
        """Of the message."""
        return self.headers["webhook-id"]

    @property
    def message(self) -> Any:
        """The body, read."""
        return json.loads(self.body)


class Receiver:
    """Listens on a port of this machine; ``status`` is what it answers, :meth:`down` and :meth:`up` what they say."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.status = 204
        self._port = 0
        self._server: ThreadingHTTPServer | None = None
        self.up()

    @property
    def url(self) -> str:
        """Where it listens, or would."""
        return f"http://127.0.0.1:{self._port}/events"

    def up(self) -> None:
        """Listens, at the same port as before."""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.received.append(Received(headers, body, self.path))
                self.send_response(receiver.status)
                if 300 <= receiver.status < 400:
                    self.send_header("location", "/elsewhere")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def down(self) -> None:
        """Refuses connections."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def of(self, action: str) -> list[Received]:
        """What was told of one kind of event."""
        return [one for one in self.received if one.message["type"] == action]

    def __enter__(self) -> Receiver:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()
