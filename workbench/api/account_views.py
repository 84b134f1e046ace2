"""What the caller prefers for themselves, whatever the collection."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.accounts.models import User
from workbench.people.services import language_choose

from .base import IDEMPOTENCY, ApiViewSet, checked


class LanguageSerializer(serializers.Serializer[Any]):
    """The language of the caller's pages and mails."""

    language = serializers.ChoiceField(choices=settings.LANGUAGES)


class OwnLanguageSerializer(LanguageSerializer):
    """The language chosen; empty while the browser's counts."""

    language = serializers.ChoiceField(choices=settings.LANGUAGES, allow_blank=True)


class LanguageViewSet(ApiViewSet[User]):
    """The language that the caller reads in."""

    serializer_class = OwnLanguageSerializer

    @extend_schema(responses=OwnLanguageSerializer)
    def state(self, request: Request) -> Response:
        """The language chosen."""
        return Response(OwnLanguageSerializer({"language": request.user.language}).data)

    @extend_schema(parameters=[IDEMPOTENCY], request=LanguageSerializer, responses=OwnLanguageSerializer)
    def choose(self, request: Request) -> Response:
        """Chooses another, with a token that may do more than read."""
        language_choose(user=request.user, **checked(request, LanguageSerializer))
        return self.state(request)
