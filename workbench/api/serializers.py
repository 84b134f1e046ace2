"""Shapes of the API. They read and check form; the services decide."""

from __future__ import annotations

import copy
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_field
from pydantic import ValidationError
from rest_framework import serializers

from arbitration.contracts import DecidedBy
from arbitration.questions.assisted import QuestionEdits
from arbitration.settings import METHODS
from arbitration.strategies.rubrics import Rubric
from workbench.documents.models import Collection, Document
from workbench.documents.narrowing import ScopeFilter
from workbench.review.blindness import Sight, is_withheld
from workbench.review.cards import item_of
from workbench.review.models import ReasonCode, Review, ReviewAction
from workbench.review.results import candidate_role
from workbench.runs.forms import MOST_KEYWORDS
from workbench.runs.models import Candidate, RoleChoice, Run, RunStatus
from workbench.runs.records import anchor_of, context_of
from workbench.runs.rubrics import MOST_CRITERIA
from workbench.runs.services import MAX_QUESTION_CHARACTERS


class CollectionSerializer(serializers.ModelSerializer[Collection]):
    """A collection the caller belongs to."""

    class Meta:
        model = Collection
        fields = ["id", "slug", "name", "description", "language", "default_strategy", "created_at"]
        read_only_fields = ["id", "created_at"]


class CollectionCreateSerializer(serializers.Serializer[Any]):
    """A new collection."""

    name = serializers.CharField(max_length=160)
    slug = serializers.SlugField(max_length=80, required=False)
    description = serializers.CharField(max_length=2000, required=False, default="", allow_blank=True)


class DocumentSerializer(serializers.ModelSerializer[Document]):
    """A document and where it is on its way."""

    collection = serializers.SlugRelatedField("slug", read_only=True)

    class Meta:
        model = Document
        fields = [
            "id", "collection", "name", "title", "kind", "size", "sha256", "status", "stage_done", "stage_total",
            "failure_code", "failure_reason", "warnings", "page_count", "line_count", "section_count",
            "section_depth", "passage_count", "language", "document_type", "issuer",
            "jurisdiction", "effective_date", "tags", "created_at", "finished_at",
        ]  # fmt: skip
        read_only_fields = fields


class DocumentUploadSerializer(serializers.Serializer[Any]):
    """A file for a collection."""

    collection = serializers.SlugField()
    file = serializers.FileField()


class CriterionSerializer(serializers.Serializer[Any]):
    """A criterion that passages are scored by, 0 to 5."""

    name = serializers.CharField(max_length=60)
    definition = serializers.CharField(max_length=400, allow_blank=True, default="")
    zero = serializers.CharField(max_length=200, allow_blank=True, default="")
    five = serializers.CharField(max_length=200, allow_blank=True, default="")
    weight = serializers.FloatField(min_value=0, max_value=1)


class KeywordsSerializer(serializers.Serializer[Any]):
    """What a person searches by instead of the keywords of the parser: at least one."""

    primary = serializers.ListField(
        child=serializers.CharField(max_length=200), required=False, max_length=MOST_KEYWORDS
    )
    secondary = serializers.ListField(
        child=serializers.CharField(max_length=200), required=False, max_length=MOST_KEYWORDS
    )


class ScopeFilterSerializer(serializers.Serializer[Any]):
    """Which documents of a collection are asked: any value of a list will do, all lists and dates must hold. A
    document that lacks a fact is left out where that fact narrows."""

    document_types = serializers.ListField(child=serializers.CharField(max_length=80), required=False)
    jurisdictions = serializers.ListField(child=serializers.CharField(max_length=80), required=False)
    languages = serializers.ListField(child=serializers.CharField(max_length=80), required=False)
    tags = serializers.ListField(child=serializers.CharField(max_length=80), required=False)
    effective_from = serializers.DateField(required=False)
    effective_to = serializers.DateField(required=False)


class AskSerializer(serializers.Serializer[Any]):
    """A question of a document, or of the whole collection."""

    collection = serializers.SlugField()
    document = serializers.IntegerField(required=False, allow_null=True, default=None, min_value=1)
    text = serializers.CharField(max_length=MAX_QUESTION_CHARACTERS)
    strategy = serializers.CharField(max_length=40, required=False, default="", allow_blank=True)
    use_cache = serializers.BooleanField(required=False, default=True)
    follow_references = serializers.BooleanField(required=False, default=False)
    filters = ScopeFilterSerializer(required=False)
    methods = serializers.ListField(
        child=serializers.ChoiceField(choices=METHODS),
        required=False,
        default=list,
        max_length=len(METHODS),
        help_text="The only methods that search. Empty: the rules choose.",
    )
    options = serializers.DictField(
        required=False,
        help_text='Settings of the strategy for this question, such as {"n": 0.5, "k": 10} of consensus.',
    )
    keywords = KeywordsSerializer(required=False)
    criteria = serializers.ListField(
        child=CriterionSerializer(),
        required=False,
        min_length=1,
        max_length=MOST_CRITERIA,
        help_text="For multi-criteria-2 alone: criteria of the caller's own instead of inferred ones.",
    )

    def validate_filters(self, given: dict[str, Any]) -> ScopeFilter:
        """Filters as a question takes them."""
        try:
            return ScopeFilter(**given)
        except ValidationError as error:
            raise serializers.ValidationError([problem["msg"] for problem in error.errors()]) from error

    def validate_keywords(self, keywords: dict[str, list[str]]) -> QuestionEdits:
        """Keywords as a run takes them."""
        if not any(keywords.values()):
            raise serializers.ValidationError(_("Write at least one keyword."))
        return QuestionEdits.model_validate(keywords)

    def validate_criteria(self, criteria: list[dict[str, Any]]) -> Rubric:
        """A rubric: each criterion once."""
        if len({criterion["name"].casefold() for criterion in criteria}) < len(criteria):
            raise serializers.ValidationError(_("Name each criterion once."))
        return Rubric.model_validate({"criteria": criteria})


class EstimateQuerySerializer(serializers.Serializer[Any]):
    """The question to come, without its words: where, by which strategy, with which of its settings."""

    collection = serializers.SlugField()
    strategy = serializers.CharField(max_length=40, required=False, default="", allow_blank=True)
    k = serializers.IntegerField(required=False)
    n = serializers.FloatField(required=False)
    floor = serializers.FloatField(required=False)
    order = serializers.CharField(required=False, max_length=20)
    score = serializers.CharField(required=False, max_length=20)
    relevance_only = serializers.BooleanField(required=False)


class EstimateSerializer(serializers.Serializer[Any]):
    """The calls to a language model that a question takes at most, for the most passages that a search brings.
    ``cost`` in USD, null where the price of the model is unknown."""

    strategy = serializers.CharField()
    candidates = serializers.IntegerField()
    calls = serializers.IntegerField(source="plan.calls")
    input_tokens = serializers.IntegerField(source="plan.input_tokens")
    output_tokens = serializers.IntegerField(source="plan.output_tokens")
    cost = serializers.FloatField(allow_null=True)


def sight_in(context: dict[str, Any]) -> Sight:
    """What the caller may see; made once an answer. Every answer is somebody's: a serializer without a request is a
    mistake, not a way around."""
    if "sight" not in context:
        context["sight"] = Sight(context["request"].user)
    sight: Sight = context["sight"]
    return sight


#: What a run came to: null while a card of it is hidden from the caller.
_OUTCOME = (
    *("not_found", "not_found_reason", "no_strong_match", "confidence", "needs_person"),
    *("llm_call_count", "cost", "unpriced_call_count", "elapsed_ms"),
)


class RunSerializer(serializers.ModelSerializer[Run]):
    """A run: one question answered once by one strategy. While a card of it waits for the caller's blind decision,
    ``is_withheld`` is true and what the run came to is null: ``not_found``, ``not_found_reason``,
    ``no_strong_match``, ``confidence``, ``needs_person``, the calls of models, their ``cost`` and ``elapsed_ms``."""

    collection = serializers.SlugRelatedField("slug", read_only=True)
    question = serializers.CharField(source="question.text", read_only=True)
    document = serializers.IntegerField(source="question.document_id", read_only=True, allow_null=True)
    filters = serializers.JSONField(source="question.filters", read_only=True, allow_null=True)
    methods = serializers.ListField(
        source="settings.forced_methods", child=serializers.CharField(), read_only=True, default=list
    )
    is_withheld = serializers.SerializerMethodField()

    class Meta:
        model = Run
        fields = [
            "id", "collection", "document", "filters", "methods", "question", "strategy", "status", "review_state",
            "text_changed_at", "methods_run", "methods_skipped", "skipped_reasons", "not_found", "not_found_reason",
            "no_strong_match", "confidence", "needs_person", "failure_reason", "llm_call_count", "cost",
            "unpriced_call_count", "elapsed_ms", "is_withheld", "created_at", "finished_at",
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = {name: {"allow_null": True} for name in _OUTCOME}

    def get_is_withheld(self, run: Run) -> bool:
        """Whether what the run came to is hidden from the caller."""
        known: bool | None = getattr(run, "is_withheld", None)  # a queryset may have asked for all its rows
        if known is None:
            return is_withheld(user=self.context["request"].user, run=run)
        if not known and run.status != RunStatus.DONE and "request" in self.context:
            return sight_in(self.context).hides(item=None, run=run)
        return known

    def to_representation(self, run: Run) -> dict[str, Any]:
        """Without what the run came to, where that is hidden."""
        shown: dict[str, Any] = super().to_representation(run)
        return shown | dict.fromkeys(_OUTCOME) if shown["is_withheld"] else shown


class AskedSerializer(serializers.Serializer[Any]):
    """The run that answers a question."""

    cached = serializers.BooleanField()
    run = RunSerializer()


class ScopeSerializer(serializers.Serializer[Any]):
    """A span of lines, both ends inclusive, 1-based."""

    page_start = serializers.IntegerField()
    page_end = serializers.IntegerField()
    line_start = serializers.IntegerField()
    line_end = serializers.IntegerField()
    section_id = serializers.CharField(allow_null=True)


class DecidedBySerializer(serializers.Serializer[Any]):
    """Who or what decided."""

    kind = serializers.CharField()
    name = serializers.CharField()
    version = serializers.CharField(allow_null=True)


class VerdictSerializer(serializers.Serializer[Any]):
    """The machine's word."""

    role = serializers.ChoiceField(choices=RoleChoice.choices, allow_null=True)
    reason = serializers.CharField()
    decided_by = DecidedBySerializer()
    probability = serializers.FloatField(allow_null=True)
    model_confidence = serializers.FloatField(
        allow_null=True, help_text="As the language model says; ``probability`` is ours, and calibrated."
    )
    needs_person = serializers.BooleanField()
    needs_person_reasons = serializers.ListField(child=serializers.CharField())
    injection_suspected = serializers.BooleanField()
    injection_words = serializers.ListField(
        child=serializers.CharField(),
        help_text="The words of the passage that raise the suspicion. Document text.",
    )
    counter_argument = serializers.CharField()
    terms = serializers.DictField(child=serializers.FloatField())


class ReviewSerializer(serializers.ModelSerializer[Review]):
    """A person's decision."""

    reviewer = serializers.CharField(source="reviewer.name", read_only=True)
    reason_code = serializers.CharField(read_only=True, help_text="Why, for an override; else empty.")

    class Meta:
        model = Review
        fields = [
            "id", "run", "candidate", "reviewer", "action", "role", "machine_role", "reason_code", "comment",
            "supersedes", "created_at",
        ]  # fmt: skip
        read_only_fields = fields


class ReviewCreateSerializer(serializers.Serializer[Any]):
    """A decision on a candidate. ``seen_review`` is the decision the caller saw, if any."""

    candidate = serializers.IntegerField(min_value=1)
    action = serializers.ChoiceField(
        choices=[ReviewAction.APPROVE, ReviewAction.OVERRIDE, ReviewAction.UNSURE]
    )
    role = serializers.ChoiceField(choices=RoleChoice.choices, required=False, allow_null=True, default=None)
    reason_code = serializers.ChoiceField(
        choices=ReasonCode.choices, required=False, allow_blank=True, default=""
    )
    comment = serializers.CharField(max_length=4000, required=False, allow_blank=True, default="")
    seen_review = serializers.IntegerField(required=False, allow_null=True, default=None, min_value=1)


#: What a hidden candidate shows instead of who found it, how well, and what was said of it.
_HIDDEN: dict[str, Any] = {
    "methods": [],
    "ranks": {},
    "scores": {},
    "whys": {},
    "rrf_score": None,
    "rrf_rank": None,
    "effective_role": None,
    "verdict": None,
    "reviews": [],
}


class CandidateSerializer(serializers.ModelSerializer[Candidate]):
    """A candidate with how it was found, the machine's word and the people's. While a reviewer must decide blind,
    ``is_hidden`` is true and what would tell its role or rank is null or empty for them."""

    anchor = serializers.SerializerMethodField()
    context = serializers.SerializerMethodField()
    effective_role = serializers.SerializerMethodField()
    verdict = serializers.SerializerMethodField()
    snippet = serializers.SerializerMethodField()
    text = serializers.SerializerMethodField()
    is_erased = serializers.SerializerMethodField()
    reviews = ReviewSerializer(many=True, read_only=True)
    is_hidden = serializers.SerializerMethodField()

    class Meta:
        model = Candidate
        fields = [
            "id", "run", "document", "candidate_id", "anchor", "context", "section_title", "breadcrumb", "methods",
            "ranks", "scores", "whys", "matched_keywords", "rrf_score", "rrf_rank", "snippet", "text",
            "is_erased", "is_hidden", "effective_role", "verdict", "reviews",
        ]  # fmt: skip
        read_only_fields = fields

    def to_representation(self, candidate: Candidate) -> dict[str, Any]:
        """Without what the machine and others said of it, where that is hidden."""
        shown: dict[str, Any] = super().to_representation(candidate)
        return shown | copy.deepcopy(_HIDDEN) if shown["is_hidden"] else shown

    def get_is_hidden(self, candidate: Candidate) -> bool:
        """Whether the caller must decide before they see the machine's role."""
        return sight_in(self.context).hides(item=item_of(candidate), run=candidate.run)

    @extend_schema_field(ScopeSerializer)
    def get_anchor(self, candidate: Candidate) -> dict[str, Any]:
        """Where the evidence stands."""
        return anchor_of(candidate).model_dump()

    @extend_schema_field(ScopeSerializer)
    def get_context(self, candidate: Candidate) -> dict[str, Any]:
        """What is shown around it."""
        return context_of(candidate).model_dump()

    @extend_schema_field(serializers.ChoiceField(choices=RoleChoice.choices, allow_null=True))
    def get_effective_role(self, candidate: Candidate) -> str | None:
        """The person's role, else the machine's."""
        return candidate_role(candidate)

    @extend_schema_field(VerdictSerializer(allow_null=True))
    def get_verdict(self, candidate: Candidate) -> dict[str, Any] | None:
        """The machine's word; null while the run goes on."""
        verdict = getattr(candidate, "verdict", None)
        if verdict is None:
            return None
        decided_by = DecidedBy(
            kind=verdict.decided_by_kind,
            name=verdict.decided_by_name,
            version=verdict.decided_by_version or None,
        )
        return {
            "role": verdict.role,
            "reason": verdict.reason,
            "decided_by": decided_by.model_dump(),
            "probability": verdict.probability,
            "model_confidence": verdict.model_confidence,
            "needs_person": verdict.needs_person,
            "needs_person_reasons": verdict.needs_person_reasons,
            "injection_suspected": verdict.injection_suspected,
            "injection_words": verdict.injection_words,
            "counter_argument": verdict.counter_argument,
            "terms": verdict.terms,
        }

    def get_is_erased(self, candidate: Candidate) -> bool:
        """Whether its text was erased with its document; snippet and text are empty then."""
        return not hasattr(candidate, "text")

    def get_snippet(self, candidate: Candidate) -> str:
        """Three to five lines of it."""
        return candidate.text.snippet if hasattr(candidate, "text") else ""

    def get_text(self, candidate: Candidate) -> str:
        """Its text with the context."""
        return candidate.text.context if hasattr(candidate, "text") else ""
