"""The rubrics of ``multi-criteria`` and what the model says under them, as they travel and are stored."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator

from arbitration.strategies.judgements import everything_is_asked_for

PROPERTIES = ("depth", "diversity", "clarity", "authoritativeness", "recency")


class RelevanceScale(BaseModel):
    """What relevance to one question means at five of its grades."""

    model_config = ConfigDict(extra="forbid")

    zero: str
    three: str
    six: str
    eight: str
    ten: str


#: The scale of any question, where none was inferred.
COMMON_SCALE = RelevanceScale(
    zero="has nothing to do with the question",
    three="the same subject",
    six="needed to understand the answer",
    eight="states the main part of the answer",
    ten="states the complete answer",
)


class Criterion(BaseModel):
    """One secondary criterion, scored 0 to 5; ``zero`` and ``five`` say what the ends mean."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1)
    definition: str
    zero: str
    five: str
    weight: float = Field(ge=0.0, le=1.0)


class Rubric(BaseModel):
    """The criteria inferred for one question, and what relevance means to it; stored, shown, and editable before a
    re-run. Without ``relevance`` the common scale holds; without criteria relevance alone ranks."""

    model_config = ConfigDict(extra="forbid")

    relevance: RelevanceScale | None = None
    criteria: list[Criterion] = Field(default_factory=list, max_length=8)

    @model_validator(mode="after")
    def _says_something(self) -> Rubric:
        if not self.criteria and self.relevance is None:
            raise ValueError("a rubric names at least one criterion")
        return self


class InferredRubric(BaseModel):
    """What the first of two turns is asked for."""

    model_config = ConfigDict(extra="forbid")

    relevance: RelevanceScale
    criteria: list[Criterion] = Field(min_length=1, max_length=8)


class InferredScale(BaseModel):
    """What the first of two turns is asked for where relevance alone ranks."""

    model_config = ConfigDict(extra="forbid")

    relevance: RelevanceScale


class Assessed(BaseModel):
    """What the model says of one passage: reasoning and quotation before any score."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=everything_is_asked_for)

    candidate_id: str
    reasoning: str
    quote: str = ""
    relevance: int = Field(ge=0, le=10)


class FixedAssessment(Assessed):
    """What the model says of one passage in one turn."""

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


class InferredAssessment(Assessed):
    """What the model says of one passage under an inferred rubric."""

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


class RelevanceAssessment(Assessed):
    """What the model says of one passage where relevance alone ranks."""

    def properties(self) -> dict[str, float]:
        """None are scored."""
        return {}


class RelevanceAssessments(BaseModel):
    """One assessment per passage."""

    model_config = ConfigDict(extra="forbid")

    assessments: list[RelevanceAssessment]


Assessment = FixedAssessment | InferredAssessment | RelevanceAssessment
