"""The recipes of docs/providers.md against a fake of each dialect: the probe finds a way, and answers come in shape."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arbitration.adapters.endpoints import Endpoint
from arbitration.adapters.openai_chat import OpenAIChat
from arbitration.adapters.probe import probe
from arbitration.contracts import ArbiterOutput
from arbitration.errors import LLMFailure
from tests.arbitration.adapters.conftest import SECRET, a_request
from tests.fake_llm import FakeLLM

pytest_plugins = ["tests.fake_llm.plugin"]

#: What each server lacks beside what every compatible one has, as its documentation says.
LACKING = {
    "openai": (),
    "openai, a reasoning model": ("temperature", "max_tokens", "logprobs"),
    "anthropic": ("responses", "json_schema", "json_mode", "logprobs", "effort"),
    "litellm": ("responses", "logprobs", "effort"),
    "litellm, a model without a temperature": ("responses", "logprobs", "temperature"),
    "litellm, a reasoning model": ("responses", "logprobs", "temperature", "max_tokens"),
    "vllm": ("responses", "effort"),
    "ollama": ("responses", "logprobs", "effort"),
    "llama.cpp": ("responses", "models", "effort"),
}


@pytest.mark.parametrize("server", LACKING)
def test_the_probe_finds_a_way_and_the_answer_has_its_shape(fake_llm: FakeLLM, server: str) -> None:
    dialect, lacking = server.partition(",")[0], LACKING[server]
    fake_llm.script.dialect = dialect
    fake_llm.without(*lacking)
    endpoint = Endpoint(
        dialect, fake_llm.base_url, "fake-model", api_key=SECRET, effort="low", thinking_tokens=100
    )

    found = probe(endpoint)

    assert found.temperature == ("temperature" not in lacking)
    assert found.output_limit == ("max_completion_tokens" if "max_tokens" in lacking else "max_tokens")
    assert (found.responses, found.json_schema, found.logprobs, found.effort) == tuple(
        name not in lacking for name in ("responses", "json_schema", "logprobs", "effort")
    )
    chat = OpenAIChat(replace(endpoint, capabilities=found))
    try:
        reply = chat.complete(a_request(max_output_tokens=4000))
    finally:
        chat.close()
    assert isinstance(reply.parsed, ArbiterOutput)
    sent = fake_llm.requests[-1]
    assert sent.max_tokens == (4100 if "temperature" in lacking else 4000)  # room for its thoughts
    assert ("reasoning" in sent.body or "reasoning_effort" in sent.body) == ("effort" not in lacking)


def test_azures_older_addresses_name_deployment_and_version(fake_llm: FakeLLM) -> None:
    host = fake_llm.base_url.removesuffix("/v1")
    address = f"{host}/openai/deployments/mine?api-version=2024-10-21"
    endpoint = Endpoint("azure", address, "mine", api_key=SECRET)
    found = probe(endpoint)
    assert (found.responses, found.models, found.json_schema) == (False, (), True)
    chat = OpenAIChat(replace(endpoint, capabilities=found))
    assert chat.complete(a_request()).parsed is not None
    chat.close()
    assert fake_llm.requests[-1].headers["api-key"] == SECRET

    with pytest.raises(LLMFailure, match="no such path or model"):
        probe(replace(endpoint, base_url=address.partition("?")[0]))


def test_a_refusal_that_names_nothing_and_that_nothing_cures_is_told(fake_llm: FakeLLM) -> None:
    fake_llm.script.dialect = "litellm"
    fake_llm.fault("bad_request")
    with pytest.raises(LLMFailure) as failure:
        probe(Endpoint("gateway", fake_llm.base_url, "fake-model", api_key=SECRET))
    assert failure.value.outcome == "bad_request"
