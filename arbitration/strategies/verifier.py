"""The verifier of ``r-flow``: a language model scores the uncertain candidates 0 to 9, each in its own call."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from pydantic import BaseModel, ConfigDict, Field

from arbitration.errors import LLMFailure
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.prompting import fence, load_prompt
from arbitration.shown import language_name, passage_values
from arbitration.strategies.base import Calls, Structured, ask_structured
from arbitration.strategies.judgements import everything_is_asked_for

PROMPT = "r-flow-verifier"
PARALLEL_CALLS = 8
_MOST_TOKENS = 400


class VerifierReply(BaseModel):
    """What the model returns about one passage: reason and quotation before the score."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=everything_is_asked_for)

    reason: str
    quote: str = ""
    score: int = Field(ge=0, le=9)
    counter_argument: str | None = None


#: The verifier's word on one candidate, or why there is none.
Verification = Structured[VerifierReply] | LLMFailure


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
    return ask_structured(
        calls, prompt, VerifierReply, settings=pool.settings, stage="verify", tokens=_MOST_TOKENS
    )
