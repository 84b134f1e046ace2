"""How likely a candidate is evidence, from detector signals alone: the estimate until a model is deployed.

A weighted sum of what the detectors measured, each brought to [0, 1] within its pool, raised where rule 1
holds. The weights are round numbers chosen by hand; nothing here is fitted to a labelled set.
"""

from __future__ import annotations

from dataclasses import dataclass

from arbitration.pool import CandidatePool, CandidateSignals, PoolCandidate


@dataclass(frozen=True, slots=True)
class EvidenceWeights:
    """Weights of the parts. Cosines enter as they are; the other parts are shares of the best in the pool, or
    of the question."""

    semantic: float = 1.0
    neighbour: float = 0.2
    bm25: float = 0.3
    cooccurrence: float = 0.1
    coverage: float = 0.4


#: Sums of the parts that unrelated and well matching passages reach: the ends of the scale 0 to 1.
WEAK_SUM, STRONG_SUM = 0.35, 1.45

#: What a rule alone is worth: a place the question names, and a title that matches exactly. The parts move a
#: candidate between this floor and 1.
NAMED_FLOOR, EXACT_TITLE_FLOOR = 0.85, 0.62


def evidence_scores(pool: CandidatePool, weights: EvidenceWeights | None = None) -> dict[str, float]:
    """Estimate in [0, 1] for every candidate of a pool, by candidate id."""
    weights = weights or EvidenceWeights()
    tops = _Tops.of(pool)
    return {c.candidate_id: _score(c, tops, weights) for c in pool.candidates}


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


def _score(candidate: PoolCandidate, tops: _Tops, weights: EvidenceWeights) -> float:
    signals = candidate.signals
    parts = (
        weights.semantic * (signals.semantic if signals.semantic is not None else tops.unseen)
        + weights.neighbour * (signals.neighbour_semantic or 0.0)
        + weights.bm25 * (signals.bm25 or 0.0) / tops.bm25
        + weights.cooccurrence * signals.cooccurrence / tops.cooccurrence
        + weights.coverage * signals.idf_coverage
    )
    return _raised(_clamped((parts - WEAK_SUM) / (STRONG_SUM - WEAK_SUM)), signals)


def _raised(estimate: float, signals: CandidateSignals) -> float:
    """Rule 1: places that the question names, by number, code family or exact title, start above the bar."""
    if signals.pattern_kind != "none":
        floor = NAMED_FLOOR * signals.pattern
    elif signals.title_match == "exact":
        floor = EXACT_TITLE_FLOOR
    else:
        return estimate
    return floor + (1.0 - floor) * estimate


def _clamped(value: float) -> float:
    return min(1.0, max(0.0, value))
