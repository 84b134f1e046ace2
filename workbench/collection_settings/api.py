"""The settings of a collection, as an action of its address."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from arbitration.strategies.rubrics import PROPERTIES
from workbench.accounts.permissions import Permission
from workbench.api.base import Actions, checked
from workbench.api.reauthentication import asks_again
from workbench.documents.models import Collection
from workbench.documents.selectors import collection_for

from .selectors import criteria_weights_of
from .services import MOST_ENDPOINTS, collection_change


class CriteriaWeightFields(serializers.Serializer[Any]):
    """Weight of each multi-criteria property relative to relevance, 0 to 1."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {name: serializers.FloatField(min_value=0, max_value=1) for name in PROPERTIES}


class CollectionSettingsSerializer(serializers.Serializer[Any]):
    """All settings of a collection. An empty ``default_strategy`` means the installation's. Text of the collection is
    only sent to ``allowed_endpoints``."""

    description = serializers.CharField(max_length=2000, allow_blank=True)
    default_strategy = serializers.CharField(max_length=40, allow_blank=True)
    allowed_endpoints = serializers.ListField(
        child=serializers.CharField(max_length=200), max_length=MOST_ENDPOINTS
    )
    model_endpoint = serializers.CharField(
        max_length=40,
        required=False,
        allow_blank=True,
        help_text="Name of a configured endpoint with an allowed address. Empty: the first allowed one.",
    )
    model_name = serializers.CharField(
        max_length=120,
        required=False,
        allow_blank=True,
        help_text="Model of the endpoint. Empty: its first model. Omitted: unchanged.",
    )
    criteria_weights = CriteriaWeightFields()
    contributes_to_training = serializers.BooleanField()
    strategy_options = serializers.DictField(
        child=serializers.DictField(),
        required=False,
        help_text='Options by strategy, such as {"consensus": {"n": 0.5}}. Omitted: unchanged.',
    )


class CollectionSettingsActions(Actions):
    """The general settings, which auditors read and admins change."""

    @extend_schema(methods=["GET"], responses=CollectionSettingsSerializer)
    @extend_schema(
        methods=["POST"],
        request=CollectionSettingsSerializer,
        responses=CollectionSettingsSerializer,
    )
    # Not ``settings``, which is a name of the framework's views.
    @action(detail=True, methods=["get", "post"], url_path="settings", url_name="settings")
    @asks_again
    def general(self, request: Request, slug: str) -> Response:
        """GET returns description, strategy, endpoints, weights and label use. POST replaces them."""
        if request.method == "GET":
            return _settings(collection_for(user=request.user, slug=slug, permission=Permission.AUDIT))
        collection = collection_for(user=request.user, slug=slug)
        given = checked(request, CollectionSettingsSerializer)
        collection_change(actor=request.user, collection=collection, **given)
        collection.refresh_from_db()
        return _settings(collection)


def _settings(collection: Collection) -> Response:
    return Response(
        CollectionSettingsSerializer(
            {
                "description": collection.description,
                "default_strategy": collection.default_strategy,
                "allowed_endpoints": collection.allowed_endpoints,
                "model_endpoint": collection.model_endpoint,
                "model_name": collection.model_name,
                "criteria_weights": criteria_weights_of(collection=collection),
                "contributes_to_training": collection.contributes_to_training,
                "strategy_options": collection.strategy_options or {},
            }
        ).data
    )
