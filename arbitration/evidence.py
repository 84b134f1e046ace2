"""How likely a candidate is evidence, from detector signals alone: the estimate until a model is deployed.

From the words: a weighted sum of what the detectors measured, put on the scale of a probability, raised where rule 1
holds. Where the vectors of tokens are at hand, from late interaction, with the words as far as the question's are the
document's own. Weights and scales are round numbers; a deployed model replaces them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from arbitration.pool import CandidatePool, CandidateSignals, PatternKind, PoolCandidate


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


#: Late interaction leads where people ask in their own words, the words where they are the document's; which of the two
#: it is shows in how much of the question's wording the best candidate holds. Log-odds per unit of late interaction;
#: weight of the log-odds from the words where all are the document's; and the share of the wording up to which they are
#: the asker's own. Any weights near these rank as well (docs/evaluation.md).
LATE_WEIGHT, WORDS_WEIGHT, OWN_WORDS = 12.0, 2.0, 0.3
#: Intercept and slope from the log-odds of a candidate's share of all scores to how often such a passage is evidence.
SHARE_INTERCEPT, SHARE_SLOPE = 0.1, 0.7


def evidence_scores(pool: CandidatePool) -> dict[str, float]:
    """Estimate in [0, 1] for every candidate of a pool, by candidate id."""
    by_words = word_estimates(pool)
    scores = match_scores(pool, by_words)
    if not scores:
        return by_words
    estimates = {
        name: _logistic(SHARE_INTERCEPT + SHARE_SLOPE * log_odds(share))
        for name, share in _shares(scores).items()
    }
    best_one = pool.candidate(max(scores, key=scores.__getitem__))
    return estimates | {
        c.candidate_id: max(estimates[c.candidate_id], by_words[c.candidate_id])
        for c in pool.candidates
        if best_one is not None and _are_one_named_place(c, best_one)
    }


def _are_one_named_place(candidate: PoolCandidate, best: PoolCandidate) -> bool:
    """Rule 1: the pieces of the section that the question names, where it holds the best match too, do not compete with
    each other for shares."""
    return (
        candidate.signals.title_match == "exact"
        and not candidate.signals.heading_only
        and (candidate.document_id, candidate.anchor.section_id) == (best.document_id, best.anchor.section_id)
    )


def _shares(scores: Mapping[str, float]) -> dict[str, float]:
    """Softmax: each candidate's share of all scores, of sum 1."""
    best = max(scores.values())
    raised = {name: math.exp(score - best) for name, score in scores.items()}
    total = sum(raised.values())
    return {name: value / total for name, value in raised.items()}


def match_scores(pool: CandidatePool, by_words: Mapping[str, float]) -> dict[str, float]:
    """Late interaction and the words in one unbounded score by candidate id; a candidate without vectors of tokens
    scores as the least of the others. Empty where none has any."""
    late = {c.candidate_id: c.signals.late for c in pool.candidates if c.signals.late is not None}
    if not late:
        return {}
    share, least = _own_words_share(pool), min(late.values())
    return {
        name: LATE_WEIGHT * late.get(name, least) + WORDS_WEIGHT * share * log_odds(estimate)
        for name, estimate in by_words.items()
    }


def _own_words_share(pool: CandidatePool) -> float:
    """How far the question's words are the document's, 0 to 1; a place that it names is the document's own word."""
    held = max(c.signals.word_coverage for c in pool.candidates)
    named = max(c.signals.pattern for c in pool.candidates)
    return max(0.0, (held - OWN_WORDS) / (1.0 - OWN_WORDS), min(1.0, named))


def log_odds(probability: float) -> float:
    """ln(p / (1 - p)), kept finite."""
    inside = min(max(probability, 1e-4), 1.0 - 1e-4)
    return math.log(inside / (1.0 - inside))


def _logistic(log_odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-log_odds))


def word_estimates(pool: CandidatePool, weights: EvidenceWeights | None = None) -> dict[str, float]:
    """The estimate from the words and the passage's vector alone, in [0, 1], by candidate id."""
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
    return _logistic(SLOPE * total - GAP_SLOPE * gap + INTERCEPT)


def _raised(estimate: float, signals: CandidateSignals) -> float:
    """Rule 1: places that the question names start above the bar; the parts move them between there and 1."""
    floor = _floor(signals)
    return floor + (1.0 - floor) * estimate


def _floor(signals: CandidateSignals) -> float:
    floor = NAMED_FLOOR.get(signals.pattern_kind, 0.0) * signals.pattern
    if signals.title_match == "exact" and not signals.heading_only:
        floor = max(floor, EXACT_TITLE_FLOOR if signals.keyword_match else BARE_TITLE_FLOOR)
    return floor
