"""The bottom rungs of the ablation ladder: rankings by one measure, comparable but never the default.

A rank is not a judgment: the role only restates it, ``decided_by`` says baseline, and nothing is learned
from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from arbitration.contracts import DecidedBy, Role
from arbitration.evidence import match_scores, word_estimates
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.strategies.base import Requirement, StrategyOutcome, StrategyServices, Verdict

PRIMARY_RANKS = 3
SUPPORTING_RANKS = 10

Measure = Callable[[CandidatePool], Mapping[str, float]]


@dataclass(frozen=True)
class BaselineStrategy:
    """Ranks candidates by one measure: ranks 1 to 3 primary, to 10 supporting, the other found ones tangential;
    what the measure did not find at all is discarded."""

    name: str
    description: str
    measure: Measure
    requires: tuple[Requirement, ...] = ()
    is_baseline: bool = True

    def decide(self, pool: CandidatePool, *, services: StrategyServices) -> StrategyOutcome:
        """Candidates in the measure's order."""
        scores = self.measure(pool)
        ordered = sorted(pool.candidates, key=lambda c: -scores.get(c.candidate_id, float("-inf")))
        best = max(scores.values(), default=0.0)
        verdicts = [
            self._verdict(candidate, rank, scores.get(candidate.candidate_id), best)
            for rank, candidate in enumerate(ordered, start=1)
        ]
        return StrategyOutcome(verdicts=tuple(verdicts))

    def _verdict(self, candidate: PoolCandidate, rank: int, score: float | None, best: float) -> Verdict:
        found = score is not None
        return Verdict(
            candidate_id=candidate.candidate_id,
            role=_role(rank) if found else Role.DISCARDED,
            reason=f"rank {rank} by {self.name}" if found else f"not found by {self.name}",
            decided_by=DecidedBy(kind="baseline", name=self.name),
            raw_score=score,
            score_scale=self.name,
            normalised_score=min(1.0, max(0.0, score / best)) if score is not None and best > 0 else 0.0,
        )


def _role(rank: int) -> Role:
    if rank <= PRIMARY_RANKS:
        return Role.PRIMARY
    return Role.SUPPORTING if rank <= SUPPORTING_RANKS else Role.TANGENTIAL


def bm25(pool: CandidatePool) -> dict[str, float]:
    """BM25 score of the passages it found."""
    return {c.candidate_id: c.signals.bm25 for c in pool.candidates if c.signals.bm25 is not None}


def semantic(pool: CandidatePool) -> dict[str, float]:
    """Bare cosine of the passages it found."""
    return {c.candidate_id: c.signals.semantic for c in pool.candidates if c.signals.semantic is not None}


def rrf(pool: CandidatePool) -> dict[str, float]:
    """Reciprocal rank fusion of BM25 and embeddings alone, k of the pool's settings."""
    k = pool.settings.rrf_k
    fused: dict[str, float] = {}
    for measure in (bm25(pool), semantic(pool)):
        ordered = sorted(measure, key=lambda key: -measure[key])
        for rank, key in enumerate(ordered, start=1):
            fused[key] = fused.get(key, 0.0) + 1.0 / (k + rank)
    return fused


def semantic_with_keywords(pool: CandidatePool) -> dict[str, float]:
    """The larger of cosine and, where every keyword group is covered, the keyword floor of ARF (.70)."""
    scores = semantic(pool)
    for candidate in pool.candidates:
        if candidate.signals.cooccurrence > 0:
            known = scores.get(candidate.candidate_id, 0.0)
            scores[candidate.candidate_id] = max(known, KEYWORD_SCORE * candidate.signals.coverage)
    return scores


KEYWORD_SCORE = 0.70


def late_interaction(pool: CandidatePool) -> dict[str, float]:
    """The idf-weighted best matches of the question's tokens (:mod:`arbitration.late_interaction`)."""
    return {c.candidate_id: c.signals.late for c in pool.candidates if c.signals.late is not None}


def late_interaction_with_words(pool: CandidatePool) -> dict[str, float]:
    """Late interaction, and the estimate from the words as far as they are the document's."""
    return match_scores(pool, word_estimates(pool))


BASELINES: tuple[BaselineStrategy, ...] = (
    BaselineStrategy("bm25", "Baseline: ranking by BM25 alone.", bm25),
    BaselineStrategy("semantic", "Baseline: ranking by cosine alone.", semantic, ("embedder",)),
    BaselineStrategy("rrf", "Baseline: reciprocal rank fusion of BM25 and cosine.", rrf, ("embedder",)),
    BaselineStrategy(
        "semantic+keyword",
        "Baseline: cosine, raised where keywords meet.",
        semantic_with_keywords,
        ("embedder",),
    ),
    BaselineStrategy(
        "late-interaction",
        "Baseline: each word of the question by its best match in the passage.",
        late_interaction,
        ("embedder",),
    ),
    BaselineStrategy(
        "late-interaction+words",
        "Baseline: best matches by meaning, and the estimate where the question uses the document's words.",
        late_interaction_with_words,
        ("embedder",),
    ),
)
