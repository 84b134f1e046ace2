"""What language models cost in a month: the figures of the Costs page."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.api.base import ApiViewSet
from workbench.infra.replica import from_replica
from workbench.runs.models import LLMCall

from .costs import costs_of, month_in, month_named
from .operations import may_operate


class UsageSerializer(serializers.Serializer[Any]):
    """Calls, failed calls, tokens, and the cost in USD."""

    calls = serializers.IntegerField()
    failed = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    cached_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cost = serializers.DecimalField(max_digits=20, decimal_places=6)
    unpriced = serializers.IntegerField(help_text="Calls of unknown cost. The total is at least `cost`.")


class CostRowSerializer(serializers.Serializer[Any]):
    """Costs of one collection, strategy, model and step. ``collection`` is null if the caller is not a member of it.
    Both ``collection`` and ``collection_id`` are null for calls outside any collection. ``strategy`` is null for calls
    outside a run."""

    collection_id = serializers.IntegerField(allow_null=True)
    collection = serializers.CharField(source="slug", allow_null=True)
    strategy = serializers.CharField(allow_null=True)
    model = serializers.CharField()
    step = serializers.CharField(source="stage")
    calls = serializers.IntegerField()
    failed = serializers.IntegerField()
    input_tokens = serializers.IntegerField(source="input")
    cached_tokens = serializers.IntegerField(source="cached")
    output_tokens = serializers.IntegerField(source="output")
    cost = serializers.DecimalField(source="usd", max_digits=20, decimal_places=6)
    unpriced = serializers.IntegerField()


class CostDaySerializer(serializers.Serializer[Any]):
    """Costs of a collection on a day (UTC)."""

    day = serializers.DateField()
    collection_id = serializers.IntegerField(allow_null=True)
    collection = serializers.CharField(source="slug", allow_null=True)
    calls = serializers.IntegerField()
    cost = serializers.DecimalField(source="usd", max_digits=20, decimal_places=6)


@extend_schema_field({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}$"})
class MonthField(serializers.DateField):
    """A month as ``2026-11``."""

    def __init__(self, **options: Any) -> None:
        super().__init__(format="%Y-%m", **options)


class CostsSerializer(serializers.Serializer[Any]):
    """Costs of a month, such as ``2026-11``: by collection, strategy, model and step, by day, and in total.
    ``month_budget`` is null without a limit."""

    month = MonthField()
    month_budget = serializers.DecimalField(source="budget", max_digits=12, decimal_places=4, allow_null=True)
    total = UsageSerializer()
    rows = CostRowSerializer(many=True)
    days = CostDaySerializer(many=True)


class CostViewSet(ApiViewSet[LLMCall]):
    """Costs of collections whose trail the caller can read. Staff, without a token, see all."""

    queryset = LLMCall.objects.none()
    serializer_class = CostsSerializer

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "month",
                OpenApiTypes.STR,
                description="Month (UTC), such as 2026-11. Defaults to the current month.",
            )
        ],
        responses=CostsSerializer,
    )
    @from_replica
    def month(self, request: Request) -> Response:
        """Returns language model costs for a month."""
        if not may_operate(request.user):
            raise PermissionDenied
        raw = request.query_params.get("month", "")
        first = month_named(raw) if raw else month_in(None)
        if first is None:
            raise ValidationError({"month": ["Give a month as YYYY-MM."]})
        return Response(CostsSerializer(costs_of(user=request.user, first=first)).data)
