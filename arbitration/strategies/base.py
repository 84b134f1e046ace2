"""What every strategy is given and what it must say about every candidate."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Generic, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from arbitration.capped import ModelText
from arbitration.clock import SystemClock
from arbitration.contracts import ConflictPair, DecidedBy, QuoteCheck, Role
from arbitration.errors import LLMFailure, StrategyUnavailable
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.prompting import RenderedPrompt
from arbitration.protocols import (
    CandidateStore,
    ChatModel,
    ChatReply,
    ChatRequest,
    Clock,
    NullProgress,
    Progress,
    Scorer,
)
from arbitration.settings import Bars, EngineSettings

Requirement = Literal["chat", "logprobs", "scorer", "embedder"]


class StrategyRecord(BaseModel):
    """Base of what strategies return: frozen, strict, and safe to send between processes as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")


_REVISABLE = frozenset({"rule", "gate", "mlp", "logistic", "fallback"})


class Verdict(StrategyRecord):
    """One candidate's role and reason. ``role`` is ``None`` only for ``decided_by.kind == "undecided"``.

    ``raw_score`` is on ``score_scale``; ``normalised_score`` and ``probability`` are in [0, 1].
    """

    candidate_id: str
    role: Role | None
    reason: ModelText
    decided_by: DecidedBy
    probability: float | None = Field(default=None, ge=0.0, le=1.0)
    raw_score: float | None = None
    score_scale: str | None = None
    normalised_score: float | None = Field(default=None, ge=0.0, le=1.0)
    needs_person: bool = False
    needs_person_reasons: tuple[str, ...] = ()
    counter_argument: ModelText | None = None
    model_confidence: float | None = Field(default=None, ge=0.0, le=1.0)  # as the model that judged it says
    quotes: tuple[QuoteCheck, ...] = ()
    injection_suspected: bool = False
    injection_words: tuple[
        str, ...
    ] = ()  # of the passage, that raise the suspicion; see arbitration.injection
    terms: dict[str, float] = Field(default_factory=dict)  # parts of a composite score, by name

    @property
    def may_be_revised(self) -> bool:
        """Whether rules may change it: rules and scores decided. A model's and a person's word is theirs, and a
        baseline only ranks."""
        return self.decided_by.kind in _REVISABLE

    def without_uncertainty(self) -> Verdict:
        """The same verdict; that rules and score did not settle it is no longer a matter for a person."""
        kept = tuple(reason for reason in self.needs_person_reasons if not reason.startswith("uncertain"))
        return self.model_copy(update={"needs_person": bool(kept), "needs_person_reasons": kept})

    def for_person(self, reason: str) -> Verdict:
        """The same verdict, marked for a person with one more reason."""
        reasons = tuple(dict.fromkeys((*self.needs_person_reasons, reason)))
        return self.model_copy(update={"needs_person": True, "needs_person_reasons": reasons})


class CallRecord(StrategyRecord):
    """One model call as it went. ``outcome`` is ``ok`` or the code of an :class:`LLMFailure`."""

    prompt_name: str
    prompt_version: str
    prompt_hash: str
    stage: str
    outcome: str
    model: str
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    latency_ms: float = 0.0
    message: str | None = None


class StrategyOutcome(StrategyRecord):
    """Everything a strategy says. ``verdicts`` holds each candidate of the pool exactly once, best first.

    ``judged_together``: the candidates of each call, where a strategy spreads them over several. What a passage says
    of others reaches those of its own call. ``no_strong_match``: what is kept is the nearest there is, no more."""

    verdicts: tuple[Verdict, ...]
    no_strong_match: bool = False
    conflicts: tuple[ConflictPair, ...] = ()
    unknown_ids: tuple[str, ...] = ()
    repeated_ids: tuple[str, ...] = ()
    undecided_ids: tuple[str, ...] = ()
    judged_together: tuple[frozenset[str], ...] = ()
    calls: tuple[CallRecord, ...] = ()
    notes: tuple[str, ...] = ()
    artefacts: dict[str, str] = Field(default_factory=dict)  # such as an inferred rubric, as JSON


FeatureRows = Callable[[CandidatePool], npt.NDArray[np.float64]]


@dataclass(frozen=True, kw_only=True)
class StrategyServices:
    """What a strategy may use; each is optional and a strategy names what it cannot do without.

    ``feature_rows`` turns a pool into the scorer's features, one row per candidate in the pool's order.
    ``is_borrowed``: the scorer learned from none of the installation's own labels.
    ``store`` lets a second pass read pages; ``options`` are a strategy's own settings (thresholds, K, N ...).
    """

    chat: ChatModel | None = None
    scorer: Scorer | None = None
    is_borrowed: bool = False
    feature_rows: FeatureRows | None = None
    store: CandidateStore | None = None
    clock: Clock = field(default_factory=SystemClock)
    progress: Progress = field(default_factory=NullProgress)
    options: Mapping[str, object] = field(default_factory=dict)

    def require_chat(self, strategy: str) -> ChatModel:
        """The chat model, or :class:`StrategyUnavailable` saying how to get one."""
        if self.chat is None:
            raise StrategyUnavailable(
                f"Strategy '{strategy}' needs a language model; configure an endpoint or use 'offline'."
            )
        return self.chat

    def measured_once(self, pool: CandidatePool) -> StrategyServices:
        """The same services, which compute this pool's feature rows once, when they are first asked for."""
        measure = self.feature_rows
        if measure is None:
            return self
        rows = cache(lambda: measure(pool))
        return replace(self, feature_rows=lambda _pool: rows())

    def probabilities(self, pool: CandidatePool) -> dict[str, float] | None:
        """Calibrated probability of each candidate, when a model is deployed."""
        if self.scorer is None or self.feature_rows is None or not pool.candidates:
            return None
        values = self.scorer.probabilities(self.feature_rows(pool))
        return {c.candidate_id: float(p) for c, p in zip(pool.candidates, values, strict=True)}

    def bars(self, pool: CandidatePool) -> Bars:
        """The bars that fit :meth:`probabilities`, or the rules' estimate where no model is deployed."""
        if self.scorer is None or self.feature_rows is None:
            return pool.settings.bars(threshold=None)
        return pool.settings.bars(threshold=self.scorer.threshold, is_borrowed=self.is_borrowed)


class Strategy(Protocol):
    """Gives every candidate of a pool a role and a reason."""

    @property
    def name(self) -> str:
        """The name people choose it by."""

    @property
    def description(self) -> str:
        """One line for people."""

    @property
    def requires(self) -> tuple[Requirement, ...]:
        """What it cannot run without."""

    def decide(self, pool: CandidatePool, *, services: StrategyServices) -> StrategyOutcome:
        """One verdict per candidate, best first. Raises :class:`StrategyUnavailable` before any work when a
        requirement is missing; a model's failure is an outcome, not an exception."""


def order_of(strategy: Strategy) -> Literal["role", "score"]:
    """What orders the survivors of a strategy: their roles, or, where it says ``orders_by_score``, its score alone."""
    return "score" if getattr(strategy, "orders_by_score", False) else "role"


def needs_model(strategy: Strategy) -> bool:
    """Whether it cannot run without a language model."""
    return bool({"chat", "logprobs"} & set(strategy.requires))


def is_baseline(strategy: Strategy) -> bool:
    """Whether it is there to be compared with, and never the default."""
    return getattr(strategy, "is_baseline", False)


def asks_if_there_is_one(strategy: Strategy) -> bool:
    """Whether it decides without a language model, and asks one about what is uncertain where there is one."""
    return getattr(strategy, "asks_if_there_is_one", False)


def reads_gates(strategy: Strategy) -> bool:
    """Whether the thresholds of a collection have a say in what it decides."""
    return getattr(strategy, "reads_gates", False)


_OF_THE_REQUEST = ("prompt_name", "prompt_version", "prompt_hash", "stage")
_OF_THE_REPLY = ("model", "input_tokens", "cached_tokens", "output_tokens", "cost", "latency_ms")


class Calls:
    """Collects what model calls cost, from any thread, and turns failures into records."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat
        self._lock = threading.Lock()
        self._records: list[CallRecord] = []

    @property
    def records(self) -> tuple[CallRecord, ...]:
        """All calls so far."""
        with self._lock:
            return tuple(self._records)

    @property
    def model(self) -> str:
        """Name of the model asked."""
        return self._chat.name

    def complete(self, request: ChatRequest) -> ChatReply:
        """One call, recorded. Re-raises :class:`LLMFailure` after recording it."""
        try:
            reply = self._chat.complete(request)
        except LLMFailure as failure:
            self._record(request, outcome=failure.outcome, message=failure.message)
            raise
        self._record(request, outcome="ok", reply=reply)
        return reply

    def _record(
        self,
        request: ChatRequest,
        *,
        outcome: str,
        reply: ChatReply | None = None,
        message: str | None = None,
    ) -> None:
        asked = {name: getattr(request, name) for name in _OF_THE_REQUEST}
        given = {name: getattr(reply, name) for name in _OF_THE_REPLY} if reply else {"model": self.model}
        with self._lock:
            self._records.append(CallRecord(outcome=outcome, message=message, **asked, **given))


Parsed = TypeVar("Parsed", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Structured(Generic[Parsed]):
    """An answer of the shape that was asked for, and who gave it."""

    value: Parsed
    decided_by: DecidedBy


def ask_structured(
    calls: Calls,
    prompt: RenderedPrompt,
    schema: type[Parsed],
    *,
    settings: EngineSettings,
    stage: str,
    tokens: int | None = None,
) -> Structured[Parsed] | LLMFailure:
    """One structured call, whose answer needs ``tokens`` at most; a failure, another shape included, is returned and
    not raised."""
    request = prompt.request(
        schema=schema,
        temperature=settings.temperature,
        max_output_tokens=settings.max_output_tokens if tokens is None else settings.output_tokens(tokens),
        timeout_s=settings.timeout_s,
        stage=stage,
    )
    try:
        reply = calls.complete(request)
    except LLMFailure as failure:
        return failure
    if not isinstance(reply.parsed, schema):
        return LLMFailure("wrong_schema", "the model's answer has another shape than asked for")
    return Structured(reply.parsed, by_model(prompt.version, prompt.name, reply.model))


UNDECIDED = DecidedBy(kind="undecided", name="nobody yet")


def undecided(candidate: PoolCandidate, why: str) -> Verdict:
    """No verdict at all: the candidate waits for a person."""
    return Verdict(
        candidate_id=candidate.candidate_id,
        role=None,
        reason=why,
        decided_by=UNDECIDED,
        needs_person=True,
        needs_person_reasons=(why,),
    )


def by_model(prompt_version: str, prompt_name: str, model: str) -> DecidedBy:
    """The decider of a model's verdict: model and prompt."""
    return DecidedBy(kind="llm", name=model, version=f"{prompt_name} {prompt_version}")


def by_reranker(scorer: Scorer) -> DecidedBy:
    """The decider of a deployed model's verdict, named by what it is; a scorer that does not say is a network."""
    is_logistic = getattr(scorer, "architecture", "") == "logistic"
    return DecidedBy(kind="logistic" if is_logistic else "mlp", name="reranker", version=scorer.version)
