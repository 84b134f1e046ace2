"""What a cross-encoder, which reads question and passage together, says of the candidates of a question."""

from __future__ import annotations

from collections.abc import Sequence

from arbitration.errors import LLMFailure
from arbitration.pool import PoolCandidate
from arbitration.protocols import CrossEncoder

#: Candidates that are scored, the best by fused rank: such a model costs time or money for each.
MOST_SCORED = 100


def with_cross_scores(
    candidates: Sequence[PoolCandidate], question: str, encoder: CrossEncoder
) -> tuple[list[PoolCandidate], str]:
    """The candidates with their scores, and a note where there are none: a failure costs no finding."""
    scored = candidates[:MOST_SCORED]
    try:
        scores = encoder.scores(question, [_passage(candidate) for candidate in scored])
    except LLMFailure as failure:
        return list(candidates), f"the cross-encoder {encoder.name} gave no scores: {failure.message}"
    marked = [
        candidate.model_copy(
            update={"signals": candidate.signals.model_copy(update={"cross_encoder": float(score)})}
        )
        for candidate, score in zip(scored, scores, strict=True)
    ]
    return [*marked, *candidates[MOST_SCORED:]], ""


def _passage(candidate: PoolCandidate) -> str:
    """What is read of a candidate: its text below the title of its section."""
    title = candidate.section_title or ""
    return f"{title}\n{candidate.anchor_text}" if title else candidate.anchor_text


def cross_scores(candidates: Sequence[PoolCandidate]) -> dict[str, float] | None:
    """The score of each candidate where a cross-encoder read them; one that it did not read is at most as good as the
    least of those it did."""
    known = [c.signals.cross_encoder for c in candidates if c.signals.cross_encoder is not None]
    if not known:
        return None
    least = min(known)
    return {
        c.candidate_id: least if c.signals.cross_encoder is None else c.signals.cross_encoder
        for c in candidates
    }
