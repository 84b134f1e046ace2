"""Stage three: a pool and a decision written in the audit format."""

from __future__ import annotations

from typing import Any

from arbitration.contracts import (
    AuditedRetrievalResult,
    CandidateProvenance,
    RetrievalResult,
    RetrievedCandidate,
    Role,
)
from arbitration.decision import Decision
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.strategies.base import Verdict


def assemble(*, pool: CandidatePool, decision: Decision) -> tuple[RetrievalResult, AuditedRetrievalResult]:
    """The result (survivors and undecided ones, in the decision's order) and the complete record behind it."""
    pairs = [
        (candidate, verdict)
        for verdict in decision.verdicts
        if (candidate := pool.candidate(verdict.candidate_id)) is not None
    ]
    retrieved = [_retrieved(candidate, verdict, pool) for candidate, verdict in pairs]
    kept = [candidate for candidate in retrieved if candidate.role is not Role.DISCARDED]
    result = RetrievalResult(
        doc_id=pool.doc_id,
        question=pool.question.text,
        candidates=[] if decision.not_found else kept,
        methods_used=list(pool.plan.methods_run),
        not_found=decision.not_found,
        not_found_reason=decision.not_found_reason,
        confidence=decision.confidence,
        conflicts=list(decision.conflicts) or None,
        needs_person=decision.needs_person,
        ordered_by=decision.ordered_by,
        no_strong_match=decision.no_strong_match or None,
    )
    return result, _audited(pool, decision, retrieved, [_provenance(c, v) for c, v in pairs])


def _retrieved(candidate: PoolCandidate, verdict: Verdict, pool: CandidatePool) -> RetrievedCandidate:
    document = pool.document(candidate.document_id)
    return RetrievedCandidate(
        candidate_id=candidate.candidate_id,
        anchor=candidate.anchor,
        context=candidate.context,
        snippet=candidate.brief.snippet,
        text=candidate.context_text,
        methods=candidate.methods,
        matched_keywords=list(candidate.matched_keywords),
        section_title=candidate.section_title,
        role=verdict.role,
        reason=verdict.reason,
        document_id=candidate.document_id,
        document_name=document.name if document else None,
        decided_by=verdict.decided_by,
        probability=verdict.probability,
        needs_person=verdict.needs_person,
        quotes=list(verdict.quotes) or None,
        counter_argument=verdict.counter_argument,
        model_confidence=verdict.model_confidence,
    )


def _provenance(candidate: PoolCandidate, verdict: Verdict) -> CandidateProvenance:
    return CandidateProvenance(
        candidate_id=candidate.candidate_id,
        methods_that_found_it=candidate.methods,
        rank_per_method=dict(candidate.ranks),
        structural_context=candidate.breadcrumb or f"page {candidate.anchor.page_start}",
        llm_role=verdict.role,
        llm_reason=verdict.reason,
        score_per_method=dict(candidate.scores),
        why_per_method=dict(candidate.why),
        rrf_score=candidate.rrf_score,
        rrf_rank=candidate.rrf_rank,
        raw_score=verdict.raw_score,
        score_scale=verdict.score_scale,
        score_terms=dict(verdict.terms) or None,
        normalised_score=verdict.normalised_score,
        probability=verdict.probability,
        decided_by=verdict.decided_by,
        needs_person=verdict.needs_person,
        needs_person_reasons=list(verdict.needs_person_reasons) or None,
        injection_suspected=verdict.injection_suspected,
        injection_words=list(verdict.injection_words) or None,
        quotes=list(verdict.quotes) or None,
        counter_argument=verdict.counter_argument,
        model_confidence=verdict.model_confidence,
    )


def _audited(
    pool: CandidatePool,
    decision: Decision,
    retrieved: list[RetrievedCandidate],
    provenances: list[CandidateProvenance],
) -> AuditedRetrievalResult:
    failed = {o.method: f"failed: {o.error}" for o in pool.outcomes if o.status == "failed"}
    return AuditedRetrievalResult(
        candidates=retrieved,
        provenances=provenances,
        methods_run=[method for method in pool.plan.methods_run if method not in failed],
        methods_skipped=[*pool.plan.methods_skipped, *failed],
        skipped_reasons=pool.plan.skipped_reasons | failed,
        parsed_question=question_record(pool),
        conflicts=list(decision.conflicts) or None,
        unknown_ids=list(decision.unknown_ids),
        repeated_ids=list(decision.repeated_ids),
        undecided_ids=list(decision.undecided_ids),
        outcome_notes=[*decision.notes, *(f"{method} {why}" for method, why in failed.items())],
        artefacts=dict(decision.artefacts) or None,
        llm_calls=len(decision.calls),
        cost=decision.cost,
        latency_ms=pool.latency_ms + decision.latency_ms,
    )


def question_record(pool: CandidatePool) -> dict[str, Any]:
    """The parsed question as plain JSON, with why each method ran."""
    record: dict[str, Any] = pool.question.model_dump(mode="json")
    record["method_reasons"] = dict(pool.plan.reasons)
    record["searched"] = {term: pool.absence.hits.get(term, 0) for term in pool.absence.terms}
    return record
