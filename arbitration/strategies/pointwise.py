"""``pointwise``: parallel batches, a grade of 0 to 10 per passage (engines.md, section 4).

Batch j takes the candidates t with t mod N = j, which evens out positions. A batch that fails or times out is
scored by the fallback reranker and marked so, and what the fallback keeps is for a person; it is never tried again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TypeGuard

from pydantic import Field

from arbitration import bounded_json
from arbitration.contracts import DecidedBy, Role
from arbitration.errors import LLMFailure
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.prompting import fence, load_prompt
from arbitration.shown import passage_values, shuffled
from arbitration.strategies.base import (
    Calls,
    Requirement,
    StrategyOutcome,
    StrategyServices,
    Verdict,
    by_model,
)
from arbitration.strategies.rules import Rules
from arbitration.strategies.shortlist import (
    MOST_SEED,
    Fallback,
    Shortlist,
    StrategyOptions,
    as_json,
    read_options,
    short_ids,
)
from arbitration.strategies.streams import MergeRule, merged, split, stream_of

PROMPT = "pointwise"
LOWEST_GRADE = 5
_GRACE_S = 1.0
_OBJECT = re.compile(r"\{[^{}]*\}", re.DOTALL)


class PointwiseOptions(StrategyOptions):
    """K candidates in N parallel calls. With ``streams`` each document type has a like share of K and calls of its
    own, and ``merge`` orders what they graded; ``per_stream`` caps the candidates of one type, and is its quota.
    ``seed`` gives the order inside a call."""

    k: int = Field(default=40, ge=1, le=400)
    n: int = Field(default=4, ge=1, le=32)
    timeout_s: float = Field(default=8.0, gt=0)
    max_output_tokens: int = Field(default=256, ge=16)
    primary: int = Field(default=8, ge=0, le=10)
    supporting: int = Field(default=6, ge=0, le=10)
    tangential: int = Field(default=5, ge=0, le=10)
    per_stream: int | None = Field(default=None, ge=1, le=400)
    streams: bool = False
    merge: MergeRule = "score"
    seed: int = Field(default=0, ge=0, le=MOST_SEED)

    def role(self, grade: int) -> Role:
        """>= 8 primary, 6-7 supporting, 5 tangential, else discarded."""
        if grade >= self.primary:
            return Role.PRIMARY
        if grade >= self.supporting:
            return Role.SUPPORTING
        return Role.TANGENTIAL if grade >= self.tangential else Role.DISCARDED


@dataclass(frozen=True, slots=True)
class Grades:
    """What one call said: grades by id, and ids that were not asked, repeated, or graded outside the scale."""

    grades: dict[str, int]
    unknown: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    off_scale: tuple[str, ...] = ()


def batches(candidates: Sequence[PoolCandidate], n: int) -> list[list[PoolCandidate]]:
    """Round robin: batch j holds the candidates t with t mod n = j; no empty batch."""
    return [batch for j in range(n) if (batch := list(candidates[j::n]))]


def parse_grades(text: str, asked: Sequence[str]) -> Grades:
    """The compact object of a reply.

    Raises :class:`LLMFailure`: ``unparseable`` when there is none, ``wrong_schema`` when there are several that
    differ, or when it holds no grade at all. Only an empty object says that nothing deserves one.
    """
    pairs = _only_object(text)
    if pairs and not any(_is_grade(value) for _, value in pairs):
        raise LLMFailure("wrong_schema", "the model's answer holds no grade of 0 to 10")
    grades: dict[str, int] = {}
    unknown, repeated, off_scale = [], [], []
    for identity, grade in pairs:
        if identity not in asked:
            unknown.append(identity)
        elif identity in grades:
            repeated.append(identity)
        elif _is_grade(grade):
            grades[identity] = grade
        else:
            off_scale.append(identity)
    return Grades(grades, tuple(unknown), tuple(repeated), tuple(off_scale))


def _is_grade(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10


def _only_object(text: str) -> list[tuple[str, object]]:
    """Keys and values of the one JSON object in a text, repeated keys included."""
    objects = dict.fromkeys("".join(found.split()) for found in _OBJECT.findall(text))
    if not objects:
        raise LLMFailure("unparseable", "the model's answer holds no JSON object of grades")
    if len(objects) > 1:
        raise LLMFailure("wrong_schema", f"the model's answer holds {len(objects)} different objects")
    try:
        pairs: list[tuple[str, object]] = bounded_json.loads(next(iter(objects)), object_pairs_hook=list)
    except ValueError as error:
        raise LLMFailure("unparseable", "the model's grades are not valid JSON") from error
    return pairs


@dataclass(frozen=True)
class PointwiseStrategy:
    """Grades from parallel calls, merged by grade, ties by the fallback reranker."""

    name: str = "pointwise"
    description: str = (
        "A language model grades each passage 0 to 10, in parallel batches; a lost batch falls back."
    )
    requires: tuple[Requirement, ...] = ("chat",)

    def decide(self, pool: CandidatePool, *, services: StrategyServices) -> StrategyOutcome:
        """One verdict per candidate. Raises :class:`StrategyUnavailable` without a chat model."""
        calls = Calls(services.require_chat(self.name))
        return _Grading(
            pool, read_options(PointwiseOptions, services), calls, Fallback.of(pool, services)
        ).run()


@dataclass(frozen=True, slots=True)
class _Shard:
    candidates: dict[str, PoolCandidate]
    grades: Grades | None
    decided_by: DecidedBy | None
    failure: LLMFailure | None = None


@dataclass
class _Grading:
    pool: CandidatePool
    options: PointwiseOptions
    calls: Calls
    fallback: Fallback
    unknown: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rules = Rules(self.pool)
        #: The batch's own tight time-out, never longer than the installation's.
        self.timeout_s = min(self.options.timeout_s, self.pool.settings.timeout_s)

    def run(self) -> StrategyOutcome:
        options = self.options
        shortlist = Shortlist.of(
            self.pool,
            self.fallback,
            limit=options.k,
            per_stream=options.per_stream,
            streams=options.streams,
        )
        shards = self._all_shards(self._groups(shortlist.asked))
        verdicts = [verdict for shard in shards for verdict in self._verdicts(shard)]
        verdicts.sort(key=lambda v: (-(v.raw_score or 0.0), -self.fallback.probabilities[v.candidate_id]))
        verdicts = self._merged(verdicts)
        lost = [shard for shard in shards if shard.grades is None]
        return StrategyOutcome(
            verdicts=(*verdicts, *shortlist.beyond()),
            unknown_ids=tuple(dict.fromkeys(self.unknown)),
            repeated_ids=tuple(dict.fromkeys(self.repeated)),
            judged_together=tuple(
                frozenset(c.candidate_id for c in shard.candidates.values()) for shard in shards
            ),
            calls=self.calls.records,
            notes=tuple(self.notes),
            artefacts={
                "shards": as_json({"asked": len(shards), "lost": len(lost)}),
                "order": as_json({"seed": self.options.seed}),
            },
        )

    def _groups(self, asked: Sequence[PoolCandidate]) -> list[list[PoolCandidate]]:
        """The batches. Those of streams hold one document type each, and each stream has its part of the N calls, one
        at least."""
        n = self.options.n
        if not self.options.streams:
            return batches(asked, n)
        streams = split(asked, lambda candidate: stream_of(self.pool, candidate))
        counted = ", ".join(f"{name or 'no type'} {len(own)}" for name, own in streams.items())
        self.notes.append(f"graded in streams by document type ({counted}), merged by {self.options.merge}")
        parts = {name: max(1, round(n * len(own) / len(asked))) for name, own in streams.items()}
        return [batch for name, own in streams.items() for batch in batches(own, parts[name])]

    def _merged(self, verdicts: list[Verdict]) -> list[Verdict]:
        """The verdicts, best first, in the order of the merge rule."""
        if not self.options.streams:
            return verdicts
        streams = {c.candidate_id: stream_of(self.pool, c) for c in self.pool.candidates}
        return merged(
            verdicts,
            lambda verdict: streams[verdict.candidate_id],
            rule=self.options.merge,
            quota=self.options.per_stream,
        )

    def _all_shards(self, groups: Sequence[Sequence[PoolCandidate]]) -> list[_Shard]:
        """All batches at once; one that hangs past its time-out is given up, whatever the endpoint does."""
        if not groups:
            return []
        workers = ThreadPoolExecutor(len(groups), "pointwise")
        try:
            futures = [workers.submit(self._shard, self._by_id(group)) for group in groups]
            wait(futures, timeout=self.timeout_s + _GRACE_S)
            return [self._finished(f, group) for f, group in zip(futures, groups, strict=True)]
        finally:
            workers.shutdown(wait=False, cancel_futures=True)

    def _finished(self, future: Future[_Shard], group: Sequence[PoolCandidate]) -> _Shard:
        if future.done():
            return future.result()
        hanging = LLMFailure("timeout", f"no answer within {self.timeout_s:g} s")
        return _Shard(self._by_id(group), None, None, hanging)

    def _by_id(self, group: Sequence[PoolCandidate]) -> dict[str, PoolCandidate]:
        """A batch by short ids, in an order that says nothing of what the reranker thinks."""
        question = self.pool.question.normalised
        return short_ids(shuffled(group, seed=self.options.seed, question=question))

    def _shard(self, candidates: dict[str, PoolCandidate]) -> _Shard:
        prompt = load_prompt(PROMPT).render(
            question=fence(self.pool.question.normalised, label="question"),
            passages=[passage_values(self.pool, c, label=i) for i, c in candidates.items()],
        )
        request = prompt.request(
            max_output_tokens=self.pool.settings.output_tokens(self.options.max_output_tokens),
            temperature=self.pool.settings.temperature,
            timeout_s=self.timeout_s,
            retries=0,
            stage="arbitrate",
        )
        try:
            reply = self.calls.complete(request)
            if reply.finish_reason == "length":
                raise LLMFailure("cut_off", "the model's grades were cut off")
            grades = parse_grades(reply.text, list(candidates))
        except LLMFailure as failure:
            return _Shard(candidates, None, None, failure)
        return _Shard(candidates, grades, by_model(prompt.version, prompt.name, reply.model))

    def _verdicts(self, shard: _Shard) -> list[Verdict]:
        if shard.grades is None or shard.decided_by is None:
            return self._stand_in(shard)
        self.unknown += shard.grades.unknown
        self.repeated += [shard.candidates[i].candidate_id for i in shard.grades.repeated]
        off_scale = set(shard.grades.off_scale) - set(shard.grades.grades)
        if off_scale:
            ids = ", ".join(sorted(shard.candidates[i].candidate_id for i in off_scale))
            self.notes.append(f"grades outside 0 to 10 ignored, the fallback scored: {ids}")
        return [
            self._off_scale(c)
            if i in off_scale
            else self._graded(c, shard.grades.grades.get(i), shard.decided_by)
            for i, c in shard.candidates.items()
        ]

    def _off_scale(self, candidate: PoolCandidate) -> Verdict:
        """A grade that is none says nothing, least of all that the passage deserves none."""
        said = "its grade was outside 0 to 10"
        return self.fallback.verdict(candidate, self.rules).for_person(said)

    def _graded(self, candidate: PoolCandidate, grade: int | None, decider: DecidedBy) -> Verdict:
        score = grade if grade is not None else 0
        graded = f"{grade} of 10" if grade is not None else f"below {LOWEST_GRADE} of 10"
        role = self.options.role(score)
        return Verdict(
            candidate_id=candidate.candidate_id,
            role=role,
            reason=f"{self.rules.reason(candidate, role)} Graded {graded}.",
            decided_by=decider,
            raw_score=float(score),
            score_scale="0-10",
            normalised_score=score / 10,
        )

    def _stand_in(self, shard: _Shard) -> list[Verdict]:
        why = shard.failure.outcome if shard.failure else "no answer"
        self.notes.append(f"a batch of {len(shard.candidates)} was lost ({why}); the fallback scored it")
        said = f"its batch was lost ({why})"
        verdicts = [self.fallback.verdict(c, self.rules) for c in shard.candidates.values()]
        return [v if v.role is Role.DISCARDED else v.for_person(said) for v in verdicts]
