"""How likely a candidate is evidence, from detector signals alone: the estimate until a model is deployed.

A weighted sum of what the detectors measured, each brought to [0, 1] within its pool, and fixed bonuses for
the rules. The weights are round numbers chosen by hand; nothing here is fitted to a labelled set.
"""

from __future__ import annotations

from dataclasses import dataclass

from arbitration.pool import CandidatePool, PoolCandidate

#: Cosines of unrelated and of well-matching text for sentence encoders of the MiniLM family.
COSINE_FLOOR, COSINE_TOP = 0.10, 0.65


@dataclass(frozen=True, slots=True)
class EvidenceWeights:
    """Weights of the parts; the first five sum to 1."""

    semantic: float = 0.45
    bm25: float = 0.25
    cooccurrence: float = 0.10
    coverage: float = 0.10
    title: float = 0.10
    named_bonus: float = 0.35
    exact_title_bonus: float = 0.20


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
    if signals.pattern_kind != "none":
        parts += weights.named_bonus * signals.pattern
    if signals.title_match == "exact":
        parts += weights.exact_title_bonus
    return _clamped(parts)


def _clamped(value: float) -> float:
    return min(1.0, max(0.0, value))
