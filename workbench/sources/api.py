"""Sources of collections and what came from them, for admins."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.accounts.permissions import Permission
from workbench.api.base import ApiViewSet, checked
from workbench.api.filtering import between_days, by_key, by_slug, one_of
from workbench.api.reauthentication import asks_again
from workbench.documents.selectors import collection_for

from . import services
from .models import FileState, Source, SourceFile, SourceState


class SourceSerializer(serializers.ModelSerializer[Source]):
    """A source of documents. ``error`` says why the latest check failed. The secret is never returned."""

    collection = serializers.SlugRelatedField("slug", read_only=True)
    settings = serializers.DictField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = Source
        fields = [
            "id", "collection", "kind", "name", "settings", "state", "error", "last_looked_at", "next_look_at",
            "created_at",
        ]  # fmt: skip
        read_only_fields = fields


class SourceCreateSerializer(serializers.Serializer[Any]):
    """A new source of a collection. ``settings`` depend on its kind."""

    collection = serializers.SlugField()
    kind = serializers.CharField(max_length=20)
    name = serializers.CharField(max_length=120)
    settings = serializers.DictField(child=serializers.CharField(allow_blank=True, max_length=500))
    secret = serializers.CharField(
        max_length=500, required=False, allow_blank=True, default="", write_only=True, trim_whitespace=False
    )


class SourceFileSerializer(serializers.ModelSerializer[SourceFile]):
    """A file of a source, with its document or an ``error``. ``is_duplicate``: the collection already had the same
    bytes."""

    facts = serializers.DictField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = SourceFile
        fields = [
            "id", "source", "key", "part", "name", "facts", "state", "document", "is_duplicate", "error",
            "attempts", "at",
        ]  # fmt: skip
        read_only_fields = fields


class SourceViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[Source]):
    """Sources that documents are imported from automatically."""

    queryset = Source.objects.none()
    serializer_class = SourceSerializer
    filters = {"collection": by_slug(), "state": one_of("state", SourceState), **between_days()}
    orderings = ("id", "name", "state", "created_at")

    @property
    def remembers_posts(self) -> bool:  # type: ignore[override]
        """Not for requests with a secret, because their fingerprint could help to guess it."""
        return self.action != "create"

    def get_queryset(self) -> QuerySet[Source]:
        """Those of collections that the caller manages."""
        return Source.objects.visible_to(self.request.user).select_related("collection")

    @extend_schema(request=SourceCreateSerializer, responses={201: SourceSerializer})
    @asks_again
    def create(self, request: Request) -> Response:
        """Adds a source. Its first check starts shortly."""
        given = checked(request, SourceCreateSerializer)
        slug = given.pop("collection")
        collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
        source = services.source_create(actor=request.user, collection=collection, **given)
        return Response(SourceSerializer(source).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses=SourceSerializer)
    @action(detail=True, methods=["post"])
    @asks_again
    def pause(self, request: Request, pk: str) -> Response:
        """Pauses the source until it is resumed."""
        source = self.get_object()
        services.source_pause(actor=request.user, source=source)
        return Response(SourceSerializer(source).data)

    @extend_schema(request=None, responses=SourceSerializer)
    @action(detail=True, methods=["post"])
    @asks_again
    def resume(self, request: Request, pk: str) -> Response:
        """Resumes checks of the source, with the caller's rights."""
        source = self.get_object()
        services.source_resume(actor=request.user, source=source)
        return Response(SourceSerializer(source).data)

    @extend_schema(request=None, responses={204: None})
    @action(detail=True, methods=["post"])
    @asks_again
    def remove(self, request: Request, pk: str) -> Response:
        """Removes the source. Its documents are kept."""
        services.source_remove(actor=request.user, source=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses={202: SourceSerializer})
    @action(detail=True, methods=["post"])
    def look(self, request: Request, pk: str) -> Response:
        """Checks the source as soon as a worker is free."""
        source = self.get_object()
        services.source_look_now(actor=request.user, source=source)
        source.refresh_from_db()
        return Response(SourceSerializer(source).data, status=status.HTTP_202_ACCEPTED)


class SourceFileViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[SourceFile]):
    """Files read from sources, including failed ones."""

    queryset = SourceFile.objects.none()
    serializer_class = SourceFileSerializer
    filters = {
        "source": by_key("source", "ID of the source."),
        "state": one_of("state", FileState),
        "document": by_key("document", "ID of the document."),
        **between_days("at"),
    }
    orderings = ("id", "name", "state", "at")

    def get_queryset(self) -> QuerySet[SourceFile]:
        """As for sources."""
        return SourceFile.objects.visible_to(self.request.user).select_related("source__collection")

    @extend_schema(request=None, responses={202: SourceFileSerializer})
    @action(detail=True, methods=["post"])
    def retry(self, request: Request, pk: str) -> Response:
        """Retries a failed file."""
        file = self.get_object()
        services.source_file_retry(actor=request.user, file=file)
        file.refresh_from_db()
        return Response(SourceFileSerializer(file).data, status=status.HTTP_202_ACCEPTED)
