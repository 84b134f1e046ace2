"""How likely a candidate is evidence, from detector signals alone: the estimate until a model is deployed.

A weighted sum of what the detectors measured, put on the scale of a probability, raised where rule 1 holds.
The weights and the scale are round numbers; a deployed model replaces them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from arbitration.pool import CandidatePool, CandidateSignals, PatternKind


@dataclass(frozen=True, slots=True)
class EvidenceWeights:
    """Weights of the parts. Cosines enter as they are; the other parts are shares of the best in the pool, or
    of the question."""

    semantic: float = 1.0
    neighbour: float = 0.1
    bm25: float = 0.3
    cooccurrence: float = 0.05
    coverage: float = 0.2
    words: float = 0.2
    phrase: float = 0.5


#: Logistic scale from the sum of the parts, and from its distance to the best sum in the pool, to how often
#: such a passage is evidence. Rounded from what was seen on contracts and statutes.
SLOPE, GAP_SLOPE, INTERCEPT = 4.0, 2.0, -4.2

#: What rule 1 alone is worth: places the question names by number or as a family of codes, the opening of a
#: document whose own name, parties or date are asked for, and titles that match exactly (less where the piece
#: of a long section holds no keyword itself; nothing where it is a heading alone).
NAMED_FLOOR: dict[PatternKind, float] = {"reference": 0.85, "alias": 0.75, "family": 0.85, "opening": 0.6}
EXACT_TITLE_FLOOR, BARE_TITLE_FLOOR = 0.35, 0.15


def evidence_scores(pool: CandidatePool, weights: EvidenceWeights | None = None) -> dict[str, float]:
    """Estimate in [0, 1] for every candidate of a pool, by candidate id."""
    weights = weights or EvidenceWeights()
    tops = _Tops.of(pool)
    sums = {c.candidate_id: _sum(c.signals, tops, weights) for c in pool.candidates}
    best = max(sums.values(), default=0.0)
    return {
        c.candidate_id: _raised(_probability(sums[c.candidate_id], best - sums[c.candidate_id]), c.signals)
        for c in pool.candidates
    }


@dataclass(frozen=True, slots=True)
class _Tops:
    """The best of each measure in the pool, and the cosine a passage that the search did not return may have."""

    bm25: float
    cooccurrence: float
    unseen: float

    @classmethod
    def of(cls, pool: CandidatePool) -> _Tops:
        signals = [candidate.signals for candidate in pool.candidates]
        return cls(
            bm25=max((s.bm25 or 0.0 for s in signals), default=0.0) or 1.0,
            cooccurrence=max((s.cooccurrence for s in signals), default=0.0) or 1.0,
            unseen=min((s.semantic for s in signals if s.semantic is not None), default=0.0),
        )


def _sum(signals: CandidateSignals, tops: _Tops, weights: EvidenceWeights) -> float:
    return (
        weights.semantic * (signals.semantic if signals.semantic is not None else tops.unseen)
        + weights.neighbour * (signals.neighbour_semantic or 0.0)
        + weights.bm25 * (signals.bm25 or 0.0) / tops.bm25
        + weights.cooccurrence * signals.cooccurrence / tops.cooccurrence
        + weights.coverage * signals.idf_coverage
        + weights.words * signals.word_coverage
        + weights.phrase * signals.phrase_overlap
    )


def _probability(total: float, gap: float) -> float:
    return 1.0 / (1.0 + math.exp(-(SLOPE * total - GAP_SLOPE * gap + INTERCEPT)))


def _raised(estimate: float, signals: CandidateSignals) -> float:
    """Rule 1: places that the question names start above the bar; the parts move them between there and 1."""
    floor = NAMED_FLOOR.get(signals.pattern_kind, 0.0) * signals.pattern
    if signals.title_match == "exact" and not signals.heading_only:
        floor = max(floor, EXACT_TITLE_FLOOR if signals.keyword_match else BARE_TITLE_FLOOR)
    return floor + (1.0 - floor) * estimate
