"""A worker's own figures on a port of its own, for workers that share no folder with a web process.

Whoever may read them is the same as for the page. It shows what was counted on this machine and the room on its disk;
what stands in the database is shown by the web process alone.
"""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import structlog

from workbench.infra.metrics import counters

from . import access, figures
from .page import CONTENT_TYPE, written

logger = structlog.get_logger(__name__)

SECONDS_TO_ASK = 5
_server: ThreadingHTTPServer | None = None


class _Handler(BaseHTTPRequestHandler):
    """Answers GET /metrics and nothing else."""

    timeout = SECONDS_TO_ASK
    server_version, sys_version = "workbench", ""

    def do_GET(self) -> None:
        if self.path != "/metrics" or not access.is_set_up():
            self._answer(404, b"Not found.\n")
            return
        refused = access.refusal(
            authorization=self.headers.get("Authorization", ""), address=self.client_address[0]
        )
        if refused:
            self._answer(refused.status, refused.words.encode())
            return
        self._answer(200, written({"counters": counters.counted, "disk": figures.disk}), CONTENT_TYPE)

    def _answer(self, status: int, body: bytes, content_type: str = "text/plain; charset=utf-8") -> None:
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", 'Bearer realm="metrics"')
        for name, value in (
            ("Content-Type", content_type),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "private, no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("Content-Security-Policy", "default-src 'none'"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: who asks every few seconds would fill the log."""


def open_port(host: str, port: int) -> ThreadingHTTPServer | None:
    """Answers from a thread of the worker's first process; None, and a line in the log, where the port is taken."""
    global _server
    try:
        server = ThreadingHTTPServer((host, port), _Handler)
    except OSError as error:
        logger.warning("metrics.no_port", host=host, port=port, error=error.strerror)
        return None
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    _server = server
    return server


def leave_port() -> None:
    """In a forked child: the port stays the parent's, and is free when the parent ends."""
    global _server
    if _server is not None:
        _server.socket.close()
        _server = None
