"""``multi-criteria``: relevance is not all you need (REBEL; engines.md, section 5).

The model returns scores; the composite, relevance + sum(w_i * property_i), is computed here and every term of
it is on the verdict. One turn has five fixed properties; two turns infer the criteria for the question first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from arbitration.contracts import DecidedBy, Role
from arbitration.errors import LLMFailure, StrategyUnavailable
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.prompting import RenderedPrompt, fence, load_prompt
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
from arbitration.strategies.shortlist import (
    Fallback,
    Shortlist,
    StrategyOptions,
    one_line,
    read_options,
    short_ids,
)

ONE_TURN, RUBRIC, RANKED = "multi-criteria", "multi-criteria-rubric", "multi-criteria-ranked"
PROPERTIES = ("depth", "diversity", "clarity", "authoritativeness", "recency")
AUTHORITY = "authoritativeness"
DEFAULT_WEIGHT = 0.5
RELEVANCE_FLOOR = 3
_TOP_RELEVANCE, _TOP_PROPERTY = 10, 5


class Criterion(BaseModel):
    """One secondary criterion, scored 0 to 5; ``zero`` and ``five`` say what the ends mean."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1)
    definition: str
    zero: str
    five: str
    weight: float = Field(ge=0.0, le=1.0)


class Rubric(BaseModel):
    """The criteria inferred for one question; stored, shown, and editable before a re-run."""

    model_config = ConfigDict(extra="forbid")

    criteria: list[Criterion] = Field(min_length=1, max_length=8)


class FixedAssessment(BaseModel):
    """What the model says of one passage in one turn; the reasoning comes before the scores."""

    model_config = ConfigDict(extra="forbid")

    candidate_id: str
    reasoning: str
    relevance: int = Field(ge=0, le=10)
    depth: int = Field(ge=0, le=5)
    diversity: int = Field(ge=0, le=5)
    clarity: int = Field(ge=0, le=5)
    authoritativeness: int = Field(ge=0, le=5)
    recency: int = Field(ge=0, le=5)

    def properties(self) -> dict[str, float]:
        """Property scores by name."""
        return {name: float(getattr(self, name)) for name in PROPERTIES}


class FixedAssessments(BaseModel):
    """One assessment per passage."""

    model_config = ConfigDict(extra="forbid")

    assessments: list[FixedAssessment]


class CriterionScore(BaseModel):
    """The score of one inferred criterion."""

    model_config = ConfigDict(extra="forbid")

    criterion: str
    score: int = Field(ge=0, le=5)


class InferredAssessment(BaseModel):
    """What the model says of one passage under an inferred rubric."""

    model_config = ConfigDict(extra="forbid")

    candidate_id: str
    reasoning: str
    relevance: int = Field(ge=0, le=10)
    scores: list[CriterionScore]

    def properties(self) -> dict[str, float]:
        """Criterion scores by name; of a criterion named twice the first counts."""
        found: dict[str, float] = {}
        for item in self.scores:
            found.setdefault(item.criterion.strip().lower(), float(item.score))
        return found


class InferredAssessments(BaseModel):
    """One assessment per passage."""

    model_config = ConfigDict(extra="forbid")

    assessments: list[InferredAssessment]


Assessment = FixedAssessment | InferredAssessment


class MultiCriteriaOptions(StrategyOptions):
    """``weights`` of the fixed properties, 0 to 1, 0 for one that is not named (default .5 each). ``rubric`` is an
    edited rubric for a re-run of two turns; ``relevance_only`` is the ablation that ignores every property."""

    k: int = Field(default=40, ge=1, le=200)
    weights: dict[str, float] = Field(default_factory=lambda: dict.fromkeys(PROPERTIES, DEFAULT_WEIGHT))
    rubric: Rubric | None = None
    relevance_only: bool = False


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

    def decide(self, pool: CandidatePool, *, services: StrategyServices) -> StrategyOutcome:
        """One verdict per candidate. Raises :class:`StrategyUnavailable` without a chat model."""
        calls = Calls(services.require_chat(self.name))
        options = read_options(MultiCriteriaOptions, services)
        unknown = set(options.weights) - set(PROPERTIES)
        if unknown:
            raise StrategyUnavailable(
                f"There is no property {', '.join(sorted(unknown))}; use {', '.join(PROPERTIES)}."
            )
        return _Ranking(pool, options, calls, Fallback.of(pool, services), self.turns).run()


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
    options: MultiCriteriaOptions
    calls: Calls
    fallback: Fallback
    turns: int
    rubric: Rubric | None = None
    composites: dict[str, Composite] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
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
        verdicts = [self._verdict(candidate, failure) for candidate in shortlist.asked]
        verdicts.sort(key=self._sort_key)
        return StrategyOutcome(
            verdicts=(*verdicts, *shortlist.beyond()),
            unknown_ids=tuple(dict.fromkeys(self.unknown)),
            repeated_ids=tuple(dict.fromkeys(self.repeated)),
            undecided_ids=tuple(v.candidate_id for v in verdicts if v.role is None),
            calls=self.calls.records,
            notes=tuple(self.notes),
            artefacts={"rubric": self.rubric.model_dump_json()} if self.rubric else {},
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
        prompt = load_prompt(RUBRIC).render(question=self.pool.question.normalised)
        inferred = self._complete(prompt, Rubric, stage="rubric")
        if isinstance(inferred, LLMFailure):
            return inferred
        self.rubric = inferred.value
        return None

    def _complete(
        self, prompt: RenderedPrompt, schema: type[Parsed], *, stage: str
    ) -> Structured[Parsed] | LLMFailure:
        answered = ask_structured(self.calls, prompt, schema, settings=self.pool.settings, stage=stage)
        if isinstance(answered, LLMFailure):
            self.notes.append(f"model call ({stage}) failed: {answered.outcome}: {answered.message}")
        return answered

    def _assess(self, candidates: Sequence[PoolCandidate], *, stage: str) -> LLMFailure | None:
        by_id = short_ids(candidates)
        prompt = self._prompt(by_id)
        answered: Structured[FixedAssessments] | Structured[InferredAssessments] | LLMFailure = (
            self._complete(prompt, InferredAssessments, stage=stage)
            if self.turns == 2
            else self._complete(prompt, FixedAssessments, stage=stage)
        )
        if isinstance(answered, LLMFailure):
            return answered
        for assessment in answered.value.assessments:
            self._take(assessment, by_id, answered.decided_by)
        return None

    def _prompt(self, by_id: Mapping[str, PoolCandidate]) -> RenderedPrompt:
        passages = [
            {"id": i, "source": fence(self._source(c), label="source"), "text": fence(c.anchor_text, label=i)}
            for i, c in by_id.items()
        ]
        question = self.pool.question.normalised
        if self.rubric is None:
            return load_prompt(ONE_TURN).render(question=question, passages=passages)
        criteria = [criterion.model_dump() for criterion in self.rubric.criteria]
        return load_prompt(RANKED).render(question=question, criteria=criteria, passages=passages)

    def _source(self, candidate: PoolCandidate) -> str:
        """What is known of the document: evidence of authority and recency."""
        document = self.pool.document(candidate.document_id)
        if document is None:
            return candidate.breadcrumb or "unknown"
        parts = (
            document.name,
            document.document_type,
            document.issuer,
            document.effective_date,
            candidate.breadcrumb,
        )
        return "; ".join(part for part in parts if part)

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
            self.reasons[candidate.candidate_id] = one_line(assessment.reasoning) or "no reasoning given"
            self.deciders[candidate.candidate_id] = decider

    def _weights(self) -> dict[str, float]:
        if self.rubric is not None:
            weights = {c.name.strip().lower(): c.weight for c in self.rubric.criteria}
        else:
            weights = {name: self.options.weights.get(name, 0.0) for name in PROPERTIES}
        return dict.fromkeys(weights, 0.0) if self.options.relevance_only else weights

    def _verdict(self, candidate: PoolCandidate, failure: LLMFailure | None) -> Verdict:
        composite = self.composites.get(candidate.candidate_id)
        if composite is None:
            why = f"no verdict: {failure.message}" if failure else "no verdict: left out twice by the model"
            return undecided(candidate, why)
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
        left_out = self.unscored[candidate.candidate_id]
        return (
            verdict.for_person(f"the model gave no score for {', '.join(left_out)}") if left_out else verdict
        )


def rubric_from_json(text: str) -> Rubric:
    """An edited rubric. Raises :class:`StrategyUnavailable` saying what is wrong with it."""
    try:
        return Rubric.model_validate_json(text)
    except ValidationError as error:
        raise StrategyUnavailable(f"The edited rubric is not valid: {error.errors()[0]['msg']}") from error
