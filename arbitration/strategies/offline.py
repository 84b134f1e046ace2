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
_RULES = DecidedBy(kind="rule", name="rules of detection", version=_RULE_VERSION)


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
        read = [(candidate, rules.read(candidate)) for candidate in ordered]
        verdicts = [_verdict(c, reading, probabilities[c.candidate_id], bars, decider) for c, reading in read]
        if learned and services.is_borrowed:
            estimates, own_bars = evidence_scores(pool), pool.settings.bars(threshold=None)
            verdicts = [
                _beside_the_rules(verdict, reading, estimates[c.candidate_id], own_bars)
                for verdict, (c, reading) in zip(verdicts, read, strict=True)
            ]
        return StrategyOutcome(verdicts=tuple(verdicts))


def _beside_the_rules(verdict: Verdict, reading: RuleReading, estimate: float, bars: Bars) -> Verdict:
    """What a borrowed model may not do alone: play down a place that the question names (rule 1), or set aside what
    the rules accept. The first stays primary, by the rules; the second goes to a person. Where it is itself uncertain
    the rules decide what they accept."""
    by_rules = role_by_bars(reading, estimate, bars)
    if verdict.role is Role.PRIMARY or by_rules not in {Role.PRIMARY, Role.SUPPORTING}:
        return verdict
    is_named = by_rules is Role.PRIMARY and 1 in reading.fired and estimate >= bars.named
    said = f"{verdict.reason}; estimate of the rules {estimate:.2f}"
    if is_named or verdict.role is Role.TANGENTIAL:
        changes = {"role": by_rules, "reason": said, "decided_by": _RULES}
        return verdict.model_copy(update={**changes, "needs_person": False, "needs_person_reasons": ()})
    if verdict.role is Role.DISCARDED:
        changed = verdict.model_copy(update={"role": Role.TANGENTIAL, "reason": said})
        return changed.for_person("uncertain: the rules accept what the model that ships rejects")
    return verdict


def _decider(services: StrategyServices, learned: bool) -> DecidedBy:
    if learned and services.scorer is not None:
        return DecidedBy(kind="mlp", name="reranker", version=services.scorer.version)
    return _RULES


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
