"""How likely a candidate is evidence, from detector signals alone: the estimate until a model is deployed.

A weighted sum of what the detectors measured, each brought to [0, 1] within its pool, raised where rule 1
holds. The weights are round numbers chosen by hand; nothing here is fitted to a labelled set.
"""

from __future__ import annotations

from dataclasses import dataclass

from arbitration.pool import CandidatePool, CandidateSignals, PoolCandidate

#: Cosines of unrelated and of well-matching text for sentence encoders of the MiniLM family.
COSINE_FLOOR, COSINE_TOP = 0.10, 0.65


@dataclass(frozen=True, slots=True)
class EvidenceWeights:
    """Weights of the parts; they sum to 1."""

    semantic: float = 0.45
    bm25: float = 0.25
    cooccurrence: float = 0.10
    coverage: float = 0.10
    title: float = 0.10


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
    bm25: float
    cooccurrence: float

    @classmethod
    def of(cls, pool: CandidatePool) -> _Tops:
        signals = [candidate.signals for candidate in pool.candidates]
        return cls(
            bm25=max((s.bm25 or 0.0 for s in signals), default=0.0) or 1.0,
            cooccurrence=max((s.cooccurrence for s in signals), default=0.0) or 1.0,
        )


def _score(candidate: PoolCandidate, tops: _Tops, weights: EvidenceWeights) -> float:
    signals = candidate.signals
    cosine = ((signals.semantic or 0.0) - COSINE_FLOOR) / (COSINE_TOP - COSINE_FLOOR)
    parts = (
        weights.semantic * _clamped(cosine)
        + weights.bm25 * (signals.bm25 or 0.0) / tops.bm25
        + weights.cooccurrence * signals.cooccurrence / tops.cooccurrence
        + weights.coverage * signals.coverage
        + weights.title * signals.title_similarity
    )
    return _raised(_clamped(parts), signals)


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
