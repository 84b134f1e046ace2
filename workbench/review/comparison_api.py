"""Comparisons of strategies on one question, and evaluations of strategies on labelled sets."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.urls import reverse
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.api.base import ApiViewSet, checked
from workbench.api.conditions import created
from workbench.api.filtering import between_days, by_key, by_person, by_slug, by_word
from workbench.documents.selectors import collection_for, document_for
from workbench.infra.replica import from_replica
from workbench.runs.models import Comparison, EvaluationRun, RoleChoice
from workbench.runs.services import MAX_QUESTION_CHARACTERS

from .comparison import (
    MOST_STRATEGIES,
    ComparedCandidate,
    compared,
    comparison_decide,
    comparison_for,
    comparison_start,
    runs_compared,
)
from .models import ReasonCode
from .serializers import ReviewSerializer


class ComparisonSerializer(serializers.ModelSerializer[Comparison]):
    """One question run with several strategies. ``runs`` are in the order of their IDs."""

    collection = serializers.SlugRelatedField("slug", read_only=True)

    class Meta:
        model = Comparison
        fields = ["id", "collection", "document", "text", "runs", "created_at"]
        read_only_fields = fields


class ComparisonCreateSerializer(serializers.Serializer[Any]):
    """A question and the strategies to compare."""

    collection = serializers.SlugField()
    document = serializers.IntegerField(required=False, allow_null=True, default=None, min_value=1)
    text = serializers.CharField(max_length=MAX_QUESTION_CHARACTERS)
    strategies = serializers.ListField(
        child=serializers.CharField(max_length=40), min_length=2, max_length=MOST_STRATEGIES
    )


class ComparedVerdictSerializer(serializers.Serializer[Any]):
    """The verdict of one strategy on a candidate."""

    role = serializers.ChoiceField(choices=RoleChoice.choices, allow_null=True)
    reason = serializers.CharField()
    probability = serializers.FloatField(allow_null=True)


class ComparedCandidateSerializer(serializers.Serializer[Any]):
    """A candidate with the verdict of each run, or null if the run did not find it. ``decided`` is people's role, or
    empty."""

    candidate_id = serializers.CharField(source="candidate.candidate_id")
    verdicts = serializers.SerializerMethodField()
    decided = serializers.CharField()

    @extend_schema_field(ComparedVerdictSerializer(many=True))
    def get_verdicts(self, row: ComparedCandidate) -> list[dict[str, Any] | None]:
        """In the order of the runs."""
        return row.verdicts


class ComparedSerializer(serializers.Serializer[Any]):
    """The candidates of a comparison, largest disagreement first. ``runs`` are the finished ones."""

    runs = serializers.ListField(child=serializers.IntegerField())
    candidates = ComparedCandidateSerializer(many=True)


class ComparisonDecisionSerializer(serializers.Serializer[Any]):
    """One decision for a candidate in every run."""

    candidate_id = serializers.CharField(max_length=80)
    role = serializers.ChoiceField(choices=RoleChoice.choices)
    reason_code = serializers.ChoiceField(
        choices=ReasonCode.choices, required=False, allow_blank=True, default=""
    )
    comment = serializers.CharField(max_length=4000, required=False, allow_blank=True, default="")


class ComparisonViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[Comparison]):
    """Comparisons, newest first."""

    queryset = Comparison.objects.none()
    serializer_class = ComparisonSerializer
    filters = {
        "collection": by_slug(),
        "document": by_key("document", "ID of the document asked."),
        "asked_by": by_person("requested_by", "Person who asked."),
        **between_days(),
    }
    orderings = ("id", "created_at")
    list = from_replica(mixins.ListModelMixin.list)
    retrieve = from_replica(mixins.RetrieveModelMixin.retrieve)

    def get_queryset(self) -> QuerySet[Comparison]:
        comparisons = Comparison.objects.visible_to(self.request.user)
        return comparisons.select_related("collection").prefetch_related("runs")

    @extend_schema(
        request=ComparisonCreateSerializer,
        responses={201: ComparisonSerializer},
    )
    def create(self, request: Request) -> Response:
        """Runs the question with each strategy."""
        given = checked(request, ComparisonCreateSerializer)
        document = given["document"]
        comparison = comparison_start(
            actor=request.user,
            collection=collection_for(user=request.user, slug=given["collection"]),
            document=document_for(user=request.user, pk=document) if document is not None else None,
            text=given["text"],
            strategies=given["strategies"],
        )
        return Response(ComparisonSerializer(comparison).data, status=status.HTTP_201_CREATED)

    @extend_schema(responses=ComparedSerializer)
    @action(detail=True, methods=["get"])
    @from_replica
    def candidates(self, request: Request, pk: str) -> Response:
        """Returns the roles of the finished runs side by side, disagreements first."""
        runs = runs_compared(comparison=self.get_object(), user=request.user)
        shown = {"runs": [run.pk for run in runs], "candidates": compared(runs)}
        return Response(ComparedSerializer(shown).data)

    @extend_schema(
        request=ComparisonDecisionSerializer,
        responses={201: ReviewSerializer(many=True)},
    )
    @action(detail=True, methods=["post"], pagination_class=None)
    def decide(self, request: Request, pk: str) -> Response:
        """Records one decision for the candidate in every run that found it."""
        comparison = comparison_for(user=request.user, pk=int(pk))
        given = checked(request, ComparisonDecisionSerializer)
        reviews = comparison_decide(actor=request.user, comparison=comparison, **given)
        at = reverse("api:comparison-candidates", args=[pk])
        return created(ReviewSerializer(reviews, many=True).data, at=at)


class EvaluationSerializer(serializers.ModelSerializer[EvaluationRun]):
    """An evaluation. ``report`` is the output of the command."""

    options = serializers.DictField(read_only=True)
    report = serializers.DictField(read_only=True)

    class Meta:
        model = EvaluationRun
        fields = ["id", "dataset", "options", "report", "seconds", "created_at"]
        read_only_fields = fields


class EvaluationViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[EvaluationRun]):
    """Evaluations of strategies on labelled sets, newest first. They belong to no collection; every signed-in user can
    read them."""

    queryset = EvaluationRun.objects.all()
    serializer_class = EvaluationSerializer
    filters = {"dataset": by_word("dataset", "Name of the labelled set."), **between_days()}
    orderings = ("id", "dataset", "created_at")
