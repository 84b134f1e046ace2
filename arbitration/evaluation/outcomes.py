"""From the engine's decision to what the evaluation judges: ranked anchors, costs and who decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from arbitration.contracts import CandidateScope, Role
from arbitration.decision import Decision
from arbitration.evaluation.metrics import QuestionOutcome
from arbitration.evaluation.records import RankedAnchor
from arbitration.pool import CandidatePool
from arbitration.strategies.base import Verdict
from arbitration.strategies.r_flow import PATTERN_MATCH
from arbitration.text import word_count


def outcome_of(
    pool: CandidatePool,
    decision: Decision,
    *,
    dataset_ids: Mapping[str, str],
    latency_ms: float | None = None,
    first_sentence: str | None = None,
) -> QuestionOutcome:
    """The outcome of one question. ``dataset_ids`` maps the product's document ids to those of the labelled set.

    The ranking is the decision's: survivors in order, the undecided, then the discarded by score.
    """
    candidates = {candidate.candidate_id: candidate for candidate in pool.candidates}
    ranking = []
    for verdict in decision.verdicts:
        candidate = candidates[verdict.candidate_id]
        text = candidate.anchor_text
        anchor = ranked_anchor(dataset_ids[candidate.document_id], candidate.anchor, text=text)
        is_kept = verdict.role is not Role.DISCARDED
        ranking.append(
            anchor._replace(is_kept=is_kept, asks_person=verdict.needs_person or verdict.role is None)
        )
    return QuestionOutcome(
        ranking=tuple(ranking),
        not_found=decision.not_found,
        no_strong_match=decision.no_strong_match,
        asks_to_confirm=decision.no_strong_match or (decision.not_found and not pool.absence.proved),
        first_sentence=first_sentence,
        latency_ms=latency_ms,
        llm_calls=len(decision.calls),
        tokens=sum(call.input_tokens + call.output_tokens for call in decision.calls),
        cost=decision.cost,
        candidates=len(decision.verdicts),
        llm_candidates=sum(verdict.decided_by.kind == "llm" for verdict in decision.verdicts),
        decided=Counter(decider_of(verdict) for verdict in decision.verdicts),
    )


def ranked_anchor(document_id: str, scope: CandidateScope, *, text: str | None = None) -> RankedAnchor:
    """A scope as the judge takes it, with the anchor's text where it is at hand."""
    lines = (scope.page_start, scope.line_start, scope.page_end, scope.line_end)
    if text is None:
        return RankedAnchor(document_id, *lines)
    return RankedAnchor(document_id, *lines, word_count(text), text)


def decider_of(verdict: Verdict) -> str:
    """``pattern``, ``gate``, ``mlp``, ``llm``, ``person`` (left to one), ``rule``, ``baseline`` or ``fallback``."""
    if verdict.role is None or verdict.decided_by.kind == "undecided":
        return "person"
    if verdict.decided_by == PATTERN_MATCH:
        return "pattern"
    if verdict.needs_person and verdict.decided_by.kind != "llm":
        return "person"
    return verdict.decided_by.kind
