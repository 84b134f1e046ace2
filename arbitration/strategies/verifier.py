"""The verifier of ``r-flow``: a language model scores the uncertain candidates 0 to 9, each in its own call."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from arbitration.contracts import DecidedBy
from arbitration.errors import LLMFailure
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.prompting import fence, load_prompt
from arbitration.shown import language_name, passage_values
from arbitration.strategies.base import Calls, by_model
from arbitration.strategies.judgements import everything_is_asked_for

PROMPT = "r-flow-verifier"
PARALLEL_CALLS = 8


class VerifierReply(BaseModel):
    """What the model returns about one passage: reason and quotation before the score."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=everything_is_asked_for)

    reason: str
    quote: str = ""
    score: int = Field(ge=0, le=9)
    counter_argument: str | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """The verifier's word on one candidate; ``failure`` is set instead of ``reply`` when there is none."""

    candidate: PoolCandidate
    reply: VerifierReply | None
    decided_by: DecidedBy | None
    failure: LLMFailure | None = None


def verify(pool: CandidatePool, candidates: Sequence[PoolCandidate], calls: Calls) -> list[Verification]:
    """A verification for each candidate, in their order; calls run side by side and fail one by one."""
    if not candidates:
        return []
    with ThreadPoolExecutor(min(PARALLEL_CALLS, len(candidates)), "verifier") as workers:
        return list(workers.map(lambda candidate: _verify_one(pool, candidate, calls), candidates))


def _verify_one(pool: CandidatePool, candidate: PoolCandidate, calls: Calls) -> Verification:
    prompt = load_prompt(PROMPT).render(
        question=fence(pool.question.normalised, label="question"),
        language=language_name(pool.question.language),
        passage=passage_values(pool, candidate, label="passage"),
        context=fence(candidate.context_text, label="surroundings"),
    )
    request = prompt.request(
        schema=VerifierReply,
        temperature=pool.settings.temperature,
        max_output_tokens=pool.settings.output_tokens(400),
        timeout_s=pool.settings.timeout_s,
        stage="verify",
    )
    try:
        reply = calls.complete(request)
    except LLMFailure as failure:
        return Verification(candidate, None, None, failure)
    if not isinstance(reply.parsed, VerifierReply):
        other_shape = LLMFailure("wrong_schema", "the model's answer has another shape than asked for")
        return Verification(candidate, None, None, other_shape)
    return Verification(candidate, reply.parsed, by_model(prompt.version, prompt.name, reply.model))
