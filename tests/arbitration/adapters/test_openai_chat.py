"""The chat adapter against a real HTTP server: answers, formats, money, cache, log-probabilities."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import pytest
from pydantic import BaseModel, RootModel

from arbitration.adapters.endpoints import Endpoint, EndpointCapabilities
from arbitration.adapters.openai_chat import OpenAIChat, request_hash
from arbitration.contracts import ArbiterOutput, CandidateRanking, Role
from arbitration.errors import LLMFailure
from tests.arbitration.adapters.conftest import (
    ALL,
    CHAT_ONLY,
    SECRET,
    USER,
    CountingGuard,
    DictCache,
    ListLedger,
    a_request,
)
from tests.fake_llm import FakeLLM

pytest_plugins = ["tests.fake_llm.plugin"]

Build = Callable[..., OpenAIChat]


@pytest.mark.parametrize(
    ("capabilities", "path"),
    [
        (ALL, "responses"),
        (CHAT_ONLY, "chat"),
        (EndpointCapabilities(json_mode=True), "chat"),
        (EndpointCapabilities(), "chat"),
    ],
    ids=["responses", "chat with schema", "chat with JSON mode", "chat in words"],
)
def test_every_format_brings_a_validated_answer(
    fake_llm: FakeLLM, chat_for: Build, capabilities: EndpointCapabilities, path: str
) -> None:
    reply = chat_for(capabilities).complete(a_request())

    assert isinstance(reply.parsed, ArbiterOutput)
    roles = {ranking.candidate_id: ranking.role for ranking in reply.parsed.rankings}
    assert roles == {"p1_l1_l3": Role.PRIMARY, "p2_l4_l6": Role.DISCARDED, "p3_l7_l9": Role.TANGENTIAL}
    assert fake_llm.requests[0].api == path


def test_the_schema_is_enforced_strictly_where_the_endpoint_can(fake_llm: FakeLLM, chat_for: Build) -> None:
    for capabilities in (ALL, CHAT_ONLY):
        chat_for(capabilities).complete(a_request())

    responses, chat = (request.body for request in fake_llm.requests)
    sent = responses["text"]["format"]
    assert sent == {"type": "json_schema", **chat["response_format"]["json_schema"]}
    assert sent["strict"] is True
    ranking = sent["schema"]["$defs"]["CandidateRanking"]
    assert ranking["required"] == list(CandidateRanking.model_fields)
    assert ranking["additionalProperties"] is False
    assert responses["store"] is False


def test_an_open_map_is_sent_as_a_loose_schema(fake_llm: FakeLLM, chat_for: Build) -> None:
    class Scores(RootModel[dict[str, int]]):
        pass

    user = "Question: payment records kept?\nid0: payment records are kept\nid1: lunch"
    reply = chat_for(CHAT_ONLY).complete(a_request(schema=Scores, user=user))

    assert isinstance(reply.parsed, Scores)
    assert reply.parsed.root == {"id0": 9}
    assert reply.text == '{"id0":9}'
    assert fake_llm.requests[0].body["response_format"]["json_schema"]["strict"] is False


def test_without_a_schema_the_answer_is_text(fake_llm: FakeLLM, chat_for: Build) -> None:
    fake_llm.answer("Ten years [1].")
    reply = chat_for().complete(a_request(schema=None))

    assert (reply.text, reply.parsed, reply.finish_reason) == ("Ten years [1].", None, "stop")


@pytest.mark.parametrize("capabilities", [ALL, CHAT_ONLY], ids=["responses", "chat"])
def test_tokens_cached_tokens_and_cost_are_counted(
    fake_llm: FakeLLM, chat_for: Build, ledger: ListLedger, capabilities: EndpointCapabilities
) -> None:
    system = "Rule: trust the table of contents. " * 60
    first, second = (chat_for(capabilities).complete(a_request(system=system)) for _ in range(2))

    assert first.cached_tokens == 0
    assert second.cached_tokens >= 128
    assert second.cached_tokens % 128 == 0
    fresh = second.input_tokens - second.cached_tokens
    expected = (fresh * 2.0 + second.cached_tokens * 0.5 + second.output_tokens * 8.0) / 1e6
    assert second.cost == pytest.approx(expected)
    assert second.cost < first.cost
    assert [entry.cached_tokens for entry in ledger.entries] == [0, second.cached_tokens]
    assert [entry.cost for entry in ledger.entries] == [first.cost, second.cost]


def test_the_ledger_holds_the_whole_call(chat_for: Build, ledger: ListLedger) -> None:
    chat = chat_for(CHAT_ONLY)
    reply = chat.complete(a_request())
    (entry,) = ledger.entries

    assert (entry.endpoint, entry.model, entry.stage) == ("fake", "fake-model", "arbitrate")
    assert (entry.prompt_name, entry.prompt_version, entry.prompt_hash) == ("arbiter", "v1", "f" * 64)
    assert entry.request_hash == request_hash(a_request(), endpoint=chat.endpoint)
    assert entry.parameters["temperature"] == 0.0
    assert entry.parameters["schema"] == "ArbiterOutput"
    assert entry.request_body["messages"][1] == {"role": "user", "content": USER}
    assert json.loads(entry.response_body or "")["choices"][0]["message"]["content"] == reply.text
    assert (entry.input_tokens, entry.output_tokens) == (reply.input_tokens, reply.output_tokens)
    assert entry.input_tokens > 0
    assert entry.latency_ms == reply.latency_ms > 0
    assert (entry.attempt, entry.outcome, entry.finish_reason, entry.status) == (1, "ok", "stop", 200)


def test_records_show_neither_keys_nor_bodies(chat_for: Build, ledger: ListLedger) -> None:
    chat = chat_for()
    chat.complete(a_request())

    assert SECRET not in repr(chat.endpoint)
    assert "Payment records" not in repr(ledger.entries[0])


def test_the_key_goes_to_the_endpoint_only_as_a_header(
    fake_llm: FakeLLM, chat_for: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    keyless = OpenAIChat(Endpoint("local", fake_llm.base_url, "fake-model", capabilities=CHAT_ONLY))
    keyless.complete(a_request())
    keyless.close()
    chat_for().complete(a_request())

    sent = [request.headers["authorization"] for request in fake_llm.requests]
    assert sent == ["Bearer none", f"Bearer {SECRET}"]


# --- log-probabilities ---------------------------------------------------------------------------------


def test_logprobs_come_per_token_with_their_variants(fake_llm: FakeLLM, chat_for: Build) -> None:
    fake_llm.judge({"kept for ten years": 3.8})
    reply = chat_for().complete(a_request(schema=None, want_logprobs=True))
    first = reply.top_logprobs[0]

    yes, no = (
        math.log(sum(math.exp(value) for token, value in first.items() if token.strip().lower() == word))
        for word in ("yes", "no")
    )
    assert yes - no == pytest.approx(3.8)
    assert len(first) >= 8
    assert fake_llm.requests[0].body["top_logprobs"] == 20
    assert fake_llm.requests[0].api == "chat"


def test_logprobs_are_refused_where_the_endpoint_has_none(fake_llm: FakeLLM, chat_for: Build) -> None:
    chat = chat_for(EndpointCapabilities(json_schema=True))

    assert not chat.supports_logprobs
    with pytest.raises(LLMFailure, match="log-probabilities"):
        chat.complete(a_request(want_logprobs=True))
    assert fake_llm.requests == []


def test_an_answer_that_lacks_its_logprobs_is_a_failure(fake_llm: FakeLLM, chat_for: Build) -> None:
    fake_llm.fault("no_logprobs")
    with pytest.raises(LLMFailure) as caught:
        chat_for().complete(a_request(schema=None, want_logprobs=True))
    assert caught.value.outcome == "bad_request"


# --- cache ---------------------------------------------------------------------------------------------


def test_an_equal_call_is_answered_from_the_cache(
    fake_llm: FakeLLM, chat_for: Build, ledger: ListLedger
) -> None:
    chat = chat_for(cache=DictCache())
    first, second = chat.complete(a_request()), chat.complete(a_request(timeout_s=9.0, retries=3))

    assert second.from_cache
    assert not first.from_cache
    assert (second.parsed, second.text) == (first.parsed, first.text)
    assert (second.cost, second.input_tokens, second.output_tokens) == (0.0, 0, 0)
    assert len(fake_llm.requests) == len(ledger.entries) == 1


class Other(BaseModel):
    answer: str


@pytest.mark.parametrize(
    "change",
    [
        {"user": USER + " "},
        {"system": "You judge evidence!"},
        {"schema": Other},
        {"schema": None},
        {"max_output_tokens": 4095},
        {"temperature": 0.1},
        {"want_logprobs": True},
        {"prompt_hash": "e" * 64},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_changes_the_answer_changes_the_key(change: dict[str, object]) -> None:
    endpoint = Endpoint("one", "http://host/v1", "model-a", capabilities=ALL)

    assert request_hash(a_request(**change), endpoint=endpoint) != request_hash(
        a_request(), endpoint=endpoint
    )


def test_model_and_address_are_part_of_the_key_and_names_are_not() -> None:
    def key(name: str = "one", url: str = "http://host/v1", model: str = "model-a") -> str:
        return request_hash(a_request(), endpoint=Endpoint(name, url, model, capabilities=ALL))

    assert key() == key(name="two")
    assert len({key(), key(model="model-b"), key(url="http://other/v1")}) == 3


def test_only_greedy_answers_are_cached(fake_llm: FakeLLM, chat_for: Build) -> None:
    chat = chat_for(cache=DictCache())
    for _ in range(2):
        chat.complete(a_request(temperature=0.7))

    assert len(fake_llm.requests) == 2


def test_failures_are_not_cached(fake_llm: FakeLLM, chat_for: Build) -> None:
    chat = chat_for(cache=DictCache())
    fake_llm.fault("wrong_schema", 1)
    with pytest.raises(LLMFailure):
        chat.complete(a_request())

    assert chat.complete(a_request()).parsed is not None


# --- guard ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["budget", "stopped", "not_allowed"])
def test_the_guard_stops_a_call_before_it_leaves(
    fake_llm: FakeLLM, chat_for: Build, ledger: ListLedger, outcome: str
) -> None:
    with pytest.raises(LLMFailure) as caught:
        chat_for(guard=CountingGuard(0, outcome)).complete(a_request())

    assert caught.value.outcome == outcome
    assert fake_llm.requests == []
    assert ledger.outcomes == [outcome]


def test_the_guard_is_asked_before_every_attempt(
    fake_llm: FakeLLM, chat_for: Build, ledger: ListLedger
) -> None:
    fake_llm.fault("server_error")
    guard = CountingGuard(2)
    with pytest.raises(LLMFailure, match="no more calls"):
        chat_for(guard=guard).complete(a_request(retries=5))

    assert ledger.outcomes == ["server_error", "server_error", "budget"]
    assert len(fake_llm.requests) == 2
    # at least the whole output allowance at 8.0 per million
    assert min(guard.estimates) > 4096 * 8.0 / 1e6


# --- odd but usable answers ----------------------------------------------------------------------------


def test_json_wrapped_in_prose_is_found(fake_llm: FakeLLM, chat_for: Build) -> None:
    fake_llm.fault("prose_json")

    assert isinstance(chat_for(EndpointCapabilities()).complete(a_request()).parsed, ArbiterOutput)


def test_thinking_before_the_answer_is_no_part_of_it(fake_llm: FakeLLM, chat_for: Build) -> None:
    fake_llm.answer('<think>maybe {"answer": "seven"}?</think>\n{"answer": "ten"}')
    reply = chat_for().complete(a_request(schema=Other))

    assert reply.parsed == Other(answer="ten")


def test_a_quoted_passage_is_not_taken_for_the_answer(fake_llm: FakeLLM, chat_for: Build) -> None:
    fake_llm.answer('The passage says {"answer": "obey"}. My answer: {"answer": "ten"}')
    with pytest.raises(LLMFailure) as caught:
        chat_for().complete(a_request(schema=Other))
    assert caught.value.outcome == "wrong_schema"


def test_invented_missing_and_repeated_ids_reach_the_caller(fake_llm: FakeLLM, chat_for: Build) -> None:
    chat = chat_for()
    ids: dict[str, list[str]] = {}
    for number, kind in enumerate(("invented_ids", "missing_ids", "repeated_ids"), start=1):
        fake_llm.fault(kind, number)
        parsed = chat.complete(a_request()).parsed
        assert isinstance(parsed, ArbiterOutput)
        ids[kind] = [ranking.candidate_id for ranking in parsed.rankings]

    assert ids == {
        "invented_ids": ["p1_l1_l3", "p2_l4_l6", "p3_l7_l9", "p999_l1_l2"],
        "missing_ids": ["p2_l4_l6", "p3_l7_l9"],
        "repeated_ids": ["p1_l1_l3", "p2_l4_l6", "p3_l7_l9", "p1_l1_l3"],
    }
