"""Which addresses models may be asked at: public ones over https, others where the operator names their network."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from arbitration.errors import LLMFailure
from arbitration.protocols import ChatRequest
from tests.fake_llm.server import FakeLLM
from tests.workbench.cast import Cast
from workbench.documents.embedding import current_embedder
from workbench.ops.outbound import address_allowed, model_rule
from workbench.questions import gateway
from workbench.questions.models import LLMCall, LLMEndpoint

pytest_plugins = ["tests.fake_llm.plugin"]

REQUEST = ChatRequest(
    prompt_name="test",
    prompt_version="1",
    prompt_hash="0" * 64,
    system="Say.",
    user="Say it.",
    max_output_tokens=10,
)
HERE = [ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("fd00::/8")]


@pytest.mark.parametrize(
    ("address", "scheme", "expected"),
    [
        ("93.184.215.14", "https", True),
        ("93.184.215.14", "http", False),
        ("127.0.0.1", "http", True),
        ("fd00::1", "http", True),
        ("10.0.0.1", "https", False),
        ("169.254.169.254", "http", False),
        ("169.254.169.254", "https", False),
        ("::ffff:10.0.0.1", "https", False),
        ("64:ff9b::a00:1", "https", False),
        ("0.0.0.0", "https", False),
        ("224.0.0.1", "https", False),
        ("fe80::1%eth0", "https", False),
        ("models.example", "https", False),
    ],
)
def test_addresses(address: str, scheme: str, expected: bool) -> None:
    assert address_allowed(address, scheme=scheme, networks=HERE) is expected


def test_a_refusal_says_what_to_do(settings: Any) -> None:
    settings.MODEL_NETWORKS = []
    with pytest.raises(LLMFailure, match="MODEL_NETWORKS") as refused:
        model_rule(base_url="https://models.example/v1")("models.example", "192.168.1.9")
    assert refused.value.outcome == "not_allowed"


@pytest.fixture
def endpoint(fake_llm: FakeLLM, settings: Any) -> FakeLLM:
    """The installation's model is one on this machine, which nobody allowed."""
    settings.LLM_CONFIGURED = True
    settings.OPENAI_BASE_URL = fake_llm.base_url
    settings.OPENAI_API_KEY = "key"
    settings.OPENAI_MODEL = "fake-model"
    settings.MODEL_NETWORKS = []
    return fake_llm


def test_neither_probe_nor_call_reaches_it(cast: Cast, endpoint: FakeLLM) -> None:
    cast.alpha.allowed_endpoints = [gateway.endpoint_name()]
    cast.alpha.save(update_fields=["allowed_endpoints"])
    chat = gateway.collection_chat_model(collection=cast.alpha)
    assert chat is not None
    with pytest.raises(LLMFailure) as refused:
        chat.complete(REQUEST)
    chat.close()
    assert refused.value.outcome == "not_allowed"
    assert endpoint.requests == []
    assert set(LLMCall.objects.values_list("outcome", flat=True)) == {"not_allowed"}
    assert not LLMEndpoint.objects.exists()


def test_neither_does_an_embedding(endpoint: FakeLLM, settings: Any) -> None:
    settings.EMBEDDER_OPENAI_MODEL = "fake-embedding"
    current_embedder.cache_clear()
    try:
        with pytest.raises(LLMFailure) as refused:
            current_embedder().embed(["words"])
    finally:
        current_embedder.cache_clear()
    assert refused.value.outcome == "not_allowed"
    assert endpoint.requests == []
