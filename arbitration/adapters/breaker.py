"""A circuit breaker per endpoint: one that keeps failing is left alone for a while (trust.md, reliability).

Closed, calls pass. After a number of failures in a row it opens, and calls fail at once instead of waiting for
another time-out each. After a pause one call is let through as a trial: its success closes the circuit, its failure
opens it again.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from arbitration.adapters.endpoints import Endpoint
from arbitration.errors import LLMFailure

#: Outcomes that speak of the endpoint's state. A refusal, a wrong shape or a 4xx shows that it is alive.
ENDPOINT_FAILURES = frozenset({"timeout", "connection", "server_error"})


class CircuitBreaker:
    """Counts the failures of one endpoint. Thread-safe; ``monotonic`` (seconds) is injected for tests.

    ``failures`` in a row open it, for ``pause_s`` seconds; 0 failures = it never opens.
    """

    def __init__(
        self,
        *,
        failures: int = 5,
        pause_s: float = 30.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = failures
        self._pause_s = pause_s
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._in_a_row = 0
        self._trial_from: float | None = None  # None = closed; else when the next trial may start

    @property
    def is_open(self) -> bool:
        """Whether calls are refused, but for a trial."""
        with self._lock:
            return self._trial_from is not None

    def admit(self, endpoint: Endpoint) -> None:
        """Lets a call pass, or raises ``LLMFailure`` with ``circuit_open``. Who passes must report."""
        with self._lock:
            now = self._monotonic()
            if self._trial_from is None:
                return
            if now < self._trial_from:
                seconds = round(self._trial_from - now) or 1
                raise LLMFailure(
                    "circuit_open",
                    f"endpoint {endpoint.name} failed {self._in_a_row} times in a row; "
                    f"it is tried again in {seconds} s",
                )
            # This call is the trial. Should it never report, another may try after the same pause.
            self._trial_from = now + self._pause_s

    def report(self, outcome: str) -> None:
        """How an admitted call ended: ``ok`` or the outcome of an ``LLMFailure``."""
        with self._lock:
            if outcome not in ENDPOINT_FAILURES:
                self._in_a_row, self._trial_from = 0, None
                return
            self._in_a_row += 1
            if self._limit and self._in_a_row >= self._limit:
                self._trial_from = self._monotonic() + self._pause_s


_breakers: dict[tuple[str, str, int, float], CircuitBreaker] = {}
_lock = threading.Lock()


def breaker_of(endpoint: Endpoint, *, failures: int, pause_s: float) -> CircuitBreaker:
    """The endpoint's breaker, shared by every caller in this process."""
    key = (endpoint.base_url, endpoint.model, failures, pause_s)
    with _lock:
        if key not in _breakers:
            _breakers[key] = CircuitBreaker(failures=failures, pause_s=pause_s)
        return _breakers[key]


def forget_breakers() -> None:
    """Every circuit is closed again: in a forked child, whose parent's threads may hold the locks; in tests."""
    global _lock
    _lock = threading.Lock()
    _breakers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_breakers)
