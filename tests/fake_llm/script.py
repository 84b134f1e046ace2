"""What the fake server is told to do: answers, faults, latency, and what it pretends not to know."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Literal, get_args

from tests.fake_llm.behaviours import BEHAVIOURS, Behaviour, arbiter_keywords, injection_obeying, judge
from tests.fake_llm.wire import FakeReply, FakeRequest, tokens

FaultKind = Literal[
    "hang",
    "drop",
    "dribble",
    "gzip",
    "half_body",
    "half_json",
    "rate_limit",
    "server_error",
    "bad_request",
    "unauthorised",
    "html_page",
    "redirect",
    "cut_off",
    "wrong_schema",
    "not_json",
    "prose_json",
    "empty",
    "refusal",
    "refusal_text",
    "invented_ids",
    "missing_ids",
    "repeated_ids",
    "no_logprobs",
]


@dataclass
class Fault:
    """A fault on order. It strikes the calls numbered ``at`` (from 1), or those whose prompt holds ``match``,
    or with neither every call; ``times`` limits how often. ``retry_after`` is sent with ``rate_limit``."""

    kind: FaultKind
    at: tuple[int, ...] = ()
    match: str | None = None
    times: int | None = None
    retry_after: float | str | None = None
    status: int | None = None
    code: str | None = None
    param: str | None = None
    struck: int = 0

    def __post_init__(self) -> None:
        if self.kind not in get_args(FaultKind):
            raise ValueError(f"no fault {self.kind!r}; there are: {', '.join(get_args(FaultKind))}")

    def strikes(self, request: FakeRequest) -> bool:
        """Whether it is this call's turn; counts it."""
        due = not self.at or request.number in self.at
        due = due and (self.match is None or self.match in request.prompt)
        due = due and (self.times is None or self.struck < self.times)
        self.struck += due
        return due


@dataclass(frozen=True)
class Latency:
    """Milliseconds a call takes: a fixed part, and parts per prompt and completion token."""

    fixed_ms: float = 300.0
    per_prompt_token_ms: float = 0.05
    per_completion_token_ms: float = 15.0

    def seconds(self, *, prompt_tokens: int, completion_tokens: int) -> float:
        """The latency of one call."""
        total = self.fixed_ms + self.per_prompt_token_ms * prompt_tokens
        return (total + self.per_completion_token_ms * completion_tokens) / 1000


@dataclass(frozen=True)
class Capabilities:
    """What the server can do; what is switched off is refused as servers without it do. With
    ``ignores_schema`` a schema is taken but not followed. ``temperature`` and ``max_tokens`` are refused
    the way newer models refuse them, ``effort`` the way models refuse it that do not reason."""

    responses: bool = True
    json_schema: bool = True
    json_mode: bool = True
    logprobs: bool = True
    models: bool = True
    temperature: bool = True
    max_tokens: bool = True
    effort: bool = True
    ignores_schema: bool = False


@dataclass
class Script:
    """The server's instructions and its memory of calls; safe to change from any thread."""

    behaviour: Behaviour = arbiter_keywords
    answers: deque[FakeReply] = field(default_factory=deque)
    faults: list[Fault] = field(default_factory=list)
    latency: Latency | None = None
    capabilities: Capabilities = field(default_factory=Capabilities)
    model_names: tuple[str, ...] = ("fake-model", "fake-embedding")
    embedding_width: int = 64
    most_tokens: int | None = None  # the server's own limit of a reply, whatever the call allows
    cache_block: int = 128
    requests: list[FakeRequest] = field(default_factory=list)
    embedding_requests: list[dict[str, Any]] = field(default_factory=list)
    rerank_requests: list[dict[str, Any]] = field(default_factory=list)
    #: Whose errors the server speaks: openai, azure, litellm, vllm, anthropic, ollama or llama.cpp.
    dialect: str = "openai"
    #: The reranker gives raw scores, from -4 to 4, in place of probabilities.
    raw_scores: bool = False
    crashes: list[str] = field(default_factory=list)
    running: int = 0
    most_running: int = 0
    _prompts: list[str] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def reset(self) -> None:
        """Forget everything: behaviour, faults, calls."""
        with self._lock:
            fresh = Script()
            for name, value in vars(fresh).items():
                if name not in ("_lock", "running"):
                    setattr(self, name, value)

    def receive(self, build: Callable[[int], FakeRequest]) -> tuple[FakeRequest, Fault | None]:
        """Number and record a call; the fault that strikes it, if any."""
        with self._lock:
            request = build(len(self.requests) + 1)
            self.requests.append(request)
            fault = next((fault for fault in self.faults if fault.strikes(request)), None)
        return request, fault

    def entered(self) -> None:
        """A call is being worked on; keeps the largest number at once."""
        with self._lock:
            self.running += 1
            self.most_running = max(self.most_running, self.running)

    def left(self) -> None:
        """A call has ended."""
        with self._lock:
            self.running -= 1

    def reply(self, request: FakeRequest) -> FakeReply:
        """The next queued answer, else what the behaviour says; cut to the tokens the call allows."""
        with self._lock:
            queued = self.answers.popleft() if self.answers else None
        said = queued if queued is not None else self.behaviour(request)
        reply = FakeReply(said) if isinstance(said, str) else said
        pieces = tokens(reply.text)
        most = min((n for n in (request.max_tokens, self.most_tokens) if n is not None), default=len(pieces))
        if len(pieces) > most:
            return FakeReply("".join(pieces[:most]), finish_reason="length")
        return reply

    def cached_tokens(self, prompt: str) -> int:
        """Tokens of the longest prefix shared with an earlier prompt, in whole blocks; remembers this one."""
        with self._lock:
            shared = max((_common_start(prompt, earlier) for earlier in self._prompts), key=len, default="")
            self._prompts = [*self._prompts[-63:], prompt]
        return len(tokens(shared)) // self.cache_block * self.cache_block

    def apply(self, order: dict[str, Any]) -> None:
        """An order of the admin endpoint, in JSON; unknown keys are an error."""
        known = {"reset", "behaviour", "answers", "faults", "latency", "capabilities", "most_tokens"}
        if set(order) - known:
            raise ValueError(
                f"unknown: {', '.join(sorted(set(order) - known))}; known: {', '.join(sorted(known))}"
            )
        if order.get("reset"):
            self.reset()
        if "behaviour" in order:
            self.behaviour = _behaviour(order["behaviour"])
        self.answers.extend(_reply(answer) for answer in order.get("answers", []))
        for fault in order.get("faults", []):
            self.faults.append(Fault(**(fault | {"at": tuple(fault.get("at", ()))})))
        if "latency" in order:
            self.latency = Latency(**order["latency"]) if order["latency"] is not None else None
        if "most_tokens" in order:
            self.most_tokens = order["most_tokens"]
        if "capabilities" in order:
            self.capabilities = Capabilities(**order["capabilities"])


def _common_start(first: str, second: str) -> str:
    """The longest text both begin with, by halving: prompts are long and many."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first.startswith(second[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return first[:low]


def _behaviour(order: str | dict[str, Any]) -> Behaviour:
    """A behaviour by name, or ``{"name": "injection-obeying", "carrier_text": ...}``, ``{"name": "judge",
    "log_odds": {...}}``."""
    if isinstance(order, str):
        order = {"name": order}
    name, options = order["name"], {key: value for key, value in order.items() if key != "name"}
    if name == "injection-obeying":
        return injection_obeying(**options)
    if name == "judge":
        return judge(**options)
    return BEHAVIOURS[name]


def _reply(answer: str | dict[str, Any]) -> FakeReply:
    """A queued answer: text, a reply's fields under ``text``, or any other object as its JSON."""
    if isinstance(answer, str):
        return FakeReply(answer)
    return FakeReply(**answer) if "text" in answer else FakeReply(json.dumps(answer))
