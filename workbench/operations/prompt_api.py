"""What language models are told, word for word, for those who operate; prompts are files of a release, and nobody
changes them here."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.api.base import ApiViewSet, number_parameter
from workbench.runs.models import LLMCall

from .operations import may_operate
from .prompts import prompt_list, prompt_page


class PromptSerializer(serializers.Serializer[Any]):
    """A version of a prompt. ``hash`` is the SHA-256 of its file and is stored with every call. ``used_in`` lists the
    modules that load it."""

    name = serializers.CharField(source="prompt.name")
    purpose = serializers.CharField(source="prompt.purpose")
    version = serializers.IntegerField()
    versions = serializers.ListField(child=serializers.IntegerField())
    hash = serializers.CharField(source="prompt.hash")
    used_in = serializers.ListField(child=serializers.CharField())


class PromptLineSerializer(serializers.Serializer[Any]):
    """A line of the diff."""

    kind = serializers.ChoiceField(choices=["same", "added", "removed"])
    text = serializers.CharField()


class PromptCallsSerializer(serializers.Serializer[Any]):
    """How often this exact text was sent, within what the caller can read of the ledger. ``strategy`` is null for calls
    outside a run."""

    strategy = serializers.CharField(allow_null=True)
    stage = serializers.CharField()
    calls = serializers.IntegerField()


class PromptTextSerializer(PromptSerializer):
    """The two parts of the prompt file. ``diff`` has every line of both versions, compared with version ``against``; it
    is empty for a first version."""

    placeholders = serializers.ListField(child=serializers.CharField())
    system = serializers.CharField(source="prompt.system")
    user = serializers.CharField(source="prompt.user")
    against = serializers.IntegerField(allow_null=True)
    diff = PromptLineSerializer(many=True)
    calls = PromptCallsSerializer(many=True)


def _version(name: str, words: str) -> OpenApiParameter:
    return OpenApiParameter(name, OpenApiTypes.INT, description=words)


class PromptViewSet(ApiViewSet[LLMCall]):
    """The prompts of this release."""

    queryset = LLMCall.objects.none()
    serializer_class = PromptSerializer
    pagination_class = None
    lookup_url_kwarg = "name"
    lookup_value_regex = "[a-z][a-z0-9_-]*"

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Whoever operates reads them."""
        super().initial(request, *args, **kwargs)
        if not may_operate(request.user):
            raise PermissionDenied

    @extend_schema(responses=PromptSerializer(many=True))
    def list(self, request: Request) -> Response:
        """Lists every prompt in its newest version."""
        return Response(PromptSerializer(prompt_list(), many=True).data)

    @extend_schema(
        parameters=[
            OpenApiParameter("name", OpenApiTypes.STR, OpenApiParameter.PATH),
            _version("version", "Version. Defaults to the newest."),
            _version("against", "Version to compare with. Defaults to the previous one."),
        ],
        responses=PromptTextSerializer,
    )
    def retrieve(self, request: Request, name: str) -> Response:
        """Returns the full text of a version and what changed in it."""
        version, against = (number_parameter(request, key) for key in ("version", "against"))
        page = prompt_page(user=request.user, name=name, version=version, against=against)
        return Response(PromptTextSerializer(page).data)
