"""A stand-in for a language model, for the month of the demo: a small server that grades passages by shared words.

It speaks the chat format, listens on this machine alone while the month is acted out, and knows nothing. Its calls are
real: they stand in the ledger with their tokens, and cost what the demo's price list says.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "demo-grader"
_BLOCK = re.compile(
    r"<<<DATA (?P<label>\S+) (?P<tag>[0-9a-f]{12})>>>\n(?P<body>.*?)\n<<<END (?P=tag)>>>", re.DOTALL
)
_WORD = re.compile(r"[a-z]{4,}")
#: Characters a token, roughly; the ledger needs a number.
_TOKEN = 4


@contextmanager
def grader_serving() -> Iterator[str]:
    """The address of the server while it runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Grader)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def graded(prompt: str) -> str:
    """The grades of a prompt's passages as compact JSON: more of the question's words, a higher grade."""
    blocks = {match["label"]: match["body"].lower() for match in _BLOCK.finditer(prompt)}
    asked = set(_WORD.findall(blocks.pop("question", "")))
    grades = {}
    for label, body in blocks.items():
        shared = len(asked & set(_WORD.findall(body))) / max(1, len(asked))
        if shared >= 0.4:
            grades[label] = min(10, 5 + round(6 * (shared - 0.4) / 0.6))
    return json.dumps(grades, separators=(",", ":"))


class _Grader(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """The models that there are."""
        self._send({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    def do_POST(self) -> None:
        """One completion."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = "\n".join(str(message.get("content")) for message in asked.get("messages", []))
        text = graded(prompt) if "<<<DATA" in prompt else "hello"
        usage = {"prompt_tokens": len(prompt) // _TOKEN, "completion_tokens": 1 + len(text) // _TOKEN}
        self._send(
            {
                "id": "demo",
                "object": "chat.completion",
                "created": 0,
                "model": MODEL,
                "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
                ],
                "usage": usage | {"total_tokens": sum(usage.values())},
            }
        )

    def _send(self, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_words: Any) -> None:
        """Nothing is logged."""
