"""The audit format of a stored run, used by exports, API, commands and the JSON tab.

Roles in the result are effective (the person's, else the machine's). The machine's own role stays in the provenances,
unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arbitration.contracts import (
    ROLE_ORDER,
    AuditedRetrievalResult,
    CandidateProvenance,
    ConflictPair,
    DecidedBy,
    QuoteCheck,
    RetrievalResult,
    RetrievedCandidate,
    Role,
)
from arbitration.strategies.registry import order_by_name
from workbench.runs.models import Candidate, Run, Verdict
from workbench.runs.records import anchor_of, context_of, verdict_of

from .candidates import candidates_of
from .selectors import current_review, effective_role

SURVIVING = (Role.PRIMARY, Role.SUPPORTING, Role.TANGENTIAL)


def run_result(run: Run, candidates: list[Candidate] | None = None) -> RetrievalResult:
    """The surviving evidence by effective role, primary first, undecided last. If the strategy orders by its score,
    that is the order (docs/adr/0011), and evidence added by people comes first."""
    rows = candidates_of(run) if candidates is None else candidates
    placed = [(candidate_role(row), row) for row in rows]
    not_found = is_not_found(run, roles=[role for role, _ in placed])
    kept = [] if not_found else [pair for pair in placed if pair[0] != Role.DISCARDED]
    ordered_by = order_by_name(run.strategy)
    surviving = sorted(kept, key=_place_by_score if ordered_by == "score" else _place_by_role)
    return RetrievalResult(
        doc_id=run.question.document.name if run.question.document else run.collection.slug,
        question=run.question.text,
        candidates=[_retrieved(row, role) for role, row in surviving],
        methods_used=list(run.methods_run),
        not_found=not_found,
        not_found_reason=(run.not_found_reason or PEOPLE_DISCARDED_ALL) if not_found else None,
        confidence=0.0 if not_found else _confidence(run, surviving),
        conflicts=_conflicts(run) or None,
        needs_person=run.needs_person or None,
        ordered_by=ordered_by,
        no_strong_match=run.no_strong_match or None,
    )


def _place_by_role(placed: tuple[Role | None, Candidate]) -> int:
    role, _ = placed
    return len(ROLE_ORDER) if role is None else ROLE_ORDER[role]


def _place_by_score(placed: tuple[Role | None, Candidate]) -> tuple[bool, int]:
    role, row = placed
    verdict = verdict_of(row)
    return role is None, verdict.order if verdict is not None else -1


def run_audit(run: Run, candidates: list[Candidate] | None = None) -> AuditedRetrievalResult:
    """The complete record: every candidate, how it was found, and who decided what."""
    rows = candidates_of(run) if candidates is None else candidates
    return AuditedRetrievalResult(
        candidates=[_retrieved(row, candidate_role(row)) for row in rows],
        provenances=[_provenance(row) for row in rows],
        methods_run=list(run.methods_run),
        methods_skipped=list(run.methods_skipped),
        skipped_reasons=dict(run.skipped_reasons),
        parsed_question=run.parsed_question,
        conflicts=_conflicts(run) or None,
        unknown_ids=list(run.unknown_ids) or None,
        repeated_ids=list(run.repeated_ids) or None,
        undecided_ids=[row.candidate_id for row in rows if candidate_role(row) is None] or None,
        outcome_notes=list(run.notes) or None,
        artefacts=dict(run.artefacts) or None,
        llm_calls=run.llm_call_count,
        cost=float(run.cost),
        unpriced_calls=run.unpriced_call_count or None,
        latency_ms=run.elapsed_ms,
    )


def candidate_role(candidate: Candidate) -> Role | None:
    """The effective role; None while undecided."""
    verdict = verdict_of(candidate)
    role = effective_role(machine_role=verdict.role if verdict else None, review=current_review(candidate))
    return Role(role) if role else None


#: The not-found reason when the machine found evidence and people discarded all of it.
PEOPLE_DISCARDED_ALL = "all_discarded: people discarded every candidate."


def is_not_found(run: Run, *, roles: Sequence[Role | None]) -> bool:
    """Whether the result is not-found according to the effective roles. An override can find or lose the answer."""
    if run.not_found is None or any(role in SURVIVING for role in roles):
        return False
    return run.not_found or None not in roles


def _confidence(run: Run, surviving: Sequence[tuple[Role | None, Candidate]]) -> float:
    """The probability of the best survivor after people's decisions; the machine's figure if none has one."""
    verdicts = [verdict_of(row) for role, row in surviving if role in SURVIVING]
    scores = [
        verdict.probability if verdict.probability is not None else verdict.normalised_score
        for verdict in verdicts
        if verdict is not None
    ]
    return max((score for score in scores if score is not None), default=run.confidence or 0.0)


def _conflicts(run: Run) -> list[ConflictPair]:
    return [ConflictPair.model_validate(pair) for pair in run.conflicts]


def _retrieved(candidate: Candidate, role: Role | None) -> RetrievedCandidate:
    verdict = verdict_of(candidate)
    text = getattr(candidate, "text", None)
    review = current_review(candidate)
    return RetrievedCandidate(
        candidate_id=candidate.candidate_id,
        anchor=anchor_of(candidate),
        context=context_of(candidate),
        snippet=text.snippet if text else "",
        text=text.context if text else "",
        methods=list(candidate.methods),
        matched_keywords=list(candidate.matched_keywords),
        section_title=candidate.section_title or None,
        role=role,
        reason=_reason(verdict, review),
        document_id=candidate.document.public_id,
        document_name=candidate.document.name,
        decided_by=_decided_by(verdict, review),
        probability=verdict.probability if verdict else None,
        needs_person=verdict.needs_person if verdict else None,
        quotes=_quotes(verdict) or None,
        counter_argument=(verdict.counter_argument or None) if verdict else None,
        model_confidence=verdict.model_confidence if verdict else None,
    )


def _reason(verdict: Verdict | None, review: Any) -> str | None:
    if review is not None and review.role and verdict is not None and review.role != verdict.role:
        return " — ".join(part for part in (str(review.get_reason_code_display()), review.comment) if part)
    if verdict is None and review is not None and review.role:
        return review.comment or None  # evidence that a person added
    return verdict.reason if verdict else None


def _decided_by(verdict: Verdict | None, review: Any) -> DecidedBy | None:
    if review is not None and review.role:
        return DecidedBy(kind="person", name=str(review.reviewer))
    if verdict is None:
        return None
    return DecidedBy.model_validate(
        {
            "kind": verdict.decided_by_kind,
            "name": verdict.decided_by_name,
            "version": verdict.decided_by_version or None,
        }
    )


def _quotes(verdict: Verdict | None) -> list[QuoteCheck]:
    return [QuoteCheck.model_validate(quote) for quote in verdict.quotes] if verdict else []


def _provenance(candidate: Candidate) -> CandidateProvenance:
    verdict = verdict_of(candidate)
    return CandidateProvenance(
        candidate_id=candidate.candidate_id,
        methods_that_found_it=list(candidate.methods),
        rank_per_method=dict(candidate.ranks),
        structural_context=candidate.breadcrumb
        or candidate.section_title
        or f"page {candidate.anchor_page_start}",
        llm_role=Role(verdict.role) if verdict and verdict.role else None,
        llm_reason=verdict.reason if verdict else None,
        score_per_method=dict(candidate.scores),
        why_per_method=dict(candidate.whys),
        rrf_score=candidate.rrf_score,
        rrf_rank=candidate.rrf_rank,
        features=candidate.features,
        raw_score=verdict.raw_score if verdict else None,
        score_scale=(verdict.score_scale or None) if verdict else None,
        score_terms=(dict(verdict.terms) or None) if verdict else None,
        normalised_score=verdict.normalised_score if verdict else None,
        probability=verdict.probability if verdict else None,
        decided_by=_decided_by(verdict, None),
        needs_person=verdict.needs_person if verdict else None,
        needs_person_reasons=list(verdict.needs_person_reasons) or None if verdict else None,
        injection_suspected=verdict.injection_suspected if verdict else None,
        injection_words=(list(verdict.injection_words) or None) if verdict else None,
        quotes=_quotes(verdict) or None,
        counter_argument=(verdict.counter_argument or None) if verdict else None,
        model_confidence=verdict.model_confidence if verdict else None,
    )
