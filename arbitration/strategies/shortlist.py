"""What the strategies that call a model share: whom to ask about, under which short ids, and who decides else."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from arbitration.contracts import DecidedBy, Role
from arbitration.cross_encoding import cross_scores
from arbitration.errors import StrategyUnavailable
from arbitration.evidence import evidence_scores
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.settings import Bars
from arbitration.strategies.base import StrategyServices, Verdict
from arbitration.strategies.rules import Rules, role_by_bars
from arbitration.strategies.streams import interleaved, stream_of

#: The highest seed of an order.
MOST_SEED = 2**31 - 1
_PREFILTER = DecidedBy(kind="rule", name="prefilter by the reranker's order")


class StrategyOptions(BaseModel):
    """Base of a strategy's own settings, read from ``StrategyServices.options``."""

    model_config = ConfigDict(frozen=True, extra="ignore")


Options = TypeVar("Options", bound=StrategyOptions)


def read_options(kind: type[Options], services: StrategyServices) -> Options:
    """The strategy's settings, validated. Raises :class:`StrategyUnavailable` saying which value is wrong."""
    return valid_options(kind, services.options)


def valid_options(kind: type[Options], given: Mapping[str, object]) -> Options:
    """Settings as they were given, validated. Raises as :func:`read_options`."""
    try:
        return kind.model_validate(dict(given))
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise StrategyUnavailable(f"The strategy's settings are not valid: {problems}") from error


@dataclass(frozen=True, slots=True)
class Fallback:
    """The reranker that orders, breaks ties and stands in: the deployed model, else the cross-encoder where one scored
    the candidates, else the rules' estimate."""

    probabilities: Mapping[str, float]
    decided_by: DecidedBy
    bars: Bars

    @classmethod
    def of(cls, pool: CandidatePool, services: StrategyServices) -> Fallback:
        """The fallback of this installation for this pool."""
        learned = services.probabilities(pool)
        crossed = cross_scores(pool.candidates) if learned is None else None
        if crossed is not None:
            decider = DecidedBy(kind="fallback", name="cross-encoder", version=pool.cross_encoder)
            return cls(crossed, decider, services.bars(pool))
        version = services.scorer.version if learned is not None and services.scorer else None
        name = "reranker" if learned is not None else "rules of detection"
        decider = DecidedBy(kind="fallback", name=name, version=version)
        return cls(learned or evidence_scores(pool), decider, services.bars(pool))

    def verdict(self, candidate: PoolCandidate, rules: Rules) -> Verdict:
        """The stand-in's verdict on a candidate that the model should have judged."""
        probability = self.probabilities[candidate.candidate_id]
        role = role_by_bars(rules.read(candidate), probability, self.bars)
        verdict = Verdict(
            candidate_id=candidate.candidate_id,
            role=role,
            reason=rules.reason(candidate, role),
            decided_by=self.decided_by,
            probability=probability,
            raw_score=10.0 * probability,
            score_scale="0-10 (fallback)",
            normalised_score=probability,
        )
        return (
            verdict.for_person("uncertain, and no model judged it")
            if verdict.role is Role.TANGENTIAL
            else verdict
        )


@dataclass(frozen=True, slots=True)
class Shortlist:
    """Whom a model is asked about, best first in the fallback's order, and the rest."""

    fallback: Fallback
    asked: tuple[PoolCandidate, ...]
    rest: tuple[PoolCandidate, ...]

    @classmethod
    def of(
        cls,
        pool: CandidatePool,
        fallback: Fallback,
        *,
        limit: int,
        per_stream: int | None = None,
        streams: bool = False,
    ) -> Shortlist:
        """The ``limit`` best of the pool, and of each stream (document type) at most ``per_stream``. With ``streams``
        each stream gives its best in turn, so that all have a like share."""
        taken: Counter[str] = Counter()
        asked: list[PoolCandidate] = []
        rest: list[PoolCandidate] = []
        ordered = sorted(pool.candidates, key=lambda c: -fallback.probabilities[c.candidate_id])
        for candidate in interleaved(ordered, lambda c: stream_of(pool, c)) if streams else ordered:
            stream = stream_of(pool, candidate)
            is_full = per_stream is not None and taken[stream] >= per_stream
            if is_full or len(asked) >= limit:
                rest.append(candidate)
                continue
            taken[stream] += 1
            asked.append(candidate)
        return cls(fallback, tuple(asked), tuple(rest))

    def beyond(self) -> list[Verdict]:
        """Verdicts of the rest: rejected on record, or for a person where the fallback would accept."""
        return [self._passed_over(candidate) for candidate in self.rest]

    def _passed_over(self, candidate: PoolCandidate) -> Verdict:
        probability = self.fallback.probabilities[candidate.candidate_id]
        verdict = Verdict(
            candidate_id=candidate.candidate_id,
            role=Role.DISCARDED,
            reason=f"not among the {len(self.asked)} candidates that went to the model (p = {probability:.2f})",
            decided_by=_PREFILTER,
            probability=probability,
        )
        is_likely = probability >= self.fallback.bars.accept
        return verdict.for_person("likely, but no model read it") if is_likely else verdict


def short_ids(candidates: Sequence[PoolCandidate]) -> dict[str, PoolCandidate]:
    """``id0``, ``id1`` ...: never bare integers, which models mix up with scores."""
    return {f"id{index}": candidate for index, candidate in enumerate(candidates)}


def one_line(text: str) -> str:
    """A model's sentence on one line."""
    return " ".join(text.split())


def as_json(value: object) -> str:
    """Compact JSON of an artefact."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
