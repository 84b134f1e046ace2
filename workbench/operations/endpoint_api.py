"""The endpoints of language models, and whether they answer. A test cannot be started with a token."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.api.base import ApiViewSet, checked
from workbench.api.reauthentication import asks_again
from workbench.runs.models import LLMEndpoint

from .endpoints import endpoint_try, known_models
from .operations import may_operate


class LastCallSerializer(serializers.Serializer[Any]):
    """The latest call of a model: its time and outcome."""

    created_at = serializers.DateTimeField()
    outcome = serializers.CharField(help_text="`ok`, or the reason why there was no answer.")


class KnownModelSerializer(serializers.Serializer[Any]):
    """A model at an endpoint. Models at a local endpoint cost nothing. The key itself is never returned."""

    endpoint = serializers.CharField(source="endpoint.name")
    base_url = serializers.CharField(source="endpoint.base_url")
    model = serializers.CharField()
    is_local = serializers.BooleanField()
    has_key = serializers.BooleanField(help_text="Whether an API key is sent with each call.")
    last = LastCallSerializer(allow_null=True, help_text="The latest call of the last thirty days.")
    collections = serializers.ListField(
        source="slugs", child=serializers.SlugField(), help_text="Your collections that use this model."
    )


class EndpointTrialSerializer(serializers.Serializer[Any]):
    """A model to test."""

    endpoint = serializers.CharField(max_length=40)
    model = serializers.CharField(max_length=120)


class EndpointTrialResultSerializer(serializers.Serializer[Any]):
    """Result of the test. ``says`` is the result in words."""

    is_answered = serializers.BooleanField()
    outcome = serializers.CharField()
    says = serializers.CharField(source="said")
    seconds = serializers.FloatField()


class EndpointViewSet(ApiViewSet[LLMEndpoint]):
    """Endpoints of language models."""

    queryset = LLMEndpoint.objects.none()
    serializer_class = KnownModelSerializer

    @extend_schema(responses=KnownModelSerializer(many=True))
    def state(self, request: Request) -> Response:
        """Lists the models of every endpoint, with the latest call and your collections that use them."""
        if not may_operate(request.user):
            raise PermissionDenied
        return Response(KnownModelSerializer(known_models(user=request.user), many=True).data)

    @extend_schema(request=EndpointTrialSerializer, responses=EndpointTrialResultSerializer)
    @asks_again
    def trial(self, request: Request) -> Response:
        """Sends a tiny test prompt to a model and waits a few seconds. The call is recorded."""
        trial = endpoint_try(actor=request.user, **checked(request, EndpointTrialSerializer))
        return Response(EndpointTrialResultSerializer(trial).data)
