"""The circuit breaker: it opens after failures in a row, lets one trial through, and closes again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from arbitration.adapters.breaker import CircuitBreaker, breaker_of, forget_breakers
from arbitration.adapters.endpoints import Endpoint
from arbitration.adapters.openai_chat import OpenAIChat
from arbitration.errors import LLMFailure
from tests.arbitration.adapters.conftest import ListLedger, a_request
from tests.fake_llm import FakeLLM

pytest_plugins = ["tests.fake_llm.plugin"]

ENDPOINT = Endpoint("fake", "http://127.0.0.1:1/v1", "fake-model")


class Clock:
    """Seconds that pass when told to."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(failures=3, pause_s=30.0, monotonic=clock)


def admitted(breaker: CircuitBreaker) -> bool:
    try:
        breaker.admit(ENDPOINT)
    except LLMFailure:
        return False
    return True


def fail(breaker: CircuitBreaker, times: int, outcome: str = "timeout") -> None:
    for _ in range(times):
        breaker.report(outcome)


def test_it_opens_after_failures_in_a_row(breaker: CircuitBreaker) -> None:
    fail(breaker, 2)
    breaker.report("ok")
    fail(breaker, 2)
    assert admitted(breaker)
    fail(breaker, 1)
    assert breaker.is_open
    assert not admitted(breaker)


@pytest.mark.parametrize("outcome", ["refused", "bad_request", "wrong_schema", "rate_limited", "not_allowed"])
def test_an_endpoint_that_answers_is_alive(breaker: CircuitBreaker, outcome: str) -> None:
    fail(breaker, 10, outcome)
    assert admitted(breaker)


def test_after_the_pause_one_call_tries_it(breaker: CircuitBreaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 30
    assert [admitted(breaker) for _ in range(3)] == [True, False, False]
    breaker.report("connection")
    clock.now += 29
    assert not admitted(breaker)
    clock.now += 1
    assert admitted(breaker)
    breaker.report("ok")
    assert not breaker.is_open
    assert all(admitted(breaker) for _ in range(3))


def test_a_trial_that_never_reports_does_not_close_the_door_for_ever(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    fail(breaker, 3)
    clock.now += 30
    assert admitted(breaker)
    clock.now += 30
    assert admitted(breaker)


def test_callers_of_one_endpoint_share_it_until_it_is_forgotten() -> None:
    one = breaker_of(ENDPOINT, failures=3, pause_s=30.0)
    assert breaker_of(ENDPOINT, failures=3, pause_s=30.0) is one
    other = Endpoint("other", "http://127.0.0.1:2/v1", "fake-model")
    assert breaker_of(other, failures=3, pause_s=30.0) is not one
    forget_breakers()
    assert breaker_of(ENDPOINT, failures=3, pause_s=30.0) is not one
    forget_breakers()


def test_an_open_circuit_sends_nothing_and_says_so(
    fake_llm: FakeLLM, chat_for: Callable[..., OpenAIChat], ledger: ListLedger, breaker: CircuitBreaker
) -> None:
    fake_llm.fault("server_error")
    chat = chat_for(breaker=breaker)
    for _ in range(5):
        with pytest.raises(LLMFailure):
            chat.complete(a_request())
    assert ledger.outcomes == ["server_error"] * 3 + ["circuit_open"] * 2
    assert len(fake_llm.requests) == 3
