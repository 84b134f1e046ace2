"""One call to an endpoint: guard, slot, attempt, ledger, and the only retry layer there is.

Retried are lost connections, time-outs, 429 and 5xx, as often as the request allows and never beyond the
total deadline. Every failure leaves as an ``LLMFailure`` (:mod:`arbitration.adapters.openai_sdk`).
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypedDict, TypeVar

import httpx2

from arbitration import bounded_json
from arbitration.adapters.breaker import CircuitBreaker
from arbitration.adapters.endpoints import CHARACTERS_PER_TOKEN, Endpoint, Guard, Ledger, LedgerEntry, Usage
from arbitration.adapters.http_client import AddressRule, call_deadline
from arbitration.adapters.openai_sdk import CallFailure, as_call_failure, sdk_client, without_key
from arbitration.errors import LLMFailure
from arbitration.protocols import ChatRequest

Value = TypeVar("Value")

#: Waits before retries: .5 s, 1 s, 2 s ... each times a random factor of .5 to 1, none above the cap.
FIRST_BACKOFF_S = 0.5
BACKOFF_CAP_S = 20.0
#: A server that asks for a longer pause than this is given up on; the caller can come back later.
RETRY_AFTER_CAP_S = 30.0
DEFAULT_DEADLINE_S = 300.0

_RETRYABLE = frozenset({"timeout", "connection", "rate_limited", "server_error"})


@dataclass(frozen=True, slots=True)
class WireCall:
    """What to send, and what the ledger notes about it. ``request`` is what guard and ledger see."""

    path: str
    body: Mapping[str, Any]
    request: ChatRequest
    request_hash: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reading(Generic[Value]):
    """What a response body turned out to hold: a value, or the failure it amounts to."""

    usage: Usage
    finish_reason: str
    value: Value | None = None
    failure: LLMFailure | None = None


@dataclass(frozen=True, slots=True)
class Completed(Generic[Value]):
    """A call that gave a usable value."""

    value: Value
    usage: Usage
    finish_reason: str
    cost: float
    latency_ms: float
    attempt: int


class CallerOptions(TypedDict, total=False):
    """How :class:`EndpointCaller` makes its calls; each model adapter takes these and hands them on."""

    ledger: Ledger | None
    guard: Guard | None
    breaker: CircuitBreaker | None
    address_rule: AddressRule | None
    deadline_s: float
    sleep: Callable[[float], None]
    jitter: Callable[[], float]
    monotonic: Callable[[], float]


def call_of_texts(
    endpoint: Endpoint,
    path: str,
    body: Mapping[str, Any],
    *,
    prompt_name: str,
    stage: str,
    texts: Sequence[str],
    timeout_s: float,
    retries: int,
    parameters: Mapping[str, Any],
) -> WireCall:
    """A call that sends texts and no prompt."""
    request = ChatRequest(
        prompt_name=prompt_name,
        prompt_version="",
        prompt_hash="",
        system="",
        user="\n".join(texts),
        max_output_tokens=0,
        timeout_s=timeout_s,
        retries=retries,
        stage=stage,
    )
    parts = json.dumps([endpoint.base_url, path, body], sort_keys=True)
    key = hashlib.sha256(parts.encode()).hexdigest()
    return WireCall(path, body, request, key, {"path": path, **parameters})


def sendable(text: str, most: int) -> str:
    """The text's first ``most`` characters. Servers refuse an empty string, and lone surrogates cannot be sent."""
    return text[:most].encode("utf-8", errors="replace").decode("utf-8") or " "


class EndpointCaller:
    """Makes calls to one endpoint. Thread-safe; create it after a fork.

    ``deadline_s`` bounds a whole call in seconds: waiting for a free slot, every attempt, every pause. A
    ``breaker`` refuses attempts while the endpoint keeps failing. An ``address_rule`` may refuse the addresses
    the endpoint's name resolves to. ``sleep``, ``jitter`` (in [0, 1)) and ``monotonic`` are injected for tests.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        ledger: Ledger | None = None,
        guard: Guard | None = None,
        breaker: CircuitBreaker | None = None,
        address_rule: AddressRule | None = None,
        deadline_s: float = DEFAULT_DEADLINE_S,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.endpoint = endpoint
        self._ledger = ledger
        self._guard = guard
        self._breaker = breaker
        self._deadline_s = deadline_s
        self._sleep = sleep
        self._jitter = jitter
        self._monotonic = monotonic
        self._client = sdk_client(endpoint, address_rule=address_rule)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def call(self, call: WireCall, *, read: Callable[[str], Reading[Value]]) -> Completed[Value]:
        """The value ``read`` finds in the response; raises ``LLMFailure`` when there is none to be had."""
        deadline = self._monotonic() + self._deadline_s
        attempt = 1
        while True:
            try:
                return self._attempt(call, read=read, attempt=attempt, deadline=deadline)
            except CallFailure as failure:
                pause = self._pause_before_retry(failure, attempt=attempt, call=call, deadline=deadline)
                if pause is None:
                    raise
            self._sleep(pause)
            attempt += 1

    def models(self, *, timeout_s: float) -> tuple[str, ...]:
        """The ids that ``/models`` lists, sorted; empty when the endpoint has no such list."""
        try:
            with call_deadline(timeout_s), as_call_failure(self.endpoint):
                listed = self._client.get("/models", cast_to=httpx2.Response, options={"timeout": timeout_s})
                data = bounded_json.loads(listed.content)["data"]
        except CallFailure as failure:
            if failure.outcome == "bad_request":
                return ()
            raise
        except (ValueError, KeyError, TypeError):
            return ()
        return tuple(sorted(str(entry["id"]) for entry in data if isinstance(entry, dict) and "id" in entry))

    def _attempt(
        self, call: WireCall, *, read: Callable[[str], Reading[Value]], attempt: int, deadline: float
    ) -> Completed[Value]:
        """One request and its one line in the ledger."""
        with self._slot(deadline):
            record = _AttemptRecord(self.endpoint, call, attempt=attempt, started=self._monotonic())
            try:
                self._ask_guard(call)
                timeout = max(0.001, min(call.request.timeout_s, deadline - self._monotonic()))
                with self._circuit():
                    record.status, record.response_body = self._send(call, timeout_s=timeout)
                reading = read(record.response_body)
                record.usage, record.finish_reason = reading.usage, reading.finish_reason
                record.outcome = reading.failure.outcome if reading.failure else "ok"
            except LLMFailure as failure:
                record.fail(failure)
                raise
            finally:  # also when a worker is told to stop in mid-call: the attempt was made and may be charged
                latency_ms = (self._monotonic() - record.started) * 1000
                self._record(record, latency_ms=latency_ms)
        if reading.failure is not None:
            raise reading.failure
        if reading.value is None:
            raise LLMFailure("unparseable", f"endpoint {self.endpoint.name} answered nothing")
        cost = reading.usage.cost(self.endpoint.price)
        return Completed(reading.value, reading.usage, reading.finish_reason, cost, latency_ms, attempt)

    def _ask_guard(self, call: WireCall) -> None:
        if self._guard is not None:
            self._guard.allow(call.request, self._estimated_cost(call.request))

    @contextmanager
    def _circuit(self) -> Iterator[None]:
        """Tells the breaker how the sending went; a worker that is told to stop says nothing of the endpoint."""
        if self._breaker is None:
            yield
            return
        self._breaker.admit(self.endpoint)
        try:
            yield
        except LLMFailure as failure:
            self._breaker.report(failure.outcome)
            raise
        self._breaker.report("ok")

    def _estimated_cost(self, request: ChatRequest) -> float | None:
        if self.endpoint.price is None:
            return None
        characters = len(request.system) + len(request.user)
        written = self.endpoint.output_limit(request.max_output_tokens)
        expected = Usage(-(-characters // CHARACTERS_PER_TOKEN), 0, written)
        return expected.cost(self.endpoint.price)

    def _send(self, call: WireCall, *, timeout_s: float) -> tuple[int, str]:
        """HTTP status and body of a successful response."""
        with call_deadline(timeout_s), as_call_failure(self.endpoint):
            response = self._client.post(
                call.path, cast_to=httpx2.Response, body=call.body, options={"timeout": timeout_s}
            )
            return response.status_code, without_key(response.text, self.endpoint)

    def _record(self, record: _AttemptRecord, *, latency_ms: float) -> None:
        if self._ledger is not None:
            self._ledger.record(record.entry(latency_ms=latency_ms))

    @contextmanager
    def _slot(self, deadline: float) -> Iterator[None]:
        """One of the endpoint's concurrent calls, held for an attempt but not for the pause after it."""
        slots = _slots(self.endpoint)
        if not slots.acquire(timeout=max(0.0, deadline - self._monotonic())):
            raise LLMFailure("timeout", f"endpoint {self.endpoint.name} had no free slot before the deadline")
        try:
            yield
        finally:
            slots.release()

    def _pause_before_retry(
        self, failure: CallFailure, *, attempt: int, call: WireCall, deadline: float
    ) -> float | None:
        """Seconds to wait before the next attempt; None when there should be none."""
        if failure.final or failure.outcome not in _RETRYABLE or attempt > call.request.retries:
            return None
        backoff = min(BACKOFF_CAP_S, FIRST_BACKOFF_S * 2.0 ** (attempt - 1)) * (0.5 + self._jitter() / 2)
        asked = failure.retry_after_s or 0.0
        pause = max(backoff, asked)
        if asked > RETRY_AFTER_CAP_S or self._monotonic() + pause >= deadline:
            return None
        return pause


class _AttemptRecord:
    """What is known of an attempt so far; ``stopped`` unless it comes to another end."""

    def __init__(self, endpoint: Endpoint, call: WireCall, *, attempt: int, started: float) -> None:
        self.endpoint = endpoint
        self.call = call
        self.attempt = attempt
        self.started = started
        self.outcome = "stopped"
        self.usage = Usage()
        self.finish_reason = ""
        self.status: int | None = None
        self.response_body: str | None = None

    def fail(self, failure: LLMFailure) -> None:
        """Note how the attempt failed."""
        self.outcome = failure.outcome
        if isinstance(failure, CallFailure):
            self.status, self.response_body = failure.status, failure.body

    def entry(self, *, latency_ms: float) -> LedgerEntry:
        """The attempt's line in the ledger."""
        return LedgerEntry(
            request_hash=self.call.request_hash,
            endpoint=self.endpoint.name,
            model=self.endpoint.model,
            stage=self.call.request.stage,
            prompt_name=self.call.request.prompt_name,
            prompt_version=self.call.request.prompt_version,
            prompt_hash=self.call.request.prompt_hash,
            parameters=self.call.parameters,
            request_body=self.call.body,
            response_body=self.response_body,
            input_tokens=self.usage.input_tokens,
            cached_tokens=self.usage.cached_tokens,
            output_tokens=self.usage.output_tokens,
            cost=self.usage.cost(self.endpoint.price),
            latency_ms=latency_ms,
            attempt=self.attempt,
            outcome=self.outcome,
            finish_reason=self.finish_reason,
            status=self.status,
            is_priced=self.usage.is_priced(self.endpoint.price),
        )


# --- concurrency per endpoint --------------------------------------------------------------------------

_slots_by_address: dict[tuple[str, str, int], threading.BoundedSemaphore] = {}
_slots_lock = threading.Lock()


def _slots(endpoint: Endpoint) -> threading.BoundedSemaphore:
    """The endpoint's semaphore, shared by every caller in this process."""
    key = (endpoint.name, endpoint.base_url, endpoint.max_concurrency)
    with _slots_lock:
        return _slots_by_address.setdefault(key, threading.BoundedSemaphore(endpoint.max_concurrency))


def _forget_slots() -> None:
    """In a forked child: slots held by the parent's threads would never be given back."""
    global _slots_lock
    _slots_lock = threading.Lock()
    _slots_by_address.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_slots)
