"""What is known of a model endpoint, and the hooks through which every call to one passes.

Nothing here makes a call. ``repr`` of these records shows neither keys nor bodies, so that a log line or a
traceback that holds one gives nothing away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from arbitration.protocols import ChatReply, ChatRequest

OPENAI_HOST = "https://api.openai.com"
#: Characters per token assumed when a cost is estimated before a call; on the safe side for prose.
CHARACTERS_PER_TOKEN = 3


@dataclass(frozen=True, slots=True)
class Price:
    """Price in the ledger's currency per million tokens."""

    input: float = 0.0
    cached_input: float = 0.0
    output: float = 0.0


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call as the endpoint counted them; ``cached_tokens`` are part of ``input_tokens``."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0

    def cost(self, price: Price | None) -> float:
        """What the call cost; 0 when no price is known."""
        if price is None:
            return 0.0
        fresh = self.input_tokens - self.cached_tokens
        total = (
            fresh * price.input + self.cached_tokens * price.cached_input + self.output_tokens * price.output
        )
        return total / 1_000_000


@dataclass(frozen=True, slots=True)
class EndpointCapabilities:
    """What an endpoint was seen to do (see :mod:`arbitration.adapters.probe`).

    ``responses``: ``/responses`` with a JSON schema that is enforced. ``json_schema``, ``json_mode`` and
    ``logprobs`` speak of ``/chat/completions``. ``temperature``: whether it may be set.
    ``output_limit``: the name of the field that limits a chat answer.
    """

    responses: bool = False
    json_schema: bool = False
    logprobs: bool = False
    models: tuple[str, ...] = ()
    json_mode: bool = False
    temperature: bool = True
    output_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"


#: Assumed of OpenAI itself before a probe.
OPENAI_CAPABILITIES = EndpointCapabilities(
    responses=True,
    json_schema=True,
    logprobs=True,
    json_mode=True,
    output_limit="max_completion_tokens",
)
#: Assumed of any other server before a probe: the least that "OpenAI-compatible" promises.
COMPATIBLE_CAPABILITIES = EndpointCapabilities()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one address. ``base_url`` ends in the API's version, such as ``https://host/v1``.

    ``capabilities`` is None until the endpoint has been probed. ``max_concurrency`` holds for all callers
    in this process together.
    """

    name: str
    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    capabilities: EndpointCapabilities | None = None
    price: Price | None = None
    max_concurrency: int = 8

    def __post_init__(self) -> None:
        if self.max_concurrency < 1:
            raise ValueError("max_concurrency is at least 1")
        if not self.base_url.startswith(("http://", "https://")):
            raise ValueError("base_url starts with http:// or https://")

    @property
    def known_capabilities(self) -> EndpointCapabilities:
        """The probed capabilities, else what may be assumed of such an address."""
        if self.capabilities is not None:
            return self.capabilities
        return OPENAI_CAPABILITIES if self.base_url.startswith(f"{OPENAI_HOST}/") else COMPATIBLE_CAPABILITIES


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One attempt at one call, whatever came of it.

    ``outcome`` is ``ok`` or an outcome of :class:`arbitration.errors.LLMFailure`. ``request_hash`` is a
    SHA-256 over everything that changes the answer. ``attempt`` counts from 1. ``response_body`` is the raw
    text, None when there was none; ``status`` the HTTP status, None without a response.
    """

    request_hash: str
    endpoint: str
    model: str
    stage: str
    prompt_name: str
    prompt_version: str
    prompt_hash: str
    parameters: Mapping[str, Any]
    request_body: Mapping[str, Any] = field(repr=False)
    response_body: str | None = field(repr=False)
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost: float
    latency_ms: float
    attempt: int
    outcome: str
    finish_reason: str
    status: int | None


class Ledger(Protocol):
    """Keeps every attempt. Called from several threads; an error it raises ends the call."""

    def record(self, call: LedgerEntry) -> None:
        """Store one attempt."""


class Guard(Protocol):
    """Asked before every attempt: budgets, the stop switch, the endpoints a collection may use."""

    def allow(self, request: ChatRequest, estimated_cost: float) -> None:
        """Return to let the attempt pass; else raise ``LLMFailure`` with ``budget``, ``stopped`` or
        ``not_allowed``. The estimate assumes that the whole output allowance is used."""


class ReplyCache(Protocol):
    """Answers by request hash. Replies are stored without ``parsed``; the text is validated again."""

    def get(self, request_hash: str) -> ChatReply | None:
        """The stored reply, or None."""

    def put(self, request_hash: str, reply: ChatReply) -> None:
        """Store a usable reply."""
