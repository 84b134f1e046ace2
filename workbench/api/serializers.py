"""Shapes of the API. They read and check form; the services decide."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from arbitration.contracts import DecidedBy
from arbitration.questions.assisted import QuestionEdits
from arbitration.strategies.multi_criteria import Rubric
from workbench.documents.models import Collection, Document
from workbench.questions.cards import is_hidden_from, item_of, may_decide
from workbench.questions.forms import MOST_KEYWORDS
from workbench.questions.models import Candidate, RoleChoice, Run
from workbench.questions.records import anchor_of, candidate_role, context_of
from workbench.questions.rubrics import MOST_CRITERIA
from workbench.questions.services import MAX_QUESTION_CHARACTERS
from workbench.review.models import ReasonCode, Review, ReviewAction
from workbench.review.selectors import is_hidden


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
            "section_depth", "passage_count", "language", "created_at", "finished_at",
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


class AskSerializer(serializers.Serializer[Any]):
    """A question of a document, or of the whole collection."""

    collection = serializers.SlugField()
    document = serializers.IntegerField(required=False, allow_null=True, default=None, min_value=1)
    text = serializers.CharField(max_length=MAX_QUESTION_CHARACTERS)
    strategy = serializers.CharField(max_length=40, required=False, default="", allow_blank=True)
    use_cache = serializers.BooleanField(required=False, default=True)
    follow_references = serializers.BooleanField(required=False, default=False)
    keywords = KeywordsSerializer(required=False)
    criteria = serializers.ListField(
        child=CriterionSerializer(),
        required=False,
        min_length=1,
        max_length=MOST_CRITERIA,
        help_text="For multi-criteria-2 alone: criteria of the caller's own instead of inferred ones.",
    )

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


class RunSerializer(serializers.ModelSerializer[Run]):
    """A run: one question answered once by one strategy."""

    collection = serializers.SlugRelatedField("slug", read_only=True)
    question = serializers.CharField(source="question.text", read_only=True)
    document = serializers.IntegerField(source="question.document_id", read_only=True, allow_null=True)

    class Meta:
        model = Run
        fields = [
            "id", "collection", "document", "question", "strategy", "status", "review_state", "methods_run",
            "methods_skipped", "skipped_reasons", "not_found", "not_found_reason", "confidence", "needs_person",
            "failure_reason", "llm_call_count", "cost", "elapsed_ms", "created_at", "finished_at",
        ]  # fmt: skip
        read_only_fields = fields


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
    needs_person = serializers.BooleanField()
    needs_person_reasons = serializers.ListField(child=serializers.CharField())
    injection_suspected = serializers.BooleanField()
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


class CandidateSerializer(serializers.ModelSerializer[Candidate]):
    """A candidate with how it was found, the machine's word and the people's. While a reviewer must decide blind,
    ``verdict`` and ``effective_role`` are null for them."""

    anchor = serializers.SerializerMethodField()
    context = serializers.SerializerMethodField()
    effective_role = serializers.SerializerMethodField()
    verdict = serializers.SerializerMethodField()
    snippet = serializers.SerializerMethodField()
    text = serializers.SerializerMethodField()
    is_erased = serializers.SerializerMethodField()
    reviews = ReviewSerializer(many=True, read_only=True)

    class Meta:
        model = Candidate
        fields = [
            "id", "run", "document", "candidate_id", "anchor", "context", "section_title", "breadcrumb", "methods",
            "ranks", "scores", "whys", "matched_keywords", "rrf_score", "rrf_rank", "snippet", "text",
            "is_erased", "effective_role", "verdict", "reviews",
        ]  # fmt: skip
        read_only_fields = fields

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
        return None if self._is_hidden(candidate) else candidate_role(candidate)

    def _is_hidden(self, candidate: Candidate) -> bool:
        """Whether the caller must decide before they see the machine's word."""
        user = self.context["request"].user if "request" in self.context else None
        if user is None or not is_hidden(getattr(candidate, "queue_item", None)):
            return False
        reviewer = user if may_decide(run=candidate.run, user=user) else None
        return is_hidden_from(item_of(candidate), reviewer=reviewer)

    @extend_schema_field(VerdictSerializer(allow_null=True))
    def get_verdict(self, candidate: Candidate) -> dict[str, Any] | None:
        """The machine's word; null while the run goes on."""
        verdict = getattr(candidate, "verdict", None)
        if verdict is None or self._is_hidden(candidate):
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
            "needs_person": verdict.needs_person,
            "needs_person_reasons": verdict.needs_person_reasons,
            "injection_suspected": verdict.injection_suspected,
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
