"""``offline``: no language model. Rules over the briefs, a probability, and people for the uncertain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arbitration.answerability import answerability, in_words
from arbitration.contracts import DecidedBy, Role
from arbitration.evidence import evidence_scores
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.settings import Bars, EngineSettings
from arbitration.strategies.base import Requirement, StrategyOutcome, StrategyServices, Verdict, by_reranker
from arbitration.strategies.rules import RuleReading, Rules, role_by_bars

_RULE_VERSION = "2"
#: Why a person is asked about what would have been accepted; what the passages speak of follows.
NO_STRONG_MATCH = "no_strong_match"
_RULES = DecidedBy(kind="rule", name="rules of detection", version=_RULE_VERSION)


@dataclass(frozen=True)
class OfflineStrategy:
    """Accepted = primary where rule 1 or 2 fired, else supporting; uncertain = tangential and for a person;
    rejected = discarded. The probability is the deployed model's, or else the rules' own estimate. Where even the
    nearest passages are far away they are tangential at most, and a person decides whether anything answers."""

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
        verdicts = [
            _verdict(
                c, rules, role_by_bars(reading, probabilities[c.candidate_id], bars), probabilities, decider
            )
            for c, reading in read
        ]
        if learned and services.is_borrowed:
            estimates, own_bars = evidence_scores(pool), pool.settings.bars(threshold=None)
            verdicts = [
                _beside_the_rules(verdict, reading, estimates[c.candidate_id], own_bars)
                for verdict, (c, reading) in zip(verdicts, read, strict=True)
            ]
        if learned is None:
            near = _nearest(ordered, probabilities, pool.settings)
            verdicts = [
                _kept_near(verdict) if verdict.candidate_id in near else verdict for verdict in verdicts
            ]
        weakness = "" if learned else _weakness(pool, read)
        if weakness:
            verdicts = [_only_near(verdict, weakness) for verdict in verdicts]
        return StrategyOutcome(verdicts=tuple(verdicts), no_strong_match=bool(weakness))


def _nearest(
    ordered: Sequence[PoolCandidate], probabilities: Mapping[str, float], settings: EngineSettings
) -> frozenset[str]:
    """The candidates that no bar discards: the first few, and as many more as come near the best in estimate. Shares
    are small where many passages are alike, and a bar alone would discard all of them. None without late interaction,
    whose shares alone need this."""
    measured = [c.candidate_id for c in ordered if c.signals.late is not None][: settings.near_limit]
    floor = settings.near_share * max(probabilities.values(), default=0.0)
    return frozenset(
        name
        for rank, name in enumerate(measured, start=1)
        if rank <= settings.nearest_kept or probabilities[name] >= floor
    )


def _kept_near(verdict: Verdict) -> Verdict:
    if verdict.role is not Role.DISCARDED:
        return verdict
    return verdict.model_copy(update={"role": Role.TANGENTIAL}).for_person(
        "uncertain: below the bar, but among the nearest"
    )


def _weakness(pool: CandidatePool, read: Sequence[tuple[PoolCandidate, RuleReading]]) -> str:
    """Why there is no strong match; empty where there is one, or where the question names a place that is there."""
    if any(1 in reading.fired for _, reading in read):
        return ""
    found = answerability(pool, [candidate for candidate, _ in read])
    if not found.is_weak:
        return ""
    return f"{NO_STRONG_MATCH}: {in_words(found, 'en') or 'among the nearest passages, and none comes close'}"


def _only_near(verdict: Verdict, why: str) -> Verdict:
    if verdict.role not in {Role.PRIMARY, Role.SUPPORTING}:
        return verdict
    return verdict.model_copy(update={"role": Role.TANGENTIAL}).for_person(why)


def _beside_the_rules(verdict: Verdict, reading: RuleReading, estimate: float, bars: Bars) -> Verdict:
    """What a borrowed model may not do alone: play down a place that the question names (rule 1), or set aside what
    the rules accept. The first stays primary, by the rules; the second goes to a person. Where it is itself uncertain
    the rules decide what they accept."""
    by_rules = role_by_bars(reading, estimate, bars)
    if verdict.role is Role.PRIMARY or by_rules not in {Role.PRIMARY, Role.SUPPORTING}:
        return verdict
    is_named = by_rules is Role.PRIMARY and 1 in reading.fired and estimate >= bars.named
    if is_named or verdict.role is Role.TANGENTIAL:
        changes = {"role": by_rules, "decided_by": _RULES}
        return verdict.model_copy(update={**changes, "needs_person": False, "needs_person_reasons": ()})
    if verdict.role is Role.DISCARDED:
        changed = verdict.model_copy(update={"role": Role.TANGENTIAL})
        return changed.for_person("uncertain: the rules accept what the model that ships rejects")
    return verdict


def _decider(services: StrategyServices, learned: bool) -> DecidedBy:
    if learned and services.scorer is not None:
        return by_reranker(services.scorer)
    return _RULES


def _verdict(
    candidate: PoolCandidate,
    rules: Rules,
    role: Role,
    probabilities: Mapping[str, float],
    decider: DecidedBy,
) -> Verdict:
    probability = probabilities[candidate.candidate_id]
    verdict = Verdict(
        candidate_id=candidate.candidate_id,
        role=role,
        reason=rules.reason(candidate, role),
        decided_by=decider,
        probability=probability,
        raw_score=probability,
        score_scale="0-1",
        normalised_score=probability,
    )
    if role is Role.TANGENTIAL:
        return verdict.for_person("uncertain: between the bars for acceptance and rejection")
    return verdict
