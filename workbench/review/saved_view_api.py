"""Saved views of the queue: each person's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.api.base import ApiViewSet, checked

from .filters import QueueFilter
from .models import SavedView
from .saved_views import view_delete, view_save, views_of

_FILTERS = [field.name for field in fields(QueueFilter)]


class QueueFiltersSerializer(serializers.Serializer[Any]):
    """Filters of the queue, as in the list. Omitted or empty filters have no effect."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {
            name: serializers.CharField(max_length=200, required=False, allow_blank=True) for name in _FILTERS
        }

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Refuses names that are none: a view of them would show everything."""
        unknown = sorted(set(data) - set(_FILTERS), key=str) if isinstance(data, Mapping) else []
        if unknown:
            message = _("Unknown filter. Known filters: %(names)s.") % {"names": ", ".join(_FILTERS)}
            raise serializers.ValidationError({str(name)[:80]: [message] for name in unknown})
        return dict(super().to_internal_value(data))


class SavedViewSerializer(serializers.ModelSerializer[SavedView]):
    """A saved filter of the queue. ``query`` works as the query string of the page and of ``GET /queue/``."""

    filters = serializers.SerializerMethodField()

    class Meta:
        model = SavedView
        fields = ["id", "name", "filters", "query", "created_at"]
        read_only_fields = fields

    @extend_schema_field(QueueFiltersSerializer)
    def get_filters(self, view: SavedView) -> dict[str, str]:
        """Each filter with its value."""
        return asdict(QueueFilter.of(QueryDict(view.query).dict()))


class SavedViewCreateSerializer(serializers.Serializer[Any]):
    """A name and its filter."""

    name = serializers.CharField(max_length=60)
    filters = QueueFiltersSerializer()


class SavedViewViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[SavedView]):
    """The caller's saved queue filters. A token needs the review scope."""

    queryset = SavedView.objects.none()
    serializer_class = SavedViewSerializer

    def get_queryset(self) -> QuerySet[SavedView]:
        return views_of(user=self.request.user)

    @extend_schema(
        request=SavedViewCreateSerializer,
        responses={201: SavedViewSerializer, 200: SavedViewSerializer},
    )
    def create(self, request: Request) -> Response:
        """Saves a filter. Returns 201 for a new name, 200 if it replaces a filter of that name."""
        given = checked(request, SavedViewCreateSerializer)
        filters = QueueFilter.of(given["filters"])
        view, is_new = view_save(user=request.user, name=given["name"], filters=filters)
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return Response(SavedViewSerializer(view).data, status=code)

    @extend_schema(request=None, responses={204: None})
    @action(detail=True, methods=["post"])
    def remove(self, request: Request, pk: str) -> Response:
        """Deletes the saved view."""
        view_delete(view=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)
