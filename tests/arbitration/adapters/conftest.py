"""What the adapters' tests share: a model at the fake server, hand-written hooks, no waiting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from arbitration.adapters.endpoints import Endpoint, EndpointCapabilities, LedgerEntry, Price
from arbitration.adapters.openai_chat import OpenAIChat
from arbitration.contracts import ArbiterOutput
from arbitration.errors import LLMFailure
from arbitration.protocols import ChatReply, ChatRequest
from tests.fake_llm import FakeLLM

SECRET = "sk-very-secret-0123456789"
ALL = EndpointCapabilities(responses=True, json_schema=True, logprobs=True, json_mode=True)
CHAT_ONLY = EndpointCapabilities(json_schema=True, logprobs=True, json_mode=True)
PRICE = Price(input=2.0, cached_input=0.5, output=8.0)

QUESTION = "How long are payment records kept?"
USER = f"""Question: {QUESTION}

p1_l1_l3 (keyword co-occurrence): Payment records are kept for ten years.
p2_l4_l6 (embedding): The canteen opens at noon.
p3_l7_l9 (title match): Records of meetings are public.
"""


@dataclass
class ListLedger:
    """Keeps entries in a list."""

    entries: list[LedgerEntry] = field(default_factory=list)

    def record(self, call: LedgerEntry) -> None:
        self.entries.append(call)

    @property
    def outcomes(self) -> list[str]:
        return [entry.outcome for entry in self.entries]


@dataclass
class CountingGuard:
    """Lets ``calls`` attempts pass, then refuses."""

    calls: int
    outcome: str = "budget"
    estimates: list[float | None] = field(default_factory=list)

    def allow(self, request: ChatRequest, estimated_cost: float | None) -> None:
        if len(self.estimates) >= self.calls:
            raise LLMFailure(self.outcome, "no more calls")
        self.estimates.append(estimated_cost)


@dataclass
class DictCache:
    """Keeps replies in a dictionary."""

    replies: dict[str, ChatReply] = field(default_factory=dict)

    def get(self, request_hash: str) -> ChatReply | None:
        return self.replies.get(request_hash)

    def put(self, request_hash: str, reply: ChatReply) -> None:
        self.replies[request_hash] = reply


def a_request(**changes: Any) -> ChatRequest:
    """An arbitration call over three candidates."""
    fields: dict[str, Any] = {
        "prompt_name": "arbiter",
        "prompt_version": "v1",
        "prompt_hash": "f" * 64,
        "system": "You judge evidence.",
        "user": USER,
        "schema": ArbiterOutput,
        "timeout_s": 5.0,
        "retries": 0,
    }
    return ChatRequest(**(fields | changes))


@pytest.fixture
def ledger() -> ListLedger:
    return ListLedger()


@pytest.fixture
def pauses() -> list[float]:
    """The pauses between attempts that the models of ``chat_for`` would have made."""
    return []


@pytest.fixture
def chat_for(
    fake_llm: FakeLLM, ledger: ListLedger, pauses: list[float]
) -> Iterator[Callable[..., OpenAIChat]]:
    """Builds models at the fake server; they note their pauses instead of making them."""
    built: list[OpenAIChat] = []

    def build(capabilities: EndpointCapabilities | None = ALL, **options: Any) -> OpenAIChat:
        endpoint = Endpoint(
            name=options.pop("name", "fake"),
            base_url=options.pop("base_url", fake_llm.base_url),
            model="fake-model",
            api_key=SECRET,
            capabilities=capabilities,
            price=PRICE,
            max_concurrency=options.pop("max_concurrency", 8),
        )
        hooks = {"ledger": ledger, "sleep": pauses.append, "jitter": lambda: 0.0}
        built.append(OpenAIChat(endpoint, **(hooks | options)))
        return built[-1]

    yield build
    for chat in built:
        chat.close()
