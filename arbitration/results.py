"""What :meth:`arbitration.Arbiter.ask` returns: one record that people can read and programs can store."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from arbitration.answers import Answer
from arbitration.contracts import AuditedRetrievalResult, DecidedBy, Role
from arbitration.decision import Decision
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.strategies.base import Verdict


class Result(BaseModel):
    """Base of the results: frozen; ``model_dump_json()`` keeps everything."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Place(Result):
    """Where a passage stands. Pages and lines count from 1, both ends included."""

    document: str
    page_start: int
    line_start: int
    page_end: int
    line_end: int

    def __str__(self) -> str:
        """Such as ``contract.pdf, p. 6, lines 12-14``."""
        if self.page_start != self.page_end:
            return (
                f"{self.document}, p. {self.page_start}, line {self.line_start} "
                f"to p. {self.page_end}, line {self.line_end}"
            )
        lines = (
            f"line {self.line_start}"
            if self.line_start == self.line_end
            else f"lines {self.line_start}-{self.line_end}"
        )
        return f"{self.document}, p. {self.page_start}, {lines}"


class Candidate(Result):
    """One passage, its role and the reason for it.

    ``role`` is None where nobody could decide; ``probability`` is that of being evidence. ``text`` is the passage,
    ``context`` the lines around it as well. ``needs_review``: a person should confirm, for ``review_reasons``.
    """

    candidate_id: str
    document_id: str
    place: Place
    section: str | None
    text: str
    context: str
    role: Role | None
    reason: str
    probability: float | None
    decided_by: DecidedBy
    methods: tuple[str, ...]
    needs_review: bool
    review_reasons: tuple[str, ...]

    @property
    def is_evidence(self) -> bool:
        """Whether it is primary or supporting."""
        return self.role in {Role.PRIMARY, Role.SUPPORTING}


class Finding(Result):
    """The answer to one question, and every passage that was considered for it.

    ``candidates`` are in order: primary, supporting, tangential, undecided, discarded. ``audit`` is the complete record
    in the product's format, with what each detector said of each passage.
    """

    question: str
    strategy: str
    answer: Answer
    candidates: tuple[Candidate, ...]
    not_found: bool
    not_found_reason: str | None
    no_strong_match: bool
    confidence: float
    needs_review: bool
    llm_calls: int
    cost: float
    audit: AuditedRetrievalResult

    @property
    def evidence(self) -> tuple[Candidate, ...]:
        """The primary and supporting passages."""
        return tuple(candidate for candidate in self.candidates if candidate.is_evidence)

    def candidate(self, candidate_id: str) -> Candidate:
        """The passage that a citation names. Raises ``KeyError`` for an unknown id."""
        for candidate in self.candidates:
            if candidate.candidate_id == candidate_id:
                return candidate
        raise KeyError(candidate_id)


def finding_of(
    *, pool: CandidatePool, decision: Decision, answer: Answer, audit: AuditedRetrievalResult
) -> Finding:
    """The engine's records as one result."""
    names = {document.document_id: document.name for document in pool.documents}
    found = {candidate.candidate_id: candidate for candidate in pool.candidates}
    calls = (*decision.calls, *answer.calls)
    return Finding(
        question=pool.question.text,
        strategy=decision.strategy,
        answer=answer,
        candidates=tuple(
            _candidate(found[verdict.candidate_id], verdict, names) for verdict in decision.verdicts
        ),
        not_found=decision.not_found,
        not_found_reason=decision.not_found_reason,
        no_strong_match=decision.no_strong_match,
        confidence=decision.confidence,
        needs_review=decision.needs_person,
        llm_calls=len(calls),
        cost=sum(call.cost for call in calls),
        audit=audit,
    )


def _candidate(candidate: PoolCandidate, verdict: Verdict, names: dict[str, str]) -> Candidate:
    anchor = candidate.anchor
    return Candidate(
        candidate_id=candidate.candidate_id,
        document_id=candidate.document_id,
        place=Place(
            document=names.get(candidate.document_id, candidate.document_id),
            page_start=anchor.page_start,
            line_start=anchor.line_start,
            page_end=anchor.page_end,
            line_end=anchor.line_end,
        ),
        section=candidate.section_title,
        text=candidate.anchor_text,
        context=candidate.context_text,
        role=verdict.role,
        reason=verdict.reason,
        probability=verdict.probability,
        decided_by=verdict.decided_by,
        methods=tuple(candidate.methods),
        needs_review=verdict.needs_person,
        review_reasons=verdict.needs_person_reasons,
    )
