"""Stage two: arbitrate a pool and check what the strategy said before anyone sees it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pydantic import Field

from arbitration.absence import ALL_DISCARDED
from arbitration.companions import read_along
from arbitration.contracts import ROLE_ORDER, ConflictPair, DecidedBy, QuoteCheck, Role
from arbitration.displacement import KEPT, find_displacement
from arbitration.errors import ArbitrationError
from arbitration.evidence import evidence_scores
from arbitration.grounding import check_quotes
from arbitration.injection import suspicions
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.precedence.conflicts import conflicts_of
from arbitration.precedence.settle import settled
from arbitration.settings import Bars
from arbitration.strategies.base import (
    CallRecord,
    Strategy,
    StrategyOutcome,
    StrategyRecord,
    StrategyServices,
    Verdict,
    order_of,
)
from arbitration.strategies.rules import Rules

_ABSENCE = DecidedBy(kind="rule", name="absence proved by the exhaustive keyword set")
_SURVIVING = (Role.PRIMARY, Role.SUPPORTING, Role.TANGENTIAL)


class Decision(StrategyRecord):
    """The checked outcome of one strategy on one pool. ``verdicts`` are in ranked order: primary first, then
    supporting, tangential, undecided, discarded; inside a role as the strategy ranked them. ``no_strong_match``: the
    nearest passages are kept for a person, who decides whether the documents say anything at all.

    Where a strategy orders by a score of its own, that score is the order of all survivors, whatever their roles
    (docs/adr/0011)."""

    strategy: str
    verdicts: tuple[Verdict, ...]
    ordered_by: Literal["role", "score"] = "role"
    not_found: bool
    not_found_reason: str | None = None
    no_strong_match: bool = False
    confidence: float = Field(ge=0.0, le=1.0)
    needs_person: bool = False
    conflicts: tuple[ConflictPair, ...] = ()
    unknown_ids: tuple[str, ...] = ()
    repeated_ids: tuple[str, ...] = ()
    undecided_ids: tuple[str, ...] = ()
    calls: tuple[CallRecord, ...] = ()
    notes: tuple[str, ...] = ()
    artefacts: dict[str, str] = Field(default_factory=dict)
    latency_ms: float = 0.0

    @property
    def cost(self) -> float:
        """Sum over all calls."""
        return sum(call.cost for call in self.calls)


def arbitrate(
    *, pool: CandidatePool, strategy: Strategy, services: StrategyServices | None = None
) -> Decision:
    """Every candidate of the pool gets a role and a reason, or is named undecided.

    Where absence is proved no strategy is asked. Raises :class:`StrategyUnavailable` when the strategy cannot run
    here, :class:`ArbitrationError` when it breaks its contract (a candidate without a verdict, or two).
    """
    services = services or StrategyServices()
    started = services.clock.monotonic()
    services.progress("arbitrate", {"strategy": strategy.name, "candidates": len(pool.candidates)})
    outcome = _absent(pool) if pool.absence.proved else _decided(pool, strategy, services)
    services.progress("check", {"verdicts": len(outcome.verdicts)})
    baseline = _Baseline(pool, services)
    checked = [_check(verdict, pool, baseline) for verdict in outcome.verdicts]
    displacement = find_displacement(
        checked, above_noise=baseline.above_noise, accepts=baseline.accepts, groups=outcome.judged_together
    )
    ordered_by = order_of(strategy)
    by_law = settled(displacement.marked(checked), pool)
    verdicts = _ranked(read_along(by_law.verdicts, pool), by_score=ordered_by == "score")
    survivors = [verdict for verdict in verdicts if verdict.role in _SURVIVING]
    not_found = not survivors and not outcome.undecided_ids
    return Decision(
        strategy=strategy.name,
        verdicts=tuple(verdicts),
        ordered_by=ordered_by,
        not_found=not_found,
        not_found_reason=_not_found_reason(pool) if not_found else None,
        no_strong_match=outcome.no_strong_match and not not_found,
        confidence=0.0 if not_found else _confidence(survivors),
        needs_person=any(v.needs_person for v in verdicts)
        or outcome.no_strong_match
        or (not_found and not pool.absence.proved),
        conflicts=(*outcome.conflicts, *conflicts_of(verdicts, pool, outcome.conflicts)),
        unknown_ids=outcome.unknown_ids,
        repeated_ids=outcome.repeated_ids,
        undecided_ids=outcome.undecided_ids,
        calls=outcome.calls,
        notes=(*pool.notes, *outcome.notes, *displacement.notes),
        artefacts=dict(outcome.artefacts) | displacement.artefacts | by_law.artefacts,
        latency_ms=1000 * (services.clock.monotonic() - started),
    )


def _decided(pool: CandidatePool, strategy: Strategy, services: StrategyServices) -> StrategyOutcome:
    if not pool.candidates:
        return StrategyOutcome(verdicts=())
    outcome = strategy.decide(pool, services=services)
    said = [verdict.candidate_id for verdict in outcome.verdicts]
    if sorted(said) != sorted(candidate.candidate_id for candidate in pool.candidates):
        raise ArbitrationError(
            f"Strategy '{strategy.name}' did not give each of {len(pool.candidates)} candidates one verdict."
        )
    return outcome


def _absent(pool: CandidatePool) -> StrategyOutcome:
    reason = "Holds none of the words that were searched, and does not come near in meaning."
    verdicts = tuple(
        Verdict(
            candidate_id=candidate.candidate_id,
            role=Role.DISCARDED,
            reason=reason,
            decided_by=_ABSENCE,
            raw_score=candidate.signals.semantic,
            score_scale="cosine",
        )
        for candidate in sorted(pool.candidates, key=lambda c: -(c.signals.semantic or 0.0))
    )
    return StrategyOutcome(verdicts=verdicts)


@dataclass(frozen=True)
class _Baseline:
    """What rules and reranker say without any language model: what a model's verdict departs from. Found when it is
    asked for, which strategies that ask no model seldom do."""

    pool: CandidatePool
    services: StrategyServices

    @cached_property
    def probabilities(self) -> Mapping[str, float]:
        """The deployed model's, or else the rules' estimate, by candidate."""
        return self.services.probabilities(self.pool) or evidence_scores(self.pool)

    @cached_property
    def bars(self) -> Bars:
        """The bars that fit the probabilities."""
        return self.services.bars(self.pool)

    @cached_property
    def accepted_by_rule(self) -> frozenset[str]:
        """The candidates that a rule speaks for."""
        rules = Rules(self.pool)
        return frozenset(c.candidate_id for c in self.pool.candidates if rules.read(c).accepts)

    def accepts(self, candidate_id: str) -> bool:
        """Whether a rule or the reranker accepts the candidate."""
        return candidate_id in self.accepted_by_rule or self.probabilities[candidate_id] >= self.bars.accept

    def above_noise(self, candidate_id: str) -> bool:
        """Whether rules and reranker do not reject the candidate by themselves."""
        return self.accepts(candidate_id) or self.probabilities[candidate_id] > self.bars.reject


def _check(verdict: Verdict, pool: CandidatePool, baseline: _Baseline) -> Verdict:
    """Quotes verified or repaired; suspicion of injection and departures from the rules marked for a person.

    A verdict without a probability of its own gets the deployed model's, or else the rules' estimate.
    """
    candidate = pool.candidate(verdict.candidate_id)
    if candidate is None:
        return verdict
    if verdict.probability is None and verdict.role is not None:
        verdict = verdict.model_copy(update={"probability": baseline.probabilities[verdict.candidate_id]})
    if verdict.decided_by.kind == "llm":
        verdict = _with_checked_quotes(verdict, candidate)
    suspected = suspicions(candidate.context_text)
    if suspected:
        words = tuple(dict.fromkeys(suspicion.words for suspicion in suspected))
        verdict = verdict.model_copy(update={"injection_suspected": True, "injection_words": words})
        verdict = verdict.for_person(f"injection_suspected: the text {suspected[0].why}")
    return _departure(verdict, candidate, baseline)


def _with_checked_quotes(verdict: Verdict, candidate: PoolCandidate) -> Verdict:
    sources = (candidate.anchor_text, candidate.context_text)
    reason = check_quotes(verdict.reason, sources)
    counter = check_quotes(verdict.counter_argument or "", sources)
    verdict = verdict.model_copy(
        update={
            "reason": reason.text,
            "counter_argument": counter.text or None,
            "quotes": _each_once(verdict.quotes + reason.quotes + counter.quotes),
        }
    )
    if reason.all_stand and counter.all_stand:
        return verdict
    return verdict.for_person("a quote in the reason does not stand in the source")


def _each_once(quotes: Iterable[QuoteCheck]) -> tuple[QuoteCheck, ...]:
    return tuple({(quote.quote, quote.status): quote for quote in quotes}.values())


def _departure(verdict: Verdict, candidate: PoolCandidate, baseline: _Baseline) -> Verdict:
    """A model's verdict against rules and reranker is for a person.

    Whatever talked the model into it, no role changes unseen: what rules or reranker accept is not dropped, and
    what neither accepts is not kept, without a person.
    """
    if verdict.decided_by.kind != "llm" or verdict.role is None:
        return verdict
    accepted = baseline.accepts(candidate.candidate_id)
    if verdict.role in KEPT:
        return (
            verdict
            if accepted
            else verdict.for_person("the model keeps what neither rules nor reranker accept")
        )
    return verdict.for_person("the model rejects what rules or reranker accept") if accepted else verdict


def _ranked(verdicts: Iterable[Verdict], *, by_score: bool) -> list[Verdict]:
    undecided_place = ROLE_ORDER[Role.TANGENTIAL] + 0.5

    def place(verdict: Verdict) -> float:
        if verdict.role is None:
            return undecided_place
        if by_score and verdict.role in _SURVIVING:
            return 0.0
        return float(ROLE_ORDER[verdict.role])

    return sorted(verdicts, key=place)


def _confidence(survivors: Sequence[Verdict]) -> float:
    """The probability of the best survivor; its normalised score where no probability was given."""
    scores = (v.probability if v.probability is not None else v.normalised_score for v in survivors)
    return max((score for score in scores if score is not None), default=0.0)


def _not_found_reason(pool: CandidatePool) -> str:
    if pool.absence.proved:
        return pool.absence.statement or "no_keyword_match"
    if not pool.candidates:
        return f"{ALL_DISCARDED}: no detector found a candidate"
    return f"{ALL_DISCARDED}: {len(pool.candidates)} candidates were judged, none carries evidence"
