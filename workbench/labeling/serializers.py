"""Shapes of the labelling API. Nothing of the machine's verdict is ever among what an annotator reads."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from workbench.runs.models import RoleChoice

from .adjudication import judgments_of
from .models import ElusionSample, GuidelineVersion, Pair, PassKind, Project, Slot
from .reading import pair_reading
from .supply import MAX_PAIRS


class ProjectSerializer(serializers.ModelSerializer[Project]):
    """A pool of pairs and how they are assigned. Shares are in [0, 1]."""

    collection = serializers.SlugRelatedField("slug", read_only=True)

    class Meta:
        model = Project
        fields = [
            "id", "collection", "name", "random_share", "gold_share", "double_share", "keep_waiting", "is_open",
            "created_at",
        ]  # fmt: skip
        read_only_fields = fields


class ProjectCreateSerializer(serializers.Serializer[Any]):
    """A new project."""

    collection = serializers.SlugField()
    name = serializers.CharField(max_length=160)
    random_share = serializers.FloatField(min_value=0, max_value=1, required=False, default=0.2)
    gold_share = serializers.FloatField(min_value=0, max_value=0.5, required=False, default=0.05)
    double_share = serializers.FloatField(min_value=0, max_value=1, required=False, default=0.15)
    keep_waiting = serializers.IntegerField(min_value=0, max_value=MAX_PAIRS, required=False, default=0)


class FillSerializer(serializers.Serializer[Any]):
    """Pairs to add from finished runs, for one question set or for all questions."""

    limit = serializers.IntegerField(min_value=1, max_value=MAX_PAIRS, required=False, default=200)
    question_set = serializers.IntegerField(min_value=1, required=False, allow_null=True, default=None)


class ElusionDrawSerializer(serializers.Serializer[Any]):
    """A random sample of discarded passages to draw: for one question set or for all questions."""

    size = serializers.IntegerField(min_value=1, max_value=MAX_PAIRS, required=False, default=100)
    question_set = serializers.IntegerField(min_value=1, required=False, allow_null=True, default=None)


class ElusionSampleSerializer(serializers.ModelSerializer[ElusionSample]):
    """The sample drawn: ``drawn`` distinct pairs out of ``population`` discarded pairs."""

    drawn = serializers.IntegerField(source="pairs.count", read_only=True)

    class Meta:
        model = ElusionSample
        fields = ["id", "project", "question_set", "population", "drawn", "created_at"]
        read_only_fields = fields


class SupplySerializer(serializers.Serializer[Any]):
    """How many open pairs to maintain; 0 turns this off."""

    keep_waiting = serializers.IntegerField(min_value=0, max_value=MAX_PAIRS)


class OpenSerializer(serializers.Serializer[Any]):
    """Whether a project is open for labelling."""

    is_open = serializers.BooleanField()


class SuppliedSerializer(serializers.Serializer[Any]):
    """Pairs added. ``double`` of them go to two people; ``known`` existed already."""

    added = serializers.IntegerField()
    double = serializers.IntegerField()
    known = serializers.IntegerField()


class GuidelineSerializer(serializers.ModelSerializer[GuidelineVersion]):
    """A version of a collection's guidelines."""

    class Meta:
        model = GuidelineVersion
        fields = ["id", "number", "body", "created_at"]
        read_only_fields = fields


class GuidelineWriteSerializer(serializers.Serializer[Any]):
    """A new version of the guidelines."""

    body = serializers.CharField(max_length=20_000)


class PassageLineSerializer(serializers.Serializer[Any]):
    """A line of the document. ``is_passage`` marks the lines to judge."""

    page = serializers.IntegerField(source="page_num")
    line = serializers.IntegerField(source="line_num")
    text = serializers.CharField()
    is_passage = serializers.BooleanField(source="is_marked")


class PassageSerializer(serializers.Serializer[Any]):
    """A passage with its context. ``lines`` is empty if the text was erased with its document."""

    breadcrumb = serializers.ListField(child=serializers.CharField())
    lines = PassageLineSerializer(source="view.lines", many=True)


class PairSerializer(serializers.ModelSerializer[Pair]):
    """A question and a passage with its context, as shown to annotators."""

    document_name = serializers.CharField(source="document.name", read_only=True)
    passage = serializers.SerializerMethodField()

    class Meta:
        model = Pair
        fields = [
            "id", "question", "document", "document_name", "page_start", "line_start", "page_end", "line_end",
            "passage",
        ]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(PassageSerializer)
    def get_passage(self, pair: Pair) -> dict[str, Any]:
        """Read from the document: nothing of its text is kept with the pair."""
        return dict(PassageSerializer(pair_reading(pair)).data)


class DeskSerializer(serializers.ModelSerializer[Slot]):
    """A pair reserved for the caller. It does not reveal whether the answer is known or whether someone else also gets
    the pair."""

    project = serializers.IntegerField(source="pair.project_id", read_only=True)
    pair = PairSerializer(read_only=True)

    class Meta:
        model = Slot
        fields = ["id", "project", "pair", "state", "role", "held_until"]
        read_only_fields = fields


class RoleSerializer(serializers.Serializer[Any]):
    """An annotator's judgment."""

    role = serializers.ChoiceField(choices=RoleChoice.choices)


class PassSerializer(serializers.Serializer[Any]):
    """Reason for skipping a pair."""

    kind = serializers.ChoiceField(choices=PassKind.choices)


class DisputeListSerializer(serializers.ModelSerializer[Pair]):
    """A pair that needs a third person."""

    collection = serializers.SlugRelatedField("slug", read_only=True)

    class Meta:
        model = Pair
        fields = ["id", "collection", "project", "question", "document", "state"]
        read_only_fields = fields


class DisputeSerializer(PairSerializer):
    """The pair and the roles given, without names."""

    judgments = serializers.SerializerMethodField()

    class Meta(PairSerializer.Meta):
        fields = [*PairSerializer.Meta.fields, "state", "judgments"]
        read_only_fields = fields

    @extend_schema_field(serializers.ListField(child=serializers.ChoiceField(choices=RoleChoice.choices)))
    def get_judgments(self, pair: Pair) -> list[str]:
        """Two of a disputed pair, one or none of an unclear one, in an order that says nothing."""
        return [str(place.role) for place in judgments_of(pair)]


class AdjudicateSerializer(RoleSerializer):
    """The third person's role and reason."""

    comment = serializers.CharField(max_length=2000, required=False, default="", allow_blank=True)


class SetAsideSerializer(serializers.Serializer[Any]):
    """Why the role of a pair cannot be determined."""

    comment = serializers.CharField(max_length=2000)


class IntervalSerializer(serializers.Serializer[Any]):
    """A figure with its 95 % confidence interval and number of pairs; null if there is no data."""

    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()


class PeopleSerializer(serializers.Serializer[Any]):
    """Agreement of two people on the pairs that both judged."""

    first = serializers.CharField()
    second = serializers.CharField()
    percent = IntervalSerializer()
    kappa = IntervalSerializer()


class ModelAgreementSerializer(serializers.Serializer[Any]):
    """Agreement of a model with people. ``is_blind`` if they had not seen its verdict."""

    model = serializers.CharField()
    is_blind = serializers.BooleanField()
    percent = IntervalSerializer()
    kappa = IntervalSerializer()
    alpha = IntervalSerializer()


class AgreementSerializer(serializers.Serializer[Any]):
    """Agreement between the people of a collection, and between models and people."""

    percent = IntervalSerializer()
    alpha = IntervalSerializer(help_text="Krippendorff's alpha, ordinal over the roles.")
    people = PeopleSerializer(many=True)
    models = ModelAgreementSerializer(many=True)
