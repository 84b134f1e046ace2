"""The audit format: what one question's retrieval and arbitration looked like.

Field names are fixed; they are what auditors, exports and scripts read. Additions are new optional
fields, never renamed ones. Pages and lines are 1-based everywhere.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator


class Role(StrEnum):
    """What a candidate is to the question, in order of authority."""

    PRIMARY = "primary"
    SUPPORTING = "supporting"
    TANGENTIAL = "tangential"
    DISCARDED = "discarded"

    @property
    def binary_label(self) -> int:
        """1 for evidence (primary, supporting), 0 for the rest: the reranker's training target."""
        return int(self in (Role.PRIMARY, Role.SUPPORTING))


#: Display and sort order of roles: the strongest first.
ROLE_ORDER: dict[Role, int] = {role: position for position, role in enumerate(Role)}

Score = Annotated[float, Field(ge=0.0, le=1.0)]


class Contract(BaseModel):
    """Base of the audit format: unknown fields are an error, so a typo never becomes silence."""

    model_config = ConfigDict(extra="forbid")


class CandidateScope(Contract):
    """A span of lines in one document; both ends inclusive, 1-based."""

    page_start: int = Field(ge=1)
    page_end: int = Field(ge=1)
    line_start: int = Field(ge=1)
    line_end: int = Field(ge=1)
    section_id: str | None = None

    @model_validator(mode="after")
    def _ordered(self) -> CandidateScope:
        if (self.page_end, self.line_end) < (self.page_start, self.line_start):
            raise ValueError("a scope ends before it starts")
        return self


class CandidateBrief(Contract):
    """What the arbiter reads about one candidate: why it was found, and 3 to 5 lines of it."""

    candidate_id: str
    methods: list[str]
    section: str | None = None
    matched_keywords: list[str] = Field(default_factory=list)
    snippet: str


class CandidateRanking(Contract):
    """The arbiter's word on one candidate. ``confidence`` is its own, which nothing calibrates; one that lies outside
    0 to 1 says nothing and costs no verdict. ``quote``: the words of the passage that carry the role. ``superseded``:
    other text has replaced what it says, which makes it supporting."""

    candidate_id: str
    role: Role
    reason: str
    counter_argument: str | None = None
    confidence: float | None = None
    quote: str | None = None
    superseded: bool | None = None

    @field_validator("confidence")
    @classmethod
    def _on_its_scale(cls, value: float | None) -> float | None:
        return value if value is not None and 0.0 <= value <= 1.0 else None


class ConflictPair(Contract):
    """Two candidates that contradict each other, such as an amendment and the original."""

    first_id: str
    second_id: str
    explanation: str


class ArbiterOutput(Contract):
    """Everything one arbitration call returns."""

    rankings: list[CandidateRanking]
    conflicts: list[ConflictPair] = Field(default_factory=list)


class QuoteCheck(Contract):
    """A quotation and whether its words stand in the source.

    ``verified``: exact; ``repaired``: only white space or case differed and the exact text was put in;
    ``unverified``: not in the source.
    """

    quote: str
    status: Literal["verified", "repaired", "unverified"]


class DecidedBy(Contract):
    """Who or what gave the verdict: a rule, a gate, the reranker's version by what it is (a neural network, "mlp", or a
    logistic regression), an LLM with its prompt, a person; "fallback" where one of them stood in for an LLM."""

    kind: Literal["rule", "gate", "mlp", "logistic", "llm", "fallback", "baseline", "person", "undecided"]
    name: str
    version: str | None = None


class RetrievedCandidate(Contract):
    """One passage offered as evidence. ``context`` always contains ``anchor``."""

    candidate_id: str
    anchor: CandidateScope
    context: CandidateScope
    snippet: str
    text: str
    methods: list[str]
    matched_keywords: list[str]
    section_title: str | None = None
    role: Role | None = None
    reason: str | None = None
    # optional additions
    document_id: str | None = None
    document_name: str | None = None
    decided_by: DecidedBy | None = None
    probability: Score | None = None
    needs_person: bool | None = None
    quotes: list[QuoteCheck] | None = None
    counter_argument: str | None = None
    model_confidence: Score | None = None  # the language model's own; ``probability`` is ours, calibrated


class RetrievalResult(Contract):
    """The surviving evidence, primary first; discarded candidates live in the provenances.

    A strategy that orders by a score of its own (``ordered_by`` is "score") puts the best score first instead.

    ``confidence`` is the calibrated probability of the best survivor, 0 when not found.
    """

    doc_id: str
    question: str
    candidates: list[RetrievedCandidate]
    methods_used: list[str]
    not_found: bool
    not_found_reason: str | None = None
    confidence: Score
    conflicts: list[ConflictPair] | None = None
    needs_person: bool | None = None
    ordered_by: Literal["role", "score"] | None = None
    no_strong_match: bool | None = (
        None  # what is kept is the nearest there is; a person decides whether it answers
    )

    @model_validator(mode="after")
    def _not_found_is_explained(self) -> RetrievalResult:
        if self.not_found and not self.not_found_reason:
            raise ValueError("a not-found result names its reason")
        return self


class CandidateProvenance(Contract):
    """How one candidate was found and judged. ``llm_role`` and ``llm_reason`` are the decider's words,
    whoever the decider was; ``decided_by`` names it."""

    candidate_id: str
    methods_that_found_it: list[str]
    rank_per_method: dict[str, int]
    structural_context: str
    llm_role: Role | None = None
    llm_reason: str | None = None
    # optional additions
    score_per_method: dict[str, float] | None = None
    why_per_method: dict[str, str] | None = None
    rrf_score: float | None = None
    rrf_rank: int | None = None
    features: dict[str, float] | None = None
    raw_score: float | None = None
    score_scale: str | None = None
    score_terms: dict[str, float] | None = None  # the parts of a composite score, by name
    normalised_score: Score | None = None
    probability: Score | None = None
    decided_by: DecidedBy | None = None
    needs_person: bool | None = None
    needs_person_reasons: list[str] | None = None
    injection_suspected: bool | None = None
    injection_words: list[str] | None = None  # of the passage, that raise the suspicion
    quotes: list[QuoteCheck] | None = None
    counter_argument: str | None = None
    model_confidence: Score | None = None  # the language model's own; ``probability`` is ours, calibrated


class AuditedRetrievalResult(Contract):
    """The complete record: every candidate any detector found, survivors and discarded alike."""

    candidates: list[RetrievedCandidate]
    provenances: list[CandidateProvenance]
    methods_run: list[str]
    methods_skipped: list[str]
    skipped_reasons: dict[str, str]
    # optional additions
    parsed_question: dict[str, Any] | None = None
    conflicts: list[ConflictPair] | None = None
    unknown_ids: list[str] | None = None
    repeated_ids: list[str] | None = None
    undecided_ids: list[str] | None = None
    outcome_notes: list[str] | None = None
    artefacts: dict[str, str] | None = None  # such as an inferred rubric, as JSON
    llm_calls: int | None = None
    cost: float | None = None
    latency_ms: float | None = None
    unpriced_calls: int | None = Field(default=None, ge=0)  # of unknown cost: the whole is at least ``cost``


def candidate_id(scope: CandidateScope, document: str | None = None) -> str:
    """The stable, readable id of a scope: ``p5_l12_l14``, ``p5_l40_p6_l3`` across pages, and
    ``d42:p5_l12_l14`` when the question ran over several documents."""
    if scope.page_start == scope.page_end:
        local = f"p{scope.page_start}_l{scope.line_start}_l{scope.line_end}"
    else:
        local = f"p{scope.page_start}_l{scope.line_start}_p{scope.page_end}_l{scope.line_end}"
    return f"{document}:{local}" if document else local
