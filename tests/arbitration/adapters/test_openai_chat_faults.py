"""Every way an endpoint can fail, over real HTTP: the right outcome, in time, once, and with no secret told."""

from __future__ import annotations

import logging
import os
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from arbitration.adapters import endpoint_calls
from arbitration.adapters.endpoints import EndpointCapabilities
from arbitration.adapters.openai_chat import OpenAIChat
from arbitration.errors import LLMFailure
from tests.arbitration.adapters.conftest import ALL, CHAT_ONLY, SECRET, ListLedger, a_request
from tests.fake_llm import FakeLLM, Latency
from tests.fake_llm.script import FaultKind

pytest_plugins = ["tests.fake_llm.plugin"]

Build = Callable[..., OpenAIChat]

#: Faults, the outcome each leads to, and the HTTP status the ledger notes.
OUTCOMES: list[tuple[FaultKind, str, int | None]] = [
    ("drop", "connection", None),
    ("half_body", "connection", None),
    ("rate_limit", "rate_limited", 429),
    ("server_error", "server_error", 500),
    ("bad_request", "bad_request", 400),
    ("unauthorised", "not_allowed", 401),
    ("half_json", "unparseable", 200),
    ("html_page", "unparseable", 200),
    ("not_json", "unparseable", 200),
    ("empty", "unparseable", 200),
    ("wrong_schema", "wrong_schema", 200),
    ("cut_off", "cut_off", 200),
    ("refusal", "refused", 200),
    ("refusal_text", "refused", 200),
]
RETRIED = {"connection", "rate_limited", "server_error", "timeout"}


def failure_of(chat: OpenAIChat, **changes: object) -> LLMFailure:
    with pytest.raises(LLMFailure) as caught:
        chat.complete(a_request(**changes))
    return caught.value


@pytest.mark.parametrize("capabilities", [ALL, CHAT_ONLY], ids=["responses", "chat"])
@pytest.mark.parametrize(("kind", "outcome", "status"), OUTCOMES)
def test_a_fault_is_an_outcome_and_a_line_in_the_ledger(
    fake_llm: FakeLLM,
    chat_for: Build,
    ledger: ListLedger,
    capabilities: EndpointCapabilities,
    kind: FaultKind,
    outcome: str,
    status: int | None,
) -> None:
    fake_llm.fault(kind)
    failure = failure_of(chat_for(capabilities))

    assert failure.outcome == outcome
    (entry,) = ledger.entries
    assert (entry.outcome, entry.status, entry.attempt) == (outcome, status, 1)
    assert (entry.response_body is None) == (status is None)


@pytest.mark.parametrize(("kind", "outcome", "status"), OUTCOMES)
def test_only_passing_trouble_is_tried_again(
    fake_llm: FakeLLM, chat_for: Build, ledger: ListLedger, kind: FaultKind, outcome: str, status: int | None
) -> None:
    fake_llm.fault(kind, 1)
    chat = chat_for()
    if outcome in RETRIED:
        assert chat.complete(a_request(retries=1)).parsed is not None
        assert ledger.outcomes == [outcome, "ok"]
        assert [entry.attempt for entry in ledger.entries] == [1, 2]
    else:
        assert failure_of(chat, retries=3).outcome == outcome
        assert ledger.outcomes == [outcome]


@pytest.mark.parametrize("kind", ["cut_off", "wrong_schema", "refusal"])
def test_a_useless_answer_is_still_paid_for(
    fake_llm: FakeLLM, chat_for: Build, ledger: ListLedger, kind: FaultKind
) -> None:
    fake_llm.fault(kind)
    failure_of(chat_for())

    assert ledger.entries[0].input_tokens > 0
    assert ledger.entries[0].cost > 0


def test_the_output_allowance_cuts_an_answer_off(fake_llm: FakeLLM, chat_for: Build) -> None:
    assert failure_of(chat_for(), max_output_tokens=20).outcome == "cut_off"


def test_attempts_end_when_the_retries_are_used_up(
    fake_llm: FakeLLM, chat_for: Build, ledger: ListLedger, pauses: list[float]
) -> None:
    fake_llm.fault("server_error")

    assert failure_of(chat_for(), retries=3).outcome == "server_error"
    assert [entry.attempt for entry in ledger.entries] == [1, 2, 3, 4]
    assert pauses == [0.25, 0.5, 1.0]


def test_jitter_spreads_the_pauses(fake_llm: FakeLLM, chat_for: Build, pauses: list[float]) -> None:
    fake_llm.fault("server_error")
    failure_of(chat_for(jitter=lambda: 0.5), retries=2)

    assert pauses == [0.375, 0.75]


def test_the_sdk_makes_no_attempts_of_its_own(fake_llm: FakeLLM, chat_for: Build) -> None:
    fake_llm.fault("server_error")
    failure_of(chat_for())

    assert len(fake_llm.requests) == 1


@pytest.mark.parametrize(("retry_after", "pause"), [(7, 7.0), ("0.1", 0.25), ("soon", 0.25)])
def test_a_servers_wish_to_wait_is_honoured(
    fake_llm: FakeLLM, chat_for: Build, pauses: list[float], retry_after: float | str, pause: float
) -> None:
    fake_llm.fault("rate_limit", 1, retry_after=retry_after)
    chat_for().complete(a_request(retries=1))

    assert pauses == [pause]


def test_a_date_to_wait_for_is_understood(fake_llm: FakeLLM, chat_for: Build, pauses: list[float]) -> None:
    fake_llm.fault("rate_limit", 1, retry_after="Wed, 21 Oct 2015 07:28:00 GMT")
    chat_for().complete(a_request(retries=1))

    assert pauses == [0.25]


def test_a_server_that_wants_too_long_a_pause_is_given_up_on(
    fake_llm: FakeLLM, chat_for: Build, ledger: ListLedger, pauses: list[float]
) -> None:
    fake_llm.fault("rate_limit", retry_after=31)

    assert failure_of(chat_for(), retries=3).outcome == "rate_limited"
    assert (len(ledger.entries), pauses) == (1, [])


def test_a_spent_quota_is_not_waited_for(fake_llm: FakeLLM, chat_for: Build, ledger: ListLedger) -> None:
    fake_llm.fault("rate_limit", code="insufficient_quota")

    assert "quota" in failure_of(chat_for(), retries=3).message
    assert ledger.outcomes == ["rate_limited"]


@pytest.mark.parametrize(
    ("status", "code", "outcome"),
    [
        (403, None, "not_allowed"),
        (404, "model_not_found", "bad_request"),
        (400, "content_filter", "refused"),
        (400, "context_length_exceeded", "bad_request"),
        (408, None, "timeout"),
        (307, None, "bad_request"),
        (503, None, "server_error"),
        (529, None, "server_error"),
    ],
)
def test_statuses_have_outcomes(
    fake_llm: FakeLLM, chat_for: Build, status: int, code: str | None, outcome: str
) -> None:
    fake_llm.fault("bad_request", status=status, code=code)

    assert failure_of(chat_for()).outcome == outcome


# --- time ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["hang", "dribble"])
def test_a_silent_or_dribbling_server_costs_no_more_than_the_time_out(
    fake_llm: FakeLLM, chat_for: Build, ledger: ListLedger, kind: FaultKind
) -> None:
    fake_llm.fault(kind)
    started = time.monotonic()
    failure = failure_of(chat_for(), timeout_s=0.4)
    took = time.monotonic() - started

    assert failure.outcome == "timeout"
    assert 0.3 < took < 15.0
    assert ledger.outcomes == ["timeout"]


def test_a_time_out_is_tried_again_only_if_retries_are_allowed(
    fake_llm: FakeLLM, chat_for: Build, ledger: ListLedger
) -> None:
    fake_llm.fault("hang", 1)

    assert chat_for().complete(a_request(retries=1, timeout_s=0.3)).parsed is not None
    assert ledger.outcomes == ["timeout", "ok"]


def test_the_total_deadline_ends_a_call_with_retries_left(
    fake_llm: FakeLLM, chat_for: Build, ledger: ListLedger
) -> None:
    fake_llm.fault("hang")
    started = time.monotonic()

    assert failure_of(chat_for(deadline_s=0.6), retries=50, timeout_s=0.2).outcome == "timeout"
    assert time.monotonic() - started < 15.0
    assert 1 <= len(ledger.entries) <= 4


def test_a_closed_port_is_a_connection_failure(chat_for: Build, ledger: ListLedger) -> None:
    assert failure_of(chat_for(base_url="http://127.0.0.1:9/v1")).outcome == "connection"
    assert ledger.outcomes == ["connection"]


def test_an_unknown_host_is_a_connection_failure(chat_for: Build) -> None:
    assert failure_of(chat_for(base_url="http://no-such-host.invalid/v1")).outcome == "connection"


# --- concurrency ---------------------------------------------------------------------------------------


def test_no_more_calls_run_at_once_than_the_endpoint_allows(fake_llm: FakeLLM, chat_for: Build) -> None:
    fake_llm.slow(Latency(fixed_ms=60, per_completion_token_ms=0, per_prompt_token_ms=0))
    chats = [chat_for(max_concurrency=3, name="limited") for _ in range(2)]
    with ThreadPoolExecutor(12) as pool:
        replies = list(pool.map(lambda number: chats[number % 2].complete(a_request()), range(12)))

    assert all(reply.parsed for reply in replies)
    assert fake_llm.most_running == 3


def test_waiting_for_a_slot_ends_at_the_deadline(
    fake_llm: FakeLLM, chat_for: Build, ledger: ListLedger
) -> None:
    fake_llm.fault("hang", 1)
    arrived = threading.Event()

    def hang_on_arrival() -> None:
        failure_of(chat_for(max_concurrency=1, name="narrow", guard=_Signal(arrived)), timeout_s=1.5)

    holder = threading.Thread(target=hang_on_arrival)
    holder.start()
    assert arrived.wait(5)
    failure = failure_of(chat_for(max_concurrency=1, name="narrow", deadline_s=0.2))
    holder.join()

    assert failure.outcome == "timeout"
    assert "slot" in failure.message
    assert ledger.outcomes == ["timeout"]


class _Signal:
    """A guard that tells when a call has its slot."""

    def __init__(self, arrived: threading.Event) -> None:
        self._arrived = arrived

    def allow(self, request: object, estimated_cost: float | None) -> None:
        self._arrived.set()


def test_an_interrupted_call_is_in_the_ledger_and_gives_its_slot_back(
    fake_llm: FakeLLM, chat_for: Build, ledger: ListLedger
) -> None:
    class Interrupting:
        def allow(self, request: object, estimated_cost: float | None) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        chat_for(max_concurrency=1, name="one", guard=Interrupting()).complete(a_request())

    assert ledger.outcomes == ["stopped"]
    assert chat_for(max_concurrency=1, name="one", deadline_s=1.0).complete(a_request()).parsed is not None


def test_a_forked_child_starts_with_all_slots_free(fake_llm: FakeLLM, chat_for: Build) -> None:
    chat = chat_for(max_concurrency=1, name="forked")
    read, write = os.pipe()
    with endpoint_calls._slots(chat.endpoint):
        child = os.fork()
        if child == 0:
            os.write(write, b"%d" % endpoint_calls._slots(chat.endpoint).acquire(blocking=False))
            os._exit(0)
        os.waitpid(child, 0)

    assert os.read(read, 1) == b"1"


# --- secrets -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["unauthorised", "bad_request", "rate_limit", "server_error", "drop", "half_body"]
)
def test_no_failure_tells_the_key_or_the_prompt(
    fake_llm: FakeLLM, chat_for: Build, ledger: ListLedger, caplog: pytest.LogCaptureFixture, kind: FaultKind
) -> None:
    """The fake repeats both in its error messages, as some servers do."""
    fake_llm.fault(kind)
    with caplog.at_level(logging.DEBUG):
        failure = failure_of(chat_for())
    told = "".join(traceback.format_exception(failure)) + caplog.text

    assert SECRET not in told
    assert "Payment records" not in told
    assert SECRET not in repr(vars(failure)) + (ledger.entries[0].response_body or "")


def test_error_codes_that_carry_text_are_not_repeated(fake_llm: FakeLLM, chat_for: Build) -> None:
    fake_llm.fault("bad_request", code="Payment records are kept", param="messages[0].content")
    failure = failure_of(chat_for())

    assert "Payment" not in failure.message
    assert "messages[0].content" in failure.message


def test_an_address_rule_decides_where_calls_may_go(
    fake_llm: FakeLLM, chat_for: Build, ledger: ListLedger
) -> None:
    seen: list[tuple[str, str]] = []

    def refuse(host: str, address: str) -> None:
        seen.append((host, address))
        raise LLMFailure("not_allowed", "private addresses are off limits")

    url = fake_llm.base_url.replace("127.0.0.1", "localhost")
    failure = failure_of(chat_for(base_url=url, address_rule=refuse), retries=2)

    assert failure.outcome == "not_allowed"
    assert seen[0][0] == "localhost"
    assert seen[0][1] in ("127.0.0.1", "::1")
    assert fake_llm.requests == []
    assert ledger.outcomes == ["not_allowed"]


def test_redirects_are_not_followed(fake_llm: FakeLLM, chat_for: Build) -> None:
    fake_llm.fault("redirect", 1)

    assert "redirects" in failure_of(chat_for()).message
    assert len(fake_llm.requests) == 1
