"""``offline``: no language model. Rules over the briefs, a probability, and people for the uncertain."""

from __future__ import annotations

from dataclasses import dataclass

from arbitration.contracts import DecidedBy, Role
from arbitration.evidence import evidence_scores
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.settings import Bars
from arbitration.strategies.base import Requirement, StrategyOutcome, StrategyServices, Verdict
from arbitration.strategies.rules import RuleReading, Rules, role_by_bars

_RULE_VERSION = "2"


@dataclass(frozen=True)
class OfflineStrategy:
    """Accepted = primary where rule 1 or 2 fired, else supporting; uncertain = tangential and for a person;
    rejected = discarded. The probability is the deployed model's, or else the rules' own estimate."""

    name: str = "offline"
    description: str = "No language model: rules over the briefs; the uncertain go to people."
    requires: tuple[Requirement, ...] = ()

    def decide(self, pool: CandidatePool, *, services: StrategyServices) -> StrategyOutcome:
        """One verdict per candidate, ordered by probability."""
        learned = services.probabilities(pool)
        probabilities = learned or evidence_scores(pool)
        decider = _decider(services, learned is not None)
        rules, bars = Rules(pool), services.bars(pool)
        ordered = sorted(pool.candidates, key=lambda c: -probabilities[c.candidate_id])
        verdicts = [
            _verdict(candidate, rules.read(candidate), probabilities[candidate.candidate_id], bars, decider)
            for candidate in ordered
        ]
        return StrategyOutcome(verdicts=tuple(verdicts))


def _decider(services: StrategyServices, learned: bool) -> DecidedBy:
    if learned and services.scorer is not None:
        return DecidedBy(kind="mlp", name="reranker", version=services.scorer.version)
    return DecidedBy(kind="rule", name="rules of detection", version=_RULE_VERSION)


def _verdict(
    candidate: PoolCandidate,
    reading: RuleReading,
    probability: float,
    bars: Bars,
    decider: DecidedBy,
) -> Verdict:
    role = role_by_bars(reading, probability, bars)
    estimate = f"{'reranker p' if decider.kind == 'mlp' else 'estimate'} = {probability:.2f}"
    verdict = Verdict(
        candidate_id=candidate.candidate_id,
        role=role,
        reason=f"{reading.text}; {estimate}",
        decided_by=decider,
        probability=probability,
        raw_score=probability,
        score_scale="0-1",
        normalised_score=probability,
    )
    if role is Role.TANGENTIAL:
        return verdict.for_person("uncertain: between the bars for acceptance and rejection")
    return verdict
