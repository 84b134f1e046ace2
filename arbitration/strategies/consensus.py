"""``consensus``: adaptive filtering without training (MAIN-RAG, arXiv 2501.00332; engines.md, section 3).

A predictor answers from each candidate alone; a judge says Yes or No to (document, question, answer), and the
log-odds of the two words are the score; the bar adapts to the scores of this question; a final predictor
answers from what is kept, in descending order.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from arbitration.contracts import DecidedBy, Role
from arbitration.errors import LLMFailure, StrategyUnavailable
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.prompting import RenderedPrompt, fence, load_prompt
from arbitration.protocols import ChatReply
from arbitration.strategies.base import (
    Calls,
    Requirement,
    StrategyOutcome,
    StrategyServices,
    Verdict,
    by_model,
    undecided,
)
from arbitration.strategies.shortlist import (
    Fallback,
    Shortlist,
    StrategyOptions,
    one_line,
    read_options,
    short_ids,
)

PREDICTOR, JUDGE, ANSWER = "consensus-predictor", "consensus-judge", "consensus-answer"
_TOLERANCE = 1e-9
_VERDICT = re.compile(r"^\W*(yes|no)\b[\s.:,;–—-]*", re.IGNORECASE)
_SHORT_ID = re.compile(r"\bid\d+\b")
_YES, _NO = "yes", "no"


class ConsensusOptions(StrategyOptions):
    """``n`` is the number of standard deviations by which the bar lies below the mean (0, .5, 1, 1.5). The
    ablations: ``score`` plain Yes / No instead of log-odds, ``order`` of the kept passages for the final answer."""

    k: int = Field(default=20, ge=1, le=200)
    n: float = Field(default=0.0, ge=0.0, le=5.0)
    score: Literal["log_odds", "yes_no"] = "log_odds"
    order: Literal["descending", "ascending", "random"] = "descending"
    parallel: int = Field(default=8, ge=1, le=64)
    seed: int = 0


def planned_calls(candidates: int, k: int = 20) -> int:
    """Predictor and judge for each candidate, and the final predictor: 20 candidates = 41 calls."""
    asked = min(candidates, k)
    return 2 * asked + 1 if asked else 0


def log_odds(logprobs: Mapping[str, float]) -> float | None:
    """r = log p(Yes) - log p(No) at one position, each summed over its variants (" Yes", "yes", "YES"); a side
    that was not returned is floored by the smallest returned log-probability. None when neither was."""
    sides = {side: _summed(logprobs, side) for side in (_YES, _NO)}
    if sides[_YES] is None and sides[_NO] is None:
        return None
    floor = min(logprobs.values())
    yes, no = (floor if value is None else value for value in (sides[_YES], sides[_NO]))
    return yes - no


def _summed(logprobs: Mapping[str, float], side: str) -> float | None:
    values = [value for token, value in logprobs.items() if token.strip().lower() == side]
    if not values:
        return None
    top = max(values)
    if top == -math.inf:
        return None
    return top + math.log(sum(math.exp(value - top) for value in values))


def reply_log_odds(positions: Sequence[Mapping[str, float]]) -> float | None:
    """The log-odds at the first position where either word was a possibility."""
    return next((r for position in positions if position and (r := log_odds(position)) is not None), None)


@dataclass(frozen=True, slots=True)
class Bar:
    """tau = mean of the scores; what is within ``n`` population standard deviations below it is kept."""

    tau: float
    sigma: float
    n: float

    @classmethod
    def of(cls, scores: Sequence[float], n: float = 0.0) -> Bar:
        """The adaptive bar of one question's scores."""
        tau = math.fsum(scores) / len(scores)
        sigma = math.sqrt(math.fsum((score - tau) ** 2 for score in scores) / len(scores))
        return cls(tau, sigma, n)

    def role(self, score: float) -> Role:
        """>= tau primary, down to tau - n * sigma supporting, else discarded. Equal scores all stay."""
        slack = _TOLERANCE * max(1.0, abs(self.tau))
        if score >= self.tau - slack:
            return Role.PRIMARY
        return Role.SUPPORTING if score >= self.tau - self.n * self.sigma - slack else Role.DISCARDED


def kept_in_order(scores: Mapping[str, float], bar: Bar) -> list[str]:
    """What the bar keeps, by descending score."""
    kept = [key for key, score in scores.items() if bar.role(score) is not Role.DISCARDED]
    return sorted(kept, key=lambda key: -scores[key])


@dataclass(frozen=True)
class ConsensusStrategy:
    """Predictor, judge by log-odds, adaptive bar, final predictor."""

    name: str = "consensus"
    description: str = "A model answers from each passage alone and judges its own answer; the bar adapts."
    requires: tuple[Requirement, ...] = ("chat", "logprobs")

    def decide(self, pool: CandidatePool, *, services: StrategyServices) -> StrategyOutcome:
        """One verdict per candidate. Raises :class:`StrategyUnavailable` without a model, or without the
        log-probabilities that the score is made of."""
        chat = services.require_chat(self.name)
        options = read_options(ConsensusOptions, services)
        if options.score == "log_odds" and not chat.supports_logprobs:
            raise StrategyUnavailable(
                f"Strategy 'consensus' needs log-probabilities and the endpoint of '{chat.name}' returns none; "
                "choose another endpoint, or the plain Yes / No ablation."
            )
        return _Consensus(pool, options, Calls(chat), Fallback.of(pool, services)).run()


@dataclass(frozen=True, slots=True)
class _Judged:
    candidate: PoolCandidate
    score: float | None
    evidence: str = ""
    decided_by: DecidedBy | None = None
    failure: LLMFailure | None = None


@dataclass
class _Consensus:
    pool: CandidatePool
    options: ConsensusOptions
    calls: Calls
    fallback: Fallback

    def run(self) -> StrategyOutcome:
        shortlist = Shortlist.of(self.pool, self.fallback, limit=self.options.k)
        with ThreadPoolExecutor(min(self.options.parallel, len(shortlist.asked)), "consensus") as workers:
            judged = list(workers.map(self._judge, shortlist.asked))
        scores = {j.candidate.candidate_id: j.score for j in judged if j.score is not None}
        bar = Bar.of(list(scores.values()), self.options.n) if scores else None
        verdicts = [self._verdict(j, bar) for j in judged]
        verdicts.sort(key=lambda v: -(v.raw_score if v.raw_score is not None else -math.inf))
        kept = [v.candidate_id for v in verdicts if v.role in (Role.PRIMARY, Role.SUPPORTING)]
        answer, failure = self._answer(kept) if kept else ("", None)
        return StrategyOutcome(
            verdicts=(*verdicts, *shortlist.beyond()),
            undecided_ids=tuple(v.candidate_id for v in verdicts if v.role is None),
            calls=self.calls.records,
            notes=self._notes(judged, bar, failure),
            artefacts={"answer": answer} if answer else {},
        )

    def _judge(self, candidate: PoolCandidate) -> _Judged:
        passage = fence(candidate.anchor_text, label=candidate.candidate_id)
        question = self.pool.question.normalised
        try:
            predictor = load_prompt(PREDICTOR).render(question=question, passage=passage)
            answer = self._complete(predictor, stage="predict", tokens=256).text
            prompt = load_prompt(JUDGE).render(
                question=question, passage=passage, answer=fence(answer, label="answer")
            )
            reply = self._complete(
                prompt, stage="judge", tokens=160, logprobs=self.options.score == "log_odds"
            )
            score, evidence = self._scored(reply)
        except LLMFailure as failure:
            return _Judged(candidate, None, failure=failure)
        return _Judged(candidate, score, evidence, by_model(prompt.version, prompt.name, reply.model))

    def _scored(self, reply: ChatReply) -> tuple[float, str]:
        said = _VERDICT.match(reply.text)
        if said is None:  # the odds would be those of some word inside another answer
            raise LLMFailure("unparseable", "the judge said neither Yes nor No")
        evidence = one_line(reply.text[said.end() :])
        if self.options.score == "yes_no":
            return (1.0 if said[1].lower() == _YES else -1.0), evidence
        score = reply_log_odds(reply.top_logprobs)
        if score is None:
            raise LLMFailure("unparseable", "the judge's reply has no odds of Yes and No")
        return score, evidence

    def _complete(
        self, prompt: RenderedPrompt, *, stage: str, tokens: int, logprobs: bool = False
    ) -> ChatReply:
        return self.calls.complete(
            prompt.request(
                max_output_tokens=self.pool.settings.output_tokens(tokens),
                temperature=0.0,
                timeout_s=self.pool.settings.timeout_s,
                want_logprobs=logprobs,
                stage=stage,
            )
        )

    def _verdict(self, judged: _Judged, bar: Bar | None) -> Verdict:
        if judged.score is None or bar is None or judged.decided_by is None:
            message = judged.failure.message if judged.failure else "no score"
            return undecided(judged.candidate, f"no verdict: {message}")
        role = self._role(judged.score, bar)
        return Verdict(
            candidate_id=judged.candidate.candidate_id,
            role=role,
            reason=judged.evidence or "the judge gave no evidence sentence",
            decided_by=judged.decided_by,
            raw_score=judged.score,
            score_scale=self.options.score.replace("_", "-"),
            normalised_score=1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, judged.score)))),
            terms={"r": judged.score, "tau": bar.tau, "sigma": bar.sigma, "n": bar.n},
        )

    def _role(self, score: float, bar: Bar) -> Role:
        if self.options.score == "yes_no":
            return Role.PRIMARY if score > 0 else Role.DISCARDED
        return bar.role(score)

    def _answer(self, kept: Sequence[str]) -> tuple[str, LLMFailure | None]:
        """The final predictor's answer over the kept passages, in the order the options ask for."""
        candidates = short_ids(
            [c for identity in self._arranged(kept) if (c := self.pool.candidate(identity))]
        )
        prompt = load_prompt(ANSWER).render(
            question=self.pool.question.normalised,
            passages=[{"id": i, "text": fence(c.anchor_text, label=i)} for i, c in candidates.items()],
        )
        try:
            text = self._complete(prompt, stage="answer", tokens=1024).text
        except LLMFailure as failure:
            return "", failure
        return _SHORT_ID.sub(
            lambda m: candidates[m[0]].candidate_id if m[0] in candidates else m[0], text
        ), None

    def _arranged(self, kept: Sequence[str]) -> list[str]:
        if self.options.order == "ascending":
            return list(reversed(kept))
        if self.options.order == "random":
            return random.Random(self.options.seed).sample(list(kept), len(kept))  # noqa: S311 an ablation's order
        return list(kept)

    def _notes(
        self, judged: Sequence[_Judged], bar: Bar | None, answer: LLMFailure | None
    ) -> tuple[str, ...]:
        notes = []
        if bar is not None:
            notes.append(f"bar tau = {bar.tau:.3f}, sigma = {bar.sigma:.3f}, n = {bar.n:g}")
        failed = [j.failure for j in judged if j.failure is not None]
        notes += [f"model call failed: {failure.outcome}: {failure.message}" for failure in failed]
        if answer is not None:
            notes.append(f"the final answer failed: {answer.outcome}: {answer.message}")
        return tuple(dict.fromkeys(notes))
