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
#: Levels of reasoning effort that endpoints know; one that lacks the level asked for is asked without.
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
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
        """What the call cost; 0 when no price is known, which :meth:`is_priced` tells from nothing."""
        if price is None:
            return 0.0
        fresh = self.input_tokens - self.cached_tokens
        total = (
            fresh * price.input + self.cached_tokens * price.cached_input + self.output_tokens * price.output
        )
        return total / 1_000_000

    def is_priced(self, price: Price | None) -> bool:
        """Whether the cost is known: there is a price, or nothing was used that could have one."""
        return price is not None or self == Usage()


@dataclass(frozen=True, slots=True)
class EndpointCapabilities:
    """What an endpoint was seen to do (see :mod:`arbitration.adapters.probe`).

    ``responses``: ``/responses`` with a JSON schema that is enforced. ``json_schema``, ``json_mode`` and
    ``logprobs`` speak of ``/chat/completions``. ``temperature``: whether it may be set.
    ``output_limit``: the name of the field that limits a chat answer. ``effort``: whether it takes the
    level of reasoning effort that the probe tried, ``effort_tried``.
    """

    responses: bool = False
    json_schema: bool = False
    logprobs: bool = False
    models: tuple[str, ...] = ()
    json_mode: bool = False
    temperature: bool = True
    output_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    effort: bool = False
    effort_tried: Effort | None = None


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
    in this process together. ``price`` None: nobody knows what the model costs; one that costs nothing has ``Price()``.
    ``effort`` is how hard a reasoning model thinks, None as it likes; ``thinking_tokens`` is what it may write for
    itself, beside the answer.
    """

    name: str
    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    capabilities: EndpointCapabilities | None = None
    price: Price | None = None
    max_concurrency: int = 8
    effort: Effort | None = None
    thinking_tokens: int = 0

    def __post_init__(self) -> None:
        if self.max_concurrency < 1:
            raise ValueError("max_concurrency is at least 1")
        if self.thinking_tokens < 0:
            raise ValueError("thinking_tokens is at least 0")
        if not self.base_url.startswith(("http://", "https://")):
            raise ValueError("base_url starts with http:// or https://")

    @property
    def known_capabilities(self) -> EndpointCapabilities:
        """The probed capabilities, else what may be assumed of such an address."""
        if self.capabilities is not None:
            return self.capabilities
        return OPENAI_CAPABILITIES if self.base_url.startswith(f"{OPENAI_HOST}/") else COMPATIBLE_CAPABILITIES

    @property
    def used_effort(self) -> Effort | None:
        """The level of effort that is sent: the one set, where the endpoint takes it."""
        known = self.known_capabilities
        return self.effort if known.effort and known.effort_tried == self.effort else None

    @property
    def thinks(self) -> bool:
        """Whether the model thinks before it answers, as one does that takes no temperature. What it thinks counts
        against the limit of its output."""
        return not self.known_capabilities.temperature and self.used_effort != "none"

    def output_limit(self, wanted: int) -> int:
        """The tokens that a call may write whose answer needs ``wanted``."""
        return wanted + (self.thinking_tokens if self.thinks else 0)


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One attempt at one call, whatever came of it.

    ``outcome`` is ``ok`` or an outcome of :class:`arbitration.errors.LLMFailure`. ``request_hash`` is a
    SHA-256 over everything that changes the answer. ``attempt`` counts from 1. ``response_body`` is the raw
    text, None when there was none; ``status`` the HTTP status, None without a response. Without ``is_priced`` the cost
    is unknown and stands as 0.
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
    is_priced: bool = True


class Ledger(Protocol):
    """Keeps every attempt. Called from several threads; an error it raises ends the call."""

    def record(self, call: LedgerEntry) -> None:
        """Store one attempt."""


class Guard(Protocol):
    """Asked before every attempt: budgets, the stop switch, the endpoints a collection may use."""

    def allow(self, request: ChatRequest, estimated_cost: float | None) -> None:
        """Return to let the attempt pass; else raise ``LLMFailure`` with ``budget``, ``stopped`` or
        ``not_allowed``. The estimate assumes that the whole output allowance is used; None where the model has no
        price."""


class ReplyCache(Protocol):
    """Answers by request hash. Replies are stored without ``parsed``; the text is validated again."""

    def get(self, request_hash: str) -> ChatReply | None:
        """The stored reply, or None."""

    def put(self, request_hash: str, reply: ChatReply) -> None:
        """Store a usable reply."""
