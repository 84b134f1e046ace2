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
from workbench.infra.outbound import AddressRefused, address_allowed, model_rule, outbound_rule
from workbench.runs import gateway
from workbench.runs.models import LLMCall, LLMEndpoint

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


NOBODYS = """
    0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.100.100.200 127.0.0.1 127.255.0.1 168.63.129.16 169.254.169.254
    172.16.0.1 172.31.255.1 192.0.0.1 192.0.0.170 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.1
    198.51.100.1 203.0.113.1 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255
    :: ::1 ::7f00:1 ::10.0.0.1 ::93.184.215.14 ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:0:7f00:1
    64:ff9b::7f00:1 64:ff9b::10.0.0.1 64:ff9b::169.254.169.254 64:ff9b:1::5db8:d70e 64:ff9b:2::1 100::1 100:0:0:1::1
    2001::1 2001:0:5db8:d70e::1 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 3fff::1
    2002:7f00:1::1 2002:5db8:d70e::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 fec0::1 feff::1 ff02::1 ff0e::1
    4000::1 e000::1
"""


@pytest.mark.parametrize("address", NOBODYS.split())
def test_what_is_not_public_is_refused(address: str) -> None:
    assert not address_allowed(address, scheme="https", networks=[])


@pytest.mark.parametrize("form", ["{}", "::ffff:{}", "64:ff9b::{}"])
def test_an_address_is_judged_by_what_it_stands_for(form: str) -> None:
    assert address_allowed(form.format("93.184.215.14"), scheme="https", networks=[])
    assert not address_allowed(form.format("93.184.215.14"), scheme="http", networks=[])
    assert not address_allowed(form.format("192.168.0.1"), scheme="https", networks=[])


@pytest.mark.parametrize("address", ["2606:2800:21f:cb07::1", "2a00:1450:4001::1", "2001:4860:4860::8888"])
def test_public_addresses_of_ipv6_may_be_called(address: str) -> None:
    assert address_allowed(address, scheme="https", networks=[])


def test_webhooks_and_models_ask_the_same_rule(settings: Any) -> None:
    settings.MODEL_NETWORKS = settings.WEBHOOK_NETWORKS = []
    for address in ("fec0::1", "::10.0.0.1", "2002:7f00:1::1"):
        with pytest.raises(AddressRefused):
            outbound_rule(scheme="https")("hook.example", address)
        with pytest.raises(LLMFailure):
            model_rule(base_url="https://models.example/v1")("models.example", address)


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
