"""The stop switch and the budgets. Operators can read them. Administrators of the installation can change them, but not
with a token."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.api.base import ApiViewSet, checked
from workbench.api.reauthentication import asks_again
from workbench.infra.model_endpoints import model_endpoints
from workbench.runs.gateway import endpoint_configured, endpoint_name, llm_control, spent_this_month
from workbench.runs.models import LLMControl

from .control import LARGEST_BUDGET, budgets_change, llm_resume, llm_stop
from .operations import may_operate


def _usd(**options: Any) -> serializers.DecimalField:
    """An amount in dollars; null for no limit."""
    return serializers.DecimalField(max_digits=12, decimal_places=4, allow_null=True, **options)


class LanguageModelsSerializer(serializers.Serializer[Any]):
    """Whether language models are enabled, and their budgets in USD. ``endpoint`` is empty if none is configured."""

    endpoint = serializers.CharField()
    endpoints = serializers.ListField(
        child=serializers.CharField(), help_text="Addresses of the configured endpoints."
    )
    is_stopped = serializers.BooleanField()
    stop_reason = serializers.CharField()
    run_budget = _usd()
    month_budget = _usd()
    spent_this_month = serializers.DecimalField(max_digits=14, decimal_places=6)


class ReasonSerializer(serializers.Serializer[Any]):
    """The reason."""

    reason = serializers.CharField(max_length=300)


class BudgetsSerializer(ReasonSerializer):
    """Budgets per run and per month, effective with the next call."""

    run_budget = _usd(min_value=0, max_value=LARGEST_BUDGET)
    month_budget = _usd(min_value=0, max_value=LARGEST_BUDGET)


class LanguageModelsViewSet(ApiViewSet[LLMControl]):
    """The installation's language models: the stop switch and the budgets."""

    queryset = LLMControl.objects.none()
    serializer_class = LanguageModelsSerializer

    @extend_schema(responses=LanguageModelsSerializer)
    def state(self, request: Request) -> Response:
        """Returns whether language models are enabled, their budgets, and their costs this month."""
        if not may_operate(request.user):
            raise PermissionDenied
        return _state()

    @extend_schema(request=ReasonSerializer, responses=LanguageModelsSerializer)
    @asks_again
    def stop(self, request: Request) -> Response:
        """Stops all calls to language models. Everything else continues."""
        llm_stop(actor=request.user, reason=checked(request, ReasonSerializer)["reason"])
        return _state()

    @extend_schema(request=ReasonSerializer, responses=LanguageModelsSerializer)
    @asks_again
    def resume(self, request: Request) -> Response:
        """Resumes calls to language models."""
        llm_resume(actor=request.user, reason=checked(request, ReasonSerializer)["reason"])
        return _state()

    @extend_schema(request=BudgetsSerializer, responses=LanguageModelsSerializer)
    @asks_again
    def budgets(self, request: Request) -> Response:
        """Sets both budgets. Null removes a budget."""
        budgets_change(actor=request.user, **checked(request, BudgetsSerializer))
        return _state()


def _state() -> Response:
    control = llm_control()
    return Response(
        LanguageModelsSerializer(
            {
                "endpoint": endpoint_name() if endpoint_configured() else "",
                "endpoints": [endpoint.base_url for endpoint in model_endpoints()],
                "is_stopped": control.is_stopped,
                "stop_reason": control.stop_reason,
                "run_budget": control.run_budget,
                "month_budget": control.month_budget,
                "spent_this_month": spent_this_month(),
            }
        ).data
    )
