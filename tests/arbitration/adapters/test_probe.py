"""The probe finds out what a server can do, and does not guess when it cannot find out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from arbitration.adapters.endpoints import Endpoint, EndpointCapabilities, Price
from arbitration.adapters.openai_chat import OpenAIChat
from arbitration.adapters.probe import probe
from arbitration.errors import LLMFailure
from tests.arbitration.adapters.conftest import SECRET, CountingGuard, ListLedger, a_request
from tests.fake_llm import FakeLLM

pytest_plugins = ["tests.fake_llm.plugin"]

EVERYTHING = EndpointCapabilities(
    responses=True, json_schema=True, logprobs=True, json_mode=True, models=("fake-embedding", "fake-model")
)


@pytest.fixture
def endpoint(fake_llm: FakeLLM) -> Iterator[Endpoint]:
    return Endpoint("fake", fake_llm.base_url, "fake-model", api_key=SECRET)


def test_a_server_that_can_everything_is_recognised(endpoint: Endpoint, ledger: ListLedger) -> None:
    assert probe(endpoint, ledger=ledger) == EVERYTHING
    assert {entry.stage for entry in ledger.entries} == {"probe"}
    assert len(ledger.entries) == 5


@pytest.mark.parametrize("name", ["responses", "json_schema", "json_mode", "logprobs"])
def test_each_missing_capability_is_found(fake_llm: FakeLLM, endpoint: Endpoint, name: str) -> None:
    fake_llm.without(name)
    seen = probe(endpoint)

    # a server without JSON schema cannot enforce one on /responses either
    lost = {name: False} | ({"responses": False} if name == "json_schema" else {})
    assert seen == replace(EVERYTHING, **lost)


def test_a_schema_that_is_taken_and_ignored_is_no_capability(fake_llm: FakeLLM, endpoint: Endpoint) -> None:
    fake_llm.without(ignores_schema=True)
    seen = probe(endpoint)

    assert (seen.responses, seen.json_schema, seen.json_mode, seen.logprobs) == (False, False, False, True)


def test_logprobs_that_are_asked_for_and_not_sent_are_no_capability(
    fake_llm: FakeLLM, endpoint: Endpoint
) -> None:
    fake_llm.fault("no_logprobs")

    assert not probe(endpoint).logprobs


def test_parameters_that_newer_models_refuse_are_left_out(fake_llm: FakeLLM, endpoint: Endpoint) -> None:
    fake_llm.without("temperature", "max_tokens")
    seen = probe(endpoint)

    assert seen == replace(EVERYTHING, temperature=False, output_limit="max_completion_tokens")
    chat = OpenAIChat(replace(endpoint, capabilities=replace(seen, responses=False)))
    assert chat.complete(a_request()).parsed is not None
    chat.close()


def test_a_server_without_a_model_list_has_no_models(fake_llm: FakeLLM, endpoint: Endpoint) -> None:
    fake_llm.without("models")

    assert probe(endpoint).models == ()


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [("unauthorised", "not_allowed"), ("server_error", "server_error"), ("drop", "connection")],
)
def test_trouble_is_not_taken_for_inability(
    fake_llm: FakeLLM, endpoint: Endpoint, fault: str, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arbitration.adapters.endpoint_calls.FIRST_BACKOFF_S", 0.0)
    fake_llm.fault(fault)  # type: ignore[arg-type]
    with pytest.raises(LLMFailure) as caught:
        probe(endpoint)
    assert caught.value.outcome == outcome


@pytest.mark.parametrize("status", [500, 501])
def test_a_server_that_fails_on_a_schema_lacks_it(fake_llm: FakeLLM, endpoint: Endpoint, status: int) -> None:
    fake_llm.fault("server_error", 2, 3, 4, 5, status=status)  # /responses and JSON schema, each tried twice
    seen = probe(endpoint)

    assert (seen.responses, seen.json_schema, seen.json_mode, seen.logprobs) == (False, False, True, True)


def test_a_server_that_is_overloaded_says_nothing_of_a_schema(fake_llm: FakeLLM, endpoint: Endpoint) -> None:
    fake_llm.fault("server_error", 2, 3, status=503)
    with pytest.raises(LLMFailure) as caught:
        probe(endpoint)
    assert caught.value.outcome == "server_error"


def test_an_unknown_model_is_an_error_and_not_an_endpoint_that_can_nothing(
    fake_llm: FakeLLM, endpoint: Endpoint
) -> None:
    fake_llm.fault("bad_request", status=404, code="model_not_found")
    with pytest.raises(LLMFailure, match="no such path or model"):
        probe(endpoint)


def test_the_guard_may_forbid_a_probe(endpoint: Endpoint) -> None:
    with pytest.raises(LLMFailure) as caught:
        probe(endpoint, guard=CountingGuard(0, "not_allowed"))
    assert caught.value.outcome == "not_allowed"


def test_before_a_probe_little_is_assumed() -> None:
    assert Endpoint("a", "https://api.openai.com/v1", "m").known_capabilities.responses
    assert (
        Endpoint("b", "https://api.openai.com.evil.example/v1", "m").known_capabilities
        == EndpointCapabilities()
    )


@pytest.mark.parametrize(("url", "limit"), [("ftp://host/v1", 1), ("http://host/v1", 0)])
def test_an_impossible_endpoint_is_refused(url: str, limit: int) -> None:
    with pytest.raises(ValueError, match=r"base_url|max_concurrency"):
        Endpoint("a", url, "m", max_concurrency=limit)


# --- models that reason --------------------------------------------------------------------------------


def body_of(fake_llm: FakeLLM) -> dict[str, object]:
    return fake_llm.requests[-1].body


@pytest.mark.parametrize("takes_it", [True, False])
@pytest.mark.parametrize("responses", [True, False])
def test_a_level_of_effort_is_sent_where_the_endpoint_takes_it(
    fake_llm: FakeLLM, endpoint: Endpoint, takes_it: bool, responses: bool
) -> None:
    if not takes_it:
        fake_llm.without("effort")
    endpoint = replace(endpoint, effort="low")
    seen = probe(endpoint)
    assert (seen.effort, seen.effort_tried) == (takes_it, "low")

    chat = OpenAIChat(replace(endpoint, capabilities=replace(seen, responses=responses)))
    assert chat.complete(a_request()).parsed is not None
    chat.close()
    sent = {name: body_of(fake_llm).get(name) for name in ("reasoning", "reasoning_effort")}
    assert sent == {
        "reasoning": {"effort": "low"} if takes_it and responses else None,
        "reasoning_effort": "low" if takes_it and not responses else None,
    }


def test_a_level_that_was_not_tried_is_not_sent(fake_llm: FakeLLM, endpoint: Endpoint) -> None:
    seen = probe(replace(endpoint, effort="low"))
    other = replace(endpoint, effort="high", capabilities=replace(seen, responses=False))
    assert other.used_effort is None


@pytest.mark.parametrize("reasons", [True, False])
def test_a_model_that_reasons_may_write_its_thoughts_beside_the_answer(
    fake_llm: FakeLLM, endpoint: Endpoint, reasons: bool
) -> None:
    if reasons:
        fake_llm.without("temperature", "max_tokens")
    endpoint = replace(endpoint, thinking_tokens=1000, capabilities=probe(endpoint))
    for responses in (True, False):
        capabilities = replace(endpoint.known_capabilities, responses=responses)
        guard = CountingGuard(1)
        chat = OpenAIChat(replace(endpoint, capabilities=capabilities, price=Price(output=1.0)), guard=guard)
        chat.complete(a_request(max_output_tokens=500))
        chat.close()
        body = body_of(fake_llm)
        assert fake_llm.requests[-1].max_tokens == (1500 if reasons else 500)
        assert ("temperature" in body) is not reasons
        assert "max_tokens" not in body if reasons else "max_completion_tokens" not in body
        assert guard.estimates == [pytest.approx((1500 if reasons else 500) / 1e6)]


def test_a_model_told_not_to_think_needs_no_room_for_it(endpoint: Endpoint) -> None:
    able = EndpointCapabilities(temperature=False, effort=True, effort_tried="none")
    still = replace(endpoint, effort="none", thinking_tokens=1000, capabilities=able)
    assert still.output_limit(500) == 500
