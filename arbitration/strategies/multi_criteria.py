"""``multi-criteria``: relevance is not all you need (REBEL; engines.md, section 5).

The model returns scores; the composite, relevance + sum(w_i * property_i), is computed here and every term of
it is on the verdict. Relevance gives the role, the composite the order. One turn has five fixed properties; two turns
first infer the criteria for the question, and what relevance to it means.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import Field

from arbitration.contracts import DecidedBy, QuoteCheck, Role
from arbitration.errors import LLMFailure, StrategyUnavailable
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.prompting import RenderedPrompt, fence, load_prompt
from arbitration.shown import language_name, passage_values, places_for_ids, shuffled
from arbitration.strategies.base import (
    Calls,
    Parsed,
    Requirement,
    StrategyOutcome,
    StrategyServices,
    Structured,
    Verdict,
    ask_structured,
    undecided,
)
from arbitration.strategies.judgements import quote_check, with_quote
from arbitration.strategies.rubrics import (
    COMMON_SCALE,
    PROPERTIES,
    Assessment,
    Criterion,
    FixedAssessments,
    InferredAssessments,
    InferredRubric,
    InferredScale,
    RelevanceAssessments,
    Rubric,
)
from arbitration.strategies.shortlist import (
    MOST_SEED,
    Fallback,
    Shortlist,
    StrategyOptions,
    as_json,
    one_line,
    read_options,
    short_ids,
)
from arbitration.strategies.stand_in import StandIn, StandInReport

ONE_TURN, RUBRIC, RANKED = "multi-criteria", "multi-criteria-rubric", "multi-criteria-ranked"
SCALE, RELEVANCE = "multi-criteria-relevance-rubric", "multi-criteria-relevance"
AUTHORITY = "authoritativeness"
DEFAULT_WEIGHT = 0.5
RELEVANCE_FLOOR = 3
_TOP_RELEVANCE, _TOP_PROPERTY = 10, 5


class MultiCriteriaOptions(StrategyOptions):
    """``weights`` of the fixed properties, 0 to 1, 0 for one that is not named (default .5 each). ``rubric`` is an
    edited rubric for a re-run of two turns; ``relevance_only`` is the ablation: no criterion is inferred, shown or
    scored. ``seed`` gives the order inside a call."""

    k: int = Field(default=40, ge=1, le=200)
    weights: dict[str, float] = Field(default_factory=lambda: dict.fromkeys(PROPERTIES, DEFAULT_WEIGHT))
    rubric: Rubric | None = None
    relevance_only: bool = False
    seed: int = Field(default=0, ge=0, le=MOST_SEED)


@dataclass(frozen=True, slots=True)
class Composite:
    """relevance + sum(weight * property), with its parts."""

    relevance: float
    properties: Mapping[str, float]
    weights: Mapping[str, float]

    @property
    def total(self) -> float:
        """The composite score; properties without a weight count nothing."""
        parts = (self.weights.get(name, 0.0) * score for name, score in self.properties.items())
        return self.relevance + math.fsum(parts)

    @property
    def top(self) -> float:
        """The highest total there can be."""
        return _TOP_RELEVANCE + _TOP_PROPERTY * math.fsum(self.weights.values())

    @property
    def authority(self) -> float:
        """What breaks ties."""
        return self.properties.get(AUTHORITY, 0.0)

    @property
    def role(self) -> Role:
        """Relevance >= 8 primary, 6-7 supporting, 3-5 tangential, < 3 discarded."""
        if self.relevance < RELEVANCE_FLOOR:
            return Role.DISCARDED
        if self.relevance >= 8:
            return Role.PRIMARY
        return Role.SUPPORTING if self.relevance >= 6 else Role.TANGENTIAL

    def terms(self) -> dict[str, float]:
        """Every term of the sum, as reviewers see it."""
        weighted = {
            f"{self.weights.get(n, 0.0):g} x {n}": self.weights.get(n, 0.0) * s
            for n, s in self.properties.items()
        }
        return {"relevance": self.relevance, **weighted, "total": self.total}


def order_key(composite: Composite) -> tuple[float, float]:
    """Sorts by composite, descending, ties to the higher authoritativeness."""
    return (-composite.total, -composite.authority)


@dataclass(frozen=True)
class MultiCriteriaStrategy:
    """Relevance and weighted secondary criteria; ``turns`` 1 = fixed properties, 2 = inferred for the question."""

    name: str
    description: str
    turns: int
    requires: tuple[Requirement, ...] = ("chat",)
    #: The composite is the order of the candidates, whatever their roles (docs/adr/0011).
    orders_by_score: bool = True

    def decide(self, pool: CandidatePool, *, services: StrategyServices) -> StrategyOutcome:
        """One verdict per candidate. Raises :class:`StrategyUnavailable` without a chat model."""
        calls = Calls(services.require_chat(self.name))
        options = read_options(MultiCriteriaOptions, services)
        unknown = set(options.weights) - set(PROPERTIES)
        if unknown:
            raise StrategyUnavailable(
                f"There is no property {', '.join(sorted(unknown))}; use {', '.join(PROPERTIES)}."
            )
        fallback = Fallback.of(pool, services)
        return _Ranking(pool, services, options, calls, fallback, self.turns).run()


MULTI_CRITERIA = MultiCriteriaStrategy(
    "multi-criteria",
    "A model scores relevance and five properties in one call; the composite is computed.",
    1,
)
MULTI_CRITERIA_2 = MultiCriteriaStrategy(
    "multi-criteria-2",
    "A model first infers the criteria that matter for the question, then scores by them.",
    2,
)


@dataclass
class _Ranking:
    pool: CandidatePool
    services: StrategyServices
    options: MultiCriteriaOptions
    calls: Calls
    fallback: Fallback
    turns: int
    rubric: Rubric | None = None
    composites: dict[str, Composite] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    quotes: dict[str, QuoteCheck | None] = field(default_factory=dict)
    deciders: dict[str, DecidedBy] = field(default_factory=dict)
    unscored: dict[str, list[str]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def run(self) -> StrategyOutcome:
        shortlist = Shortlist.of(self.pool, self.fallback, limit=self.options.k)
        failure = self._find_rubric() if self.turns == 2 else None
        if failure is None:
            failure = self._assess(shortlist.asked, stage="arbitrate")
        missing = [c for c in shortlist.asked if c.candidate_id not in self.composites]
        if failure is None and missing:
            self.notes.append(f"{len(missing)} candidates missing from the first answer; asked once more")
            failure = self._assess(missing, stage="repair")
        stand_in = StandIn(self.pool, self.services)
        verdicts = [self._verdict(candidate, failure, stand_in) for candidate in shortlist.asked]
        verdicts.sort(key=self._sort_key)
        artefacts = {"order": as_json({"seed": self.options.seed})}
        if self.rubric:
            artefacts["rubric"] = self.rubric.model_dump_json()
        if failure is not None:
            report = StandInReport.of(verdicts, failure)
            self.notes.append(report.note)
            artefacts |= report.artefact
        return StrategyOutcome(
            verdicts=(*verdicts, *shortlist.beyond()),
            unknown_ids=tuple(dict.fromkeys(self.unknown)),
            repeated_ids=tuple(dict.fromkeys(self.repeated)),
            undecided_ids=tuple(v.candidate_id for v in verdicts if v.role is None),
            calls=self.calls.records,
            notes=tuple(self.notes),
            artefacts=artefacts,
        )

    def _sort_key(self, verdict: Verdict) -> tuple[float, float]:
        composite = self.composites.get(verdict.candidate_id)
        return order_key(composite) if composite else (math.inf, 0.0)

    def _find_rubric(self) -> LLMFailure | None:
        """The edited rubric of a re-run, or one inferred from the question alone."""
        if self.options.rubric is not None:
            self.rubric = self.options.rubric
            self.notes.append("ranked by a rubric that a person edited")
            return None
        question = fence(self.pool.question.normalised, label="question")
        inferred: Structured[InferredScale] | Structured[InferredRubric] | LLMFailure = (
            self._complete(load_prompt(SCALE).render(question=question), InferredScale, stage="rubric")
            if self.options.relevance_only
            else self._complete(load_prompt(RUBRIC).render(question=question), InferredRubric, stage="rubric")
        )
        if isinstance(inferred, LLMFailure):
            return inferred
        self.rubric = Rubric.model_validate(inferred.value.model_dump())
        return None

    @property
    def criteria(self) -> list[Criterion]:
        """The inferred criteria in force."""
        return self.rubric.criteria if self.rubric is not None and not self.options.relevance_only else []

    def _complete(
        self, prompt: RenderedPrompt, schema: type[Parsed], *, stage: str
    ) -> Structured[Parsed] | LLMFailure:
        answered = ask_structured(self.calls, prompt, schema, settings=self.pool.settings, stage=stage)
        if isinstance(answered, LLMFailure):
            self.notes.append(f"model call ({stage}) failed: {answered.outcome}: {answered.message}")
        return answered

    def _assess(self, candidates: Sequence[PoolCandidate], *, stage: str) -> LLMFailure | None:
        question = self.pool.question.normalised
        by_id = short_ids(shuffled(candidates, seed=self.options.seed, question=question))
        prompt = self._prompt(by_id)
        answered: (
            Structured[FixedAssessments]
            | Structured[InferredAssessments]
            | Structured[RelevanceAssessments]
            | LLMFailure
        )
        if prompt.name == RELEVANCE:
            answered = self._complete(prompt, RelevanceAssessments, stage=stage)
        elif prompt.name == RANKED:
            answered = self._complete(prompt, InferredAssessments, stage=stage)
        else:
            answered = self._complete(prompt, FixedAssessments, stage=stage)
        if isinstance(answered, LLMFailure):
            return answered
        for assessment in answered.value.assessments:
            self._take(assessment, by_id, answered.decided_by)
        return None

    def _prompt(self, by_id: Mapping[str, PoolCandidate]) -> RenderedPrompt:
        question = self.pool.question
        asked: dict[str, object] = {
            "question": fence(question.normalised, label="question"),
            "language": language_name(question.language),
            "passages": [passage_values(self.pool, c, label=i) for i, c in by_id.items()],
        }
        scale = (self.rubric.relevance if self.rubric is not None else None) or COMMON_SCALE
        if self.options.relevance_only or (self.rubric is not None and not self.criteria):
            return load_prompt(RELEVANCE).render(relevance=scale.model_dump(), **asked)
        if self.rubric is None:
            return load_prompt(ONE_TURN).render(**asked)
        criteria = [c.model_dump() for c in self.criteria]
        return load_prompt(RANKED).render(criteria=criteria, relevance=scale.model_dump(), **asked)

    def _take(self, assessment: Assessment, by_id: Mapping[str, PoolCandidate], decider: DecidedBy) -> None:
        candidate = by_id.get(assessment.candidate_id.strip())
        if candidate is None:
            self.unknown.append(assessment.candidate_id)
        elif candidate.candidate_id in self.composites:
            self.repeated.append(candidate.candidate_id)
        else:
            weights = self._weights()
            given = assessment.properties()
            properties = {name: given.get(name, 0.0) for name in weights}
            self.unscored[candidate.candidate_id] = [name for name in weights if name not in given]
            self.composites[candidate.candidate_id] = Composite(
                float(assessment.relevance), properties, weights
            )
            reason = places_for_ids(one_line(assessment.reasoning), by_id, self.pool)
            self.reasons[candidate.candidate_id] = reason or "no reasoning given"
            self.quotes[candidate.candidate_id] = quote_check(assessment.quote, candidate)
            self.deciders[candidate.candidate_id] = decider

    def _weights(self) -> dict[str, float]:
        if self.options.relevance_only:
            return {}
        if self.rubric is not None:
            return {c.name.strip().lower(): c.weight for c in self.criteria}
        return {name: self.options.weights.get(name, 0.0) for name in PROPERTIES}

    def _verdict(self, candidate: PoolCandidate, failure: LLMFailure | None, stand_in: StandIn) -> Verdict:
        composite = self.composites.get(candidate.candidate_id)
        if composite is None and failure is not None:
            return stand_in.verdict(candidate, failure)
        if composite is None:
            return undecided(candidate, "no verdict: left out twice by the model")
        verdict = Verdict(
            candidate_id=candidate.candidate_id,
            role=composite.role,
            reason=self.reasons[candidate.candidate_id],
            decided_by=self.deciders[candidate.candidate_id],
            raw_score=composite.total,
            score_scale=f"0-{composite.top:g}",
            normalised_score=min(1.0, composite.total / composite.top),
            terms=composite.terms(),
        )
        verdict = with_quote(verdict, self.quotes[candidate.candidate_id])
        left_out = self.unscored[candidate.candidate_id]
        return (
            verdict.for_person(f"the model gave no score for {', '.join(left_out)}") if left_out else verdict
        )
