"""The server in a thread of its own, on a free port of the loopback address."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace
from typing import Any

import uvicorn

from tests.fake_llm.app import FakeApp
from tests.fake_llm.behaviours import BEHAVIOURS, Behaviour, injection_obeying, judge
from tests.fake_llm.script import Fault, FaultKind, Latency, Script
from tests.fake_llm.wire import FakeReply, FakeRequest


class FakeLLM:
    """A running fake. ``with FakeLLM() as fake:`` or the fixture ``fake_llm``."""

    def __init__(self, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.script = Script()
        self._app = FakeApp(self.script)
        self._socket = socket.create_server((host, port), backlog=256)
        self.host, self.port = self._socket.getsockname()[:2]
        config = uvicorn.Config(
            self._app.asgi, log_level="critical", lifespan="off", http="h11", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, daemon=True, name="fake-llm")

    @property
    def base_url(self) -> str:
        """What a client takes as ``base_url``."""
        return f"http://{self.host}:{self.port}/v1"

    def __enter__(self) -> FakeLLM:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Serve. Calls may be made at once: the socket already listens."""
        self._thread.start()

    def stop(self) -> None:
        """End hanging calls and the server."""
        self._app.stopping = True
        self._server.should_exit = True
        self._thread.join(timeout=5)
        self._socket.close()

    def wait(self) -> None:
        """Serve until the thread ends."""
        self._thread.join()

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])

    # --- orders ------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Forget script and calls, release hanging ones."""
        self._app.epoch += 1
        self.script.reset()

    def answer(self, *answers: str | FakeReply) -> None:
        """Queue answers; when they are used up the behaviour answers again."""
        self.script.answers.extend(FakeReply(item) if isinstance(item, str) else item for item in answers)

    def behave(self, behaviour: Behaviour | str) -> None:
        """Answer by a function of the request, or by ``arbiter-keywords`` (the default) or ``schema-echo``."""
        self.script.behaviour = BEHAVIOURS[behaviour] if isinstance(behaviour, str) else behaviour

    def obey_injection(self, *, carrier_id: str | None = None, carrier_text: str | None = None) -> None:
        """Do what a hidden instruction wants: its carrier primary, all others discarded."""
        self.behave(injection_obeying(carrier_id=carrier_id, carrier_text=carrier_text))

    def judge(self, log_odds: dict[str, float], *, default: float = -2.0) -> None:
        """Answer Yes/No calls with exact log-odds, by the text that stands in their prompt."""
        self.behave(judge(log_odds, default=default))

    def cut_off_at(self, tokens: int) -> None:
        """No reply is longer than so many tokens; longer ones are cut off."""
        self.script.most_tokens = tokens

    def fault(self, kind: FaultKind, *at: int, **options: Any) -> None:
        """Order a fault: at the numbered calls, or by ``match=`` text, or for the next ``times=`` calls."""
        self.script.faults.append(Fault(kind, at=at, **options))

    def slow(self, latency: Latency | None = None) -> None:
        """Take time per token: 300 ms + .05 ms per prompt token + 15 ms per completion token."""
        self.script.latency = latency or Latency()

    def without(self, *names: str, ignores_schema: bool = False) -> None:
        """Switch capabilities off: responses, json_schema, json_mode, logprobs, models, temperature, max_tokens,
        effort."""
        lacking = dict.fromkeys(names, False)
        self.script.capabilities = replace(self.script.capabilities, **lacking, ignores_schema=ignores_schema)

    # --- questions ---------------------------------------------------------------------------------

    @property
    def requests(self) -> list[FakeRequest]:
        """Every model call since the last reset."""
        return list(self.script.requests)

    @property
    def most_running(self) -> int:
        """The largest number of calls worked on at once."""
        return self.script.most_running
