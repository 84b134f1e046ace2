"""Prices and endpoints of language models. Operators can read them. Administrators of the installation can change
prices, but not with a token."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.api.base import ApiViewSet, checked
from workbench.api.reauthentication import asks_again
from workbench.infra.model_endpoints import is_local, model_endpoints
from workbench.runs.models import ModelPrice
from workbench.runs.prices import (
    HIGHEST_PRICE,
    models_without_price,
    price_remove,
    price_set,
    prices_listed,
)

from .operations import may_operate


def _usd(**options: Any) -> serializers.DecimalField:
    """USD per million tokens."""
    return serializers.DecimalField(
        max_digits=12, decimal_places=6, min_value=0, max_value=HIGHEST_PRICE, **options
    )


class ModelPriceSerializer(serializers.Serializer[Any]):
    """The price of a model, in USD per million tokens."""

    model = serializers.CharField(max_length=120)
    input = _usd()
    cached_input = _usd()
    output = _usd()
    changed_at = serializers.DateTimeField(read_only=True)


class ModelPriceSetSerializer(serializers.Serializer[Any]):
    """A new price, effective with the next call, and the reason."""

    model = serializers.CharField(max_length=120)
    input = _usd(source="fresh")
    cached_input = _usd(source="cached")
    output = _usd()
    reason = serializers.CharField(max_length=300)


class ModelPriceRemovalSerializer(serializers.Serializer[Any]):
    """A model whose price to remove, and the reason."""

    model = serializers.CharField(max_length=120)
    reason = serializers.CharField(max_length=300)


class UnpricedSerializer(serializers.Serializer[Any]):
    """A model that was called but has no price."""

    model = serializers.CharField()
    calls = serializers.IntegerField()


class ModelEndpointSerializer(serializers.Serializer[Any]):
    """A configured endpoint. Models at a local endpoint cost nothing."""

    name = serializers.CharField()
    base_url = serializers.CharField()
    models = serializers.ListField(child=serializers.CharField())
    is_local = serializers.BooleanField()


class PricesSerializer(serializers.Serializer[Any]):
    """All prices, the models without one, and the endpoints."""

    prices = ModelPriceSerializer(many=True)
    without_price = UnpricedSerializer(many=True)
    endpoints = ModelEndpointSerializer(many=True)


class ModelPriceViewSet(ApiViewSet[ModelPrice]):
    """Prices of language models."""

    queryset = ModelPrice.objects.none()
    serializer_class = PricesSerializer

    @extend_schema(responses=PricesSerializer)
    def state(self, request: Request) -> Response:
        """Returns model prices, models without a price, and the endpoints."""
        if not may_operate(request.user):
            raise PermissionDenied
        endpoints = [
            {
                "name": endpoint.name,
                "base_url": endpoint.base_url,
                "models": endpoint.models,
                "is_local": is_local(endpoint),
            }
            for endpoint in model_endpoints()
        ]
        value = {
            "prices": prices_listed(),
            "without_price": models_without_price(),
            "endpoints": endpoints,
        }
        return Response(PricesSerializer(value).data)

    @extend_schema(request=ModelPriceSetSerializer, responses=ModelPriceSerializer)
    @asks_again
    def change(self, request: Request) -> Response:
        """Sets the price of a model, starting with the next call."""
        given = checked(request, ModelPriceSetSerializer)
        return Response(ModelPriceSerializer(price_set(actor=request.user, **given)).data)

    @extend_schema(request=ModelPriceRemovalSerializer, responses={204: None})
    @asks_again
    def remove(self, request: Request) -> Response:
        """Removes the price of a model. Later calls have an unknown cost."""
        price_remove(actor=request.user, **checked(request, ModelPriceRemovalSerializer))
        return Response(status=status.HTTP_204_NO_CONTENT)
