"""``r-flow``: pattern match, gates and reranker first; a language model only for what they leave uncertain.

The route of each candidate is :func:`arbitration.triage.triage`. Candidates are ordered by the blend of semantic score
and probability, for verified ones times the verifier's multiplier. Options, each with a default: ``gates`` (a
:class:`~arbitration.triage.GateProfile`) and ``blend_weight``. Without a deployed model the rules' own estimate
stands in for the probability; without a language model the uncertain go to people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from arbitration.contracts import DecidedBy, Role
from arbitration.errors import LLMFailure
from arbitration.evidence import evidence_scores
from arbitration.features import pool_features
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.strategies.base import (
    Calls,
    Requirement,
    StrategyOutcome,
    StrategyServices,
    Verdict,
    by_reranker,
    undecided,
)
from arbitration.strategies.judgements import quote_check, with_quote
from arbitration.strategies.rules import RuleReading, Rules, accepted_role
from arbitration.strategies.verifier import Verification, verify
from arbitration.triage import (
    OPEN_GATES,
    GateProfile,
    Triaged,
    blended,
    gate_inputs,
    gate_zones,
    total_score,
    triage,
    verified_score,
    verifier_accepts,
)

PATTERN_MATCH = DecidedBy(kind="rule", name="pattern and alias match")
_RULES_VERSION = "1"
_UNCERTAIN = "uncertain: between the bars for acceptance and rejection"


@dataclass(frozen=True)
class RFlowStrategy:
    """Accepted = primary where rule 1 or 2 fired, else supporting; rejected = discarded; the judge's word decides
    the rest. ``verifies=False`` is the ablation without a judge, which ranks by score alone."""

    name: str = "r-flow"
    description: str = "Pattern match, gates and reranker; a language model only for the uncertain."
    requires: tuple[Requirement, ...] = ()
    verifies: bool = True
    reads_gates: bool = True

    @property
    def asks_if_there_is_one(self) -> bool:
        """A language model judges what is uncertain, where there is one."""
        return self.verifies

    @property
    def is_baseline(self) -> bool:
        """Without its judge it is there to be compared with."""
        return not self.verifies

    def decide(self, pool: CandidatePool, *, services: StrategyServices) -> StrategyOutcome:
        """One verdict per candidate, ordered by score."""
        flow = _Flow(pool, services)
        if not self.verifies:
            return StrategyOutcome(verdicts=flow.ranked_verdicts())
        calls = Calls(services.chat) if services.chat is not None else None
        verdicts = {c.candidate_id: flow.verdict(c) for c in pool.candidates}
        judged = flow.uncertain if calls is not None else []
        verifications = verify(pool, judged, calls) if calls is not None else []
        for candidate, verification in zip(judged, verifications, strict=True):
            verdicts[candidate.candidate_id] = flow.judged(candidate, verification)
        ordered = sorted(verdicts.values(), key=lambda verdict: -(verdict.raw_score or 0.0))
        return StrategyOutcome(
            verdicts=tuple(ordered),
            undecided_ids=tuple(verdict.candidate_id for verdict in ordered if verdict.role is None),
            calls=calls.records if calls is not None else (),
            notes=flow.notes(verifications, has_judge=calls is not None),
        )


class _Flow:
    """The triage of one pool."""

    def __init__(self, pool: CandidatePool, services: StrategyServices) -> None:
        self._pool = pool
        self._services = services
        services = services.measured_once(pool)  # reranker and blend read the same rows
        learned = services.probabilities(pool)
        self._probabilities: Mapping[str, float] = learned or evidence_scores(pool)
        self._is_learned = learned is not None
        self._gates = _gates(services)
        self._bases = _bases(pool, services, self._probabilities)
        self._bars = services.bars(pool)

    @cached_property
    def _routes(self) -> dict[str, Triaged]:
        zones = gate_zones(gate_inputs(self._pool, self._gates), self._gates)
        return {
            candidate.candidate_id: triage(
                zone=zone,
                probability=self._probabilities[candidate.candidate_id],
                named=candidate.signals.pattern,
                profile=self._gates,
                accept=self._bars.accept,
                reject=self._bars.reject,
            )
            for candidate, zone in zip(self._pool.candidates, zones, strict=True)
        }

    @cached_property
    def _rules(self) -> Rules:
        return Rules(self._pool)

    @cached_property
    def _readings(self) -> dict[str, RuleReading]:
        return {c.candidate_id: self._rules.read(c) for c in self._pool.candidates}

    @property
    def uncertain(self) -> list[PoolCandidate]:
        """The candidates left for a judge, in the pool's order."""
        return [c for c in self._pool.candidates if self._routes[c.candidate_id].route == "judge"]

    def verdict(self, candidate: PoolCandidate) -> Verdict:
        """The verdict without a judge: what is uncertain is tangential and for a person."""
        triaged = self._routes[candidate.candidate_id]
        reading = self._readings[candidate.candidate_id]
        accepted = accepted_role(reading, self._probabilities[candidate.candidate_id], self._bars)
        role = {"accept": accepted, "judge": Role.TANGENTIAL, "reject": Role.DISCARDED}[triaged.route]
        verdict = Verdict(
            candidate_id=candidate.candidate_id,
            role=role,
            reason=self._rules.reason(candidate, role),
            decided_by=self._decider(triaged),
            **self._scores(candidate, self._base(candidate)),
        )
        return verdict.for_person(_UNCERTAIN) if triaged.route == "judge" else verdict

    def ranked_verdicts(self) -> tuple[Verdict, ...]:
        """Verdicts by score alone; the roles follow the score, so that they keep the order.

        A section that the question names is not put first: reranker and rules know of the name, and numbers that
        several documents carry are named by accident (ObliQA: MRR .743 with it, .758 without).
        """
        ordered = sorted(self._pool.candidates, key=lambda c: -self._base(c))
        return tuple(
            self.verdict(c).model_copy(
                update={"role": self._role_by_score(c), "needs_person": False, "needs_person_reasons": ()}
            )
            for c in ordered
        )

    def _role_by_score(self, candidate: PoolCandidate) -> Role:
        score = self._base(candidate)
        if score >= self._bars.accept:
            return Role.PRIMARY
        return Role.TANGENTIAL if score > self._bars.reject else Role.DISCARDED

    def judged(self, candidate: PoolCandidate, verification: Verification) -> Verdict:
        """The verdict of the judge; a failure keeps the base score and goes to a person."""
        base = self._base(candidate)
        if isinstance(verification, LLMFailure):
            waiting = undecided(candidate, f"no verdict: {verification.message}")
            return waiting.model_copy(update=self._scores(candidate, base))
        reply = verification.value
        accepted = Role.PRIMARY if self._readings[candidate.candidate_id].accepts else Role.SUPPORTING
        verdict = Verdict(
            candidate_id=candidate.candidate_id,
            role=accepted if verifier_accepts(reply.score) else Role.DISCARDED,
            reason=f"{' '.join(reply.reason.split()) or 'no reason given'} (verifier {reply.score} of 9)",
            decided_by=verification.decided_by,
            counter_argument=reply.counter_argument,
            terms={"verifier": float(reply.score), "base": base},
            **self._scores(candidate, verified_score(base, reply.score)),
        )
        return with_quote(verdict, quote_check(reply.quote, candidate))

    def notes(self, verifications: list[Verification], *, has_judge: bool) -> tuple[str, ...]:
        """What a reader of the run should know besides the verdicts."""
        notes = []
        if not self._is_learned:
            notes.append("no reranker is deployed: the rules' own estimate stands in for its probability")
        if self.uncertain and not has_judge:
            notes.append(f"no language model is configured: {len(self.uncertain)} uncertain go to people")
        failed = [failure for failure in verifications if isinstance(failure, LLMFailure)]
        notes += sorted({f"verifier call failed: {f.outcome}: {f.message}" for f in failed})
        return tuple(notes)

    def _base(self, candidate: PoolCandidate) -> float:
        return self._bases[candidate.candidate_id]

    def _scores(self, candidate: PoolCandidate, score: float) -> dict[str, float | str]:
        return {
            "probability": self._probabilities[candidate.candidate_id],
            "raw_score": score,
            "score_scale": "0-1",
            "normalised_score": min(1.0, max(0.0, score)),
        }

    def _decider(self, triaged: Triaged) -> DecidedBy:
        if triaged.by == "pattern":
            return PATTERN_MATCH
        if triaged.by == "gate":
            return DecidedBy(kind="gate", name=self._gates.name)
        if self._is_learned and self._services.scorer is not None:
            return by_reranker(self._services.scorer)
        return DecidedBy(kind="rule", name="rules of detection", version=_RULES_VERSION)


def _gates(services: StrategyServices) -> GateProfile:
    given = services.options.get("gates")
    if given is None:
        return OPEN_GATES
    return given if isinstance(given, GateProfile) else GateProfile.model_validate(given)


def _blend_weight(services: StrategyServices) -> float:
    given = services.options.get("blend_weight", 0.0)
    if not isinstance(given, int | float) or not 0.0 <= given <= 1.0:
        raise ValueError(f"blend_weight is {given!r}; it must lie between 0 and 1")
    return float(given)


def _bases(
    pool: CandidatePool, services: StrategyServices, probabilities: Mapping[str, float]
) -> dict[str, float]:
    """The score of each candidate before any judge, with the very feature that the weight was tuned on."""
    weight = _blend_weight(services)
    if not weight:
        return dict(probabilities)
    ids = [candidate.candidate_id for candidate in pool.candidates]
    rows = (services.feature_rows or pool_features)(pool)
    scores = blended(rows, np.array([probabilities[identity] for identity in ids]), weight=weight)
    return {identity: float(score) for identity, score in zip(ids, scores, strict=True)}


@dataclass(frozen=True)
class SemanticGatesStrategy:
    """Baseline: cosine and keyword score through the gates, without reranker or judge."""

    name: str = "semantic+gates"
    description: str = "Baseline: cosine and keyword score through the gates."
    requires: tuple[Requirement, ...] = ("embedder",)
    reads_gates: bool = True
    is_baseline: bool = True

    def decide(self, pool: CandidatePool, *, services: StrategyServices) -> StrategyOutcome:
        """Candidates by total score; the gates' zones are their roles."""
        gates = _gates(services)
        inputs = gate_inputs(pool, gates)
        rows = [
            (candidate, total_score(seen, gates), zone)
            for candidate, seen, zone in zip(pool.candidates, inputs, gate_zones(inputs, gates), strict=True)
        ]
        roles = {"accept": Role.PRIMARY, "verify": Role.TANGENTIAL, "reject": Role.DISCARDED}
        verdicts = [
            Verdict(
                candidate_id=candidate.candidate_id,
                role=roles[zone],
                reason=f"{zone} gate of '{gates.name}' at {total:.2f}",
                decided_by=DecidedBy(kind="baseline", name=self.name),
                raw_score=total,
                score_scale=self.name,
                normalised_score=min(1.0, max(0.0, total)),
            )
            for candidate, total, zone in rows
        ]
        return StrategyOutcome(verdicts=tuple(sorted(verdicts, key=lambda v: -(v.raw_score or 0.0))))


R_FLOW = RFlowStrategy()
R_FLOW_MLP = RFlowStrategy(
    name="r-flow-mlp",
    description="Baseline: r-flow without its judge, ranked by the reranker.",
    requires=("scorer",),
    verifies=False,
)
SEMANTIC_GATES = SemanticGatesStrategy()
