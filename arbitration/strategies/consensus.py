"""``consensus``: adaptive filtering without training (MAIN-RAG, arXiv 2501.00332; engines.md, section 3).

A predictor answers from each candidate alone; a judge says Yes or No to (document, question, answer), and the
log-odds of the two words are the score; the bar adapts to the scores of this question and never falls below a floor.
A final predictor answers from what is kept, in descending order: :mod:`arbitration.written_answers` asks it, because
its answer is the one that people read.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from arbitration.contracts import DecidedBy, Role
from arbitration.errors import LLMFailure, StrategyUnavailable
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.prompting import RenderedPrompt, fence, load_prompt
from arbitration.protocols import ChatReply
from arbitration.shown import language_name, passage_values
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
)
from arbitration.strategies.stand_in import StandIn, StandInReport

NAME = "consensus"
PREDICTOR, JUDGE, ANSWER = "consensus-predictor", "consensus-judge", "consensus-answer"
_TOLERANCE = 1e-9
#: The verdict, with the markup, quotation marks and white space that models put around it.
_VERDICT = re.compile(r"^[\W_]*(yes|no)(?![^\W_])[*_`\"'”’»).:,;!]*[\s.:,;–—-]*", re.IGNORECASE)
_MARKUP = re.compile(r"[\W_]+")
_YES, _NO = "yes", "no"
#: What a side that was not returned at all may have at most, where the other side took everything.
_LEAST = math.log(1e-9)


class ConsensusOptions(StrategyOptions):
    """``n`` is the number of standard deviations by which the bar lies below the mean (0, .5, 1, 1.5). A passage
    whose log-odds are not above ``floor`` is discarded wherever the bar lies: the bar is relative, and would keep
    the best of passages that the judge all rejects. The ablations: ``score`` plain Yes / No instead of log-odds,
    ``order`` of the kept passages for the final answer."""

    k: int = Field(default=20, ge=1, le=200)
    n: float = Field(default=0.0, ge=0.0, le=5.0)
    floor: float = Field(default=0.0, ge=-50.0, le=50.0)
    score: Literal["log_odds", "yes_no"] = "log_odds"
    order: Literal["descending", "ascending", "random"] = "descending"
    parallel: int = Field(default=8, ge=1, le=64)
    seed: int = 0


def planned_calls(candidates: int, k: int = 20) -> int:
    """Predictor and judge for each candidate, and the final predictor: 20 candidates = 41 calls."""
    asked = min(candidates, k)
    return 2 * asked + 1 if asked else 0


def log_odds(logprobs: Mapping[str, float]) -> float | None:
    """r = log p(Yes) - log p(No) at one position, each summed over its variants (" Yes", "yes", "YES", "**Yes"). A
    side that was not returned is floored by the smallest returned log-probability, or by what the other side leaves
    where nothing else was returned. None when neither was."""
    return _odds({token: value for token, value in logprobs.items() if value > -math.inf}, _side)


def _odds(logprobs: Mapping[str, float], side_of: Callable[[str], str | None]) -> float | None:
    sides: dict[str | None, list[float]] = {_YES: [], _NO: [], None: []}
    for token, value in logprobs.items():
        sides[side_of(token)].append(value)
    if not sides[_YES] and not sides[_NO]:
        return None
    floor = min(logprobs.values()) if sides[None] else _left_by(_summed(sides[_YES] + sides[_NO]))
    yes, no = (_summed(sides[side]) if sides[side] else max(_LEAST, floor) for side in (_YES, _NO))
    return yes - no


def _word(token: str) -> str:
    """A token's letters, in lower case, without the markup and the quotation marks around them."""
    return _MARKUP.sub("", token).lower()


def _side(token: str) -> str | None:
    word = _word(token)
    return word if word in (_YES, _NO) else None


def _begun_side(token: str) -> str | None:
    """The side of a piece of a word: "Y", "Ye", "N"."""
    word = _word(token)
    return next((side for side in (_YES, _NO) if word and side.startswith(word)), None)


def _summed(values: Sequence[float]) -> float:
    top = max(values)
    return top + math.log(sum(math.exp(value - top) for value in values))


def _left_by(taken: float) -> float:
    """Logarithm of what is left of a probability of one."""
    left = -math.expm1(min(0.0, taken))
    return math.log(left) if left > 0 else _LEAST


def reply_log_odds(text: str, positions: Sequence[Mapping[str, float]]) -> float | None:
    """The log-odds at the position of the reply's verdict; None where the reply has no verdict, or no odds of it.

    Other positions hold the two words as well: before "**No**" a model weighs an opening "Yes" against the markup,
    and after the verdict they are words of a sentence.
    """
    said = _VERDICT.match(text)
    if said is None:
        return None
    place = _place_of(text, positions, said.start(1))
    if place is None:
        likeliest = [max(tokens, key=tokens.__getitem__, default="") for tokens in positions]
        place = next((i for i, token in enumerate(likeliest) if _side(token) == said[1].lower()), None)
    return _odds_at(positions[place]) if place is not None else None


def _place_of(text: str, positions: Sequence[Mapping[str, float]], start: int) -> int | None:
    """The position whose token reaches the character at ``start``, by laying the likeliest fitting tokens end to end;
    None where the tokens do not spell the text, as with servers that show pieces of characters."""
    offset = 0
    for place, tokens in enumerate(positions):
        fitting = [token for token in tokens if token and text.startswith(token, offset)]
        if not fitting:
            return None
        offset += len(max(fitting, key=lambda token: (tokens[token], len(token))))
        if offset > start:
            return place
    return None


def _odds_at(tokens: Mapping[str, float]) -> float | None:
    """The odds at the verdict's own position, where the words may be cut into several tokens ("Y", "es")."""
    whole = log_odds(tokens)
    return whole if whole is not None else _odds(tokens, _begun_side)


@dataclass(frozen=True, slots=True)
class Bar:
    """tau = mean of the scores; what is within ``n`` population standard deviations below it, and above ``floor``,
    is kept."""

    tau: float
    sigma: float
    n: float
    floor: float = 0.0

    @classmethod
    def of(cls, scores: Sequence[float], n: float = 0.0, *, floor: float = 0.0) -> Bar:
        """The adaptive bar of one question's scores."""
        tau = math.fsum(scores) / len(scores)
        sigma = math.sqrt(math.fsum((score - tau) ** 2 for score in scores) / len(scores))
        return cls(tau, sigma, n, floor)

    def role(self, score: float) -> Role:
        """>= tau primary, down to tau - n * sigma supporting, else discarded, as is whatever is not above the floor.
        Equal scores above it all stay."""
        if score <= self.floor:
            return Role.DISCARDED
        slack = _TOLERANCE * max(1.0, abs(self.tau))
        if score >= self.tau - slack:
            return Role.PRIMARY
        return Role.SUPPORTING if score >= self.tau - self.n * self.sigma - slack else Role.DISCARDED


@dataclass(frozen=True)
class ConsensusStrategy:
    """Predictor, judge by log-odds, adaptive bar, final predictor."""

    name: str = NAME
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
        return _Consensus(pool, services, options, Calls(chat), Fallback.of(pool, services)).run()


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
    services: StrategyServices
    options: ConsensusOptions
    calls: Calls
    fallback: Fallback

    def run(self) -> StrategyOutcome:
        shortlist = Shortlist.of(self.pool, self.fallback, limit=self.options.k)
        with ThreadPoolExecutor(min(self.options.parallel, len(shortlist.asked)), "consensus") as workers:
            judged = list(workers.map(self._judge, shortlist.asked))
        scores = {j.candidate.candidate_id: j.score for j in judged if j.score is not None}
        bar = Bar.of(list(scores.values()), self.options.n, floor=self.options.floor) if scores else None
        stand_in = StandIn(self.pool, self.services)
        verdicts = [self._verdict(j, bar, stand_in) for j in judged]
        failed = [j.failure for j in judged if j.failure is not None]
        report = StandInReport.of(verdicts, failed[-1]) if failed else None
        verdicts.sort(key=_place)
        return StrategyOutcome(
            verdicts=(*verdicts, *shortlist.beyond()),
            undecided_ids=tuple(v.candidate_id for v in verdicts if v.role is None),
            calls=self.calls.records,
            notes=(*self._notes(judged, bar), *([report.note] if report else [])),
            artefacts=report.artefact if report else {},
        )

    def _judge(self, candidate: PoolCandidate) -> _Judged:
        passage = passage_values(self.pool, candidate, label="passage")
        question = fence(self.pool.question.normalised, label="question")
        language = language_name(self.pool.question.language)
        try:
            predictor = load_prompt(PREDICTOR).render(question=question, passage=passage, language=language)
            answer = self._complete(predictor, stage="predict", tokens=256).text
            prompt = load_prompt(JUDGE).render(
                question=question,
                passage=passage,
                language=language,
                answer=fence(answer, label="answer"),
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
        score = reply_log_odds(reply.text, reply.top_logprobs)
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

    def _verdict(self, judged: _Judged, bar: Bar | None, stand_in: StandIn) -> Verdict:
        if judged.failure is not None:
            return stand_in.verdict(judged.candidate, judged.failure)
        if judged.score is None or bar is None or judged.decided_by is None:
            return undecided(judged.candidate, "no verdict: no score")
        role = self._role(judged.score, bar)
        return Verdict(
            candidate_id=judged.candidate.candidate_id,
            role=role,
            reason=judged.evidence or "the judge gave no evidence sentence",
            decided_by=judged.decided_by,
            raw_score=judged.score,
            score_scale=self.options.score.replace("_", "-"),
            normalised_score=1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, judged.score)))),
            terms={"r": judged.score, "tau": bar.tau, "sigma": bar.sigma, "n": bar.n, "floor": bar.floor},
        )

    def _role(self, score: float, bar: Bar) -> Role:
        if self.options.score == "yes_no":
            return Role.PRIMARY if score > 0 else Role.DISCARDED
        return bar.role(score)

    def _notes(self, judged: Sequence[_Judged], bar: Bar | None) -> tuple[str, ...]:
        notes = []
        if bar is not None:
            notes.append(
                f"bar tau = {bar.tau:.3f}, sigma = {bar.sigma:.3f}, n = {bar.n:g}, floor = {bar.floor:g}"
            )
        failed = [j.failure for j in judged if j.failure is not None]
        notes += [f"model call failed: {failure.outcome}: {failure.message}" for failure in failed]
        return tuple(dict.fromkeys(notes))


def _place(verdict: Verdict) -> tuple[bool, float]:
    """Judged ones by score; then what stands in for a lost judgment, whose score has another scale."""
    score = verdict.raw_score if verdict.raw_score is not None else -math.inf
    return verdict.decided_by.kind != "llm", -score


def arranged(kept: Sequence[str], options: ConsensusOptions) -> list[str]:
    """What was kept, given best first, in the order in which the final predictor reads it."""
    if options.order == "ascending":
        return list(reversed(kept))
    if options.order == "random":
        return random.Random(options.seed).sample(list(kept), len(kept))  # noqa: S311 an ablation's order
    return list(kept)
