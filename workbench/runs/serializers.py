"""Shapes of a question to be asked, in the API. They check form; the services decide."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from pydantic import ValidationError
from rest_framework import serializers

from arbitration.questions.assisted import QuestionEdits
from arbitration.settings import METHODS
from arbitration.strategies.rubrics import Rubric
from workbench.documents.narrowing import MOST_DOCUMENTS, ScopeFilter

from .forms import MOST_KEYWORDS
from .rubrics import MOST_CRITERIA
from .services import MAX_QUESTION_CHARACTERS


class CriterionSerializer(serializers.Serializer[Any]):
    """A criterion that passages are scored on, 0 to 5."""

    name = serializers.CharField(max_length=60)
    definition = serializers.CharField(max_length=400, allow_blank=True, default="")
    zero = serializers.CharField(max_length=200, allow_blank=True, default="")
    five = serializers.CharField(max_length=200, allow_blank=True, default="")
    weight = serializers.FloatField(min_value=0, max_value=1)


class KeywordsSerializer(serializers.Serializer[Any]):
    """Search keywords in place of the parser's: at least one."""

    primary = serializers.ListField(
        child=serializers.CharField(max_length=200), required=False, max_length=MOST_KEYWORDS
    )
    secondary = serializers.ListField(
        child=serializers.CharField(max_length=200), required=False, max_length=MOST_KEYWORDS
    )


class ScopeFilterSerializer(serializers.Serializer[Any]):
    """Which documents of a collection to ask. A document must match at least one value of each list, and all dates.
    Documents without a value for a filtered field are left out. ``documents`` are IDs of documents, each the newest
    version. To ask a single document, use ``document`` instead."""

    documents = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1),
        required=False,
        max_length=MOST_DOCUMENTS,
    )
    document_types = serializers.ListField(child=serializers.CharField(max_length=80), required=False)
    jurisdictions = serializers.ListField(child=serializers.CharField(max_length=80), required=False)
    languages = serializers.ListField(child=serializers.CharField(max_length=80), required=False)
    tags = serializers.ListField(child=serializers.CharField(max_length=80), required=False)
    parties = serializers.ListField(child=serializers.CharField(max_length=160), required=False)
    fields = serializers.DictField(  # type: ignore[assignment]
        child=serializers.ListField(child=serializers.CharField(max_length=160)),
        required=False,
        help_text="Custom field values by field name.",
    )
    effective_from = serializers.DateField(required=False)
    effective_to = serializers.DateField(required=False)


class AskSerializer(serializers.Serializer[Any]):
    """A question about one document or the whole collection."""

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
        help_text="Detectors to use. Empty: the rules choose.",
    )
    options = serializers.DictField(
        required=False,
        help_text='Strategy options for this question, such as {"n": 0.5, "k": 10} for consensus.',
    )
    keywords = KeywordsSerializer(required=False)
    follows = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        max_value=2**63 - 1,
        help_text=(
            "ID of a run in the same collection that this question follows up. The search uses only the words"
            " of this question. Not recorded if an earlier run answers."
        ),
    )
    criteria = serializers.ListField(
        child=CriterionSerializer(),
        required=False,
        min_length=1,
        max_length=MOST_CRITERIA,
        help_text="Only for multi-criteria-2: custom criteria in place of inferred ones.",
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
    """Upper bound on the language model calls of a question, for the largest number of passages a search returns.
    ``cost`` is in USD, or null if the price of the model is unknown."""

    strategy = serializers.CharField()
    candidates = serializers.IntegerField()
    calls = serializers.IntegerField(source="plan.calls")
    input_tokens = serializers.IntegerField(source="plan.input_tokens")
    output_tokens = serializers.IntegerField(source="plan.output_tokens")
    cost = serializers.FloatField(allow_null=True)
