"""What a model returns about each passage of a call, in the order in which it writes it: the reason and the quotation
first and the role after them, so that it has reasoned before it judges.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from arbitration.contracts import CandidateRanking, ConflictPair, DecidedBy, QuoteCheck, Role
from arbitration.grounding import check_quote
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.prompting import clean_text
from arbitration.shown import places_for_ids
from arbitration.strategies.base import Verdict
from arbitration.text import supported_language

#: The roles of the audit format, and one that says why a passage is supporting.
GivenRole = Literal["primary", "supporting", "superseded", "tangential", "discarded"]
_SUPERSEDED = "superseded"
_SAYS_SO = {"en": "Superseded text", "es": "Texto sustituido"}
_NO_REASON = "no reason given"
#: Why a person looks at a passage that the model keeps.
NO_QUOTE = "no_quote: the model keeps the passage and quotes nothing of it"
NOT_THERE = "unverified_quote: what the model quotes does not stand in the passage"


def everything_is_asked_for(schema: dict[str, Any]) -> None:
    """Makes every field of a schema required, those with a default too: a model is asked for all, and a reply that
    lacks one is read all the same. What the class says of itself is for readers of the code, not for the model."""
    schema["required"] = list(schema["properties"])
    schema.pop("description", None)


class Judgement(BaseModel):
    """The model's word on one passage. All fields are asked for; a reply without reason or quotation is still read."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=everything_is_asked_for)

    candidate_id: str
    reason: str = ""
    quote: str = ""
    role: GivenRole
    counter_argument: str | None = None
    confidence: float | None = None

    def ranking(self, candidate: PoolCandidate) -> CandidateRanking:
        """The same in the audit format: superseded text is supporting."""
        superseded = self.role == _SUPERSEDED
        return CandidateRanking(
            candidate_id=candidate.candidate_id,
            role=Role.SUPPORTING if superseded else Role(self.role),
            reason=self.reason,
            counter_argument=self.counter_argument,
            confidence=self.confidence,
            quote=self.quote or None,
            superseded=superseded,
        )


class Judgements(BaseModel):
    """Everything one call over several passages returns."""

    model_config = ConfigDict(extra="forbid")

    rankings: list[Judgement]
    conflicts: list[ConflictPair] = Field(default_factory=list)


def verdict_of(
    judgement: Judgement,
    candidate: PoolCandidate,
    *,
    decider: DecidedBy,
    by_id: Mapping[str, PoolCandidate],
    pool: CandidatePool,
) -> Verdict:
    """The verdict, its quotation checked. ``by_id``: the passages by the ids that the call knew them by."""
    ranking = judgement.ranking(candidate)

    def told(text: str) -> str:
        return places_for_ids(" ".join(text.split()), by_id, pool)

    reason = told(ranking.reason) or _NO_REASON
    if ranking.superseded:
        reason = f"{_SAYS_SO[supported_language(pool.question.language)]}: {reason}"
    check = quote_check(judgement.quote, candidate)
    verdict = Verdict(
        candidate_id=candidate.candidate_id,
        role=ranking.role,
        reason=reason,
        decided_by=decider,
        counter_argument=told(ranking.counter_argument or "") or None,
        model_confidence=ranking.confidence,
    )
    return with_quote(verdict, check)


def quote_check(quote: str, candidate: PoolCandidate) -> QuoteCheck | None:
    """Whether a quotation stands in the passage, as the model read it, or in its surroundings."""
    return check_quote(
        clean_text(quote), [clean_text(candidate.anchor_text), clean_text(candidate.context_text)]
    )


def with_quote(verdict: Verdict, check: QuoteCheck | None) -> Verdict:
    """The verdict with its quotation; for a person where it keeps a passage without showing words of it."""
    if check is not None:
        verdict = verdict.model_copy(update={"quotes": (*verdict.quotes, check)})
        return verdict.for_person(NOT_THERE) if check.status == "unverified" else verdict
    is_kept = verdict.role is not None and verdict.role.binary_label == 1
    return verdict.for_person(NO_QUOTE) if is_kept else verdict
