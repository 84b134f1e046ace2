"""The dictionary of a collection."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.api.base import ApiViewSet, checked
from workbench.api.filtering import between_days, by_person, by_slug, one_of
from workbench.documents.selectors import collection_for

from .models import MAX_TERM, DictionaryEntry, EntryKind, EntryQuerySet, EntryStatus, Language
from .services import entry_add, entry_approve, entry_reject


class EntrySerializer(serializers.ModelSerializer[DictionaryEntry]):
    """A synonym pair of a collection."""

    collection = serializers.SlugRelatedField("slug", read_only=True)
    proposed_from = serializers.SerializerMethodField()

    class Meta:
        model = DictionaryEntry
        fields = [
            "id", "collection", "term", "variant", "kind", "language", "status", "proposed_from", "proposed_at",
            "decided_at",
        ]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(serializers.IntegerField(allow_null=True))
    def get_proposed_from(self, entry: DictionaryEntry) -> int | None:
        """The decision that it was learned from; null if that is hidden from the caller."""
        return entry.proposed_from_id if getattr(entry, "sees_origin", False) else None


class EntryCreateSerializer(serializers.Serializer[Any]):
    """A new synonym pair, active immediately."""

    collection = serializers.SlugField()
    term = serializers.CharField(max_length=MAX_TERM)
    variant = serializers.CharField(max_length=MAX_TERM)
    kind = serializers.ChoiceField(choices=EntryKind.choices, required=False, default=EntryKind.ALIAS)
    language = serializers.ChoiceField(choices=Language.choices, required=False, default=Language.EN)


class VocabularyViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[DictionaryEntry]):
    """Synonym pairs: active, proposed and rejected."""

    queryset = DictionaryEntry.objects.none()
    serializer_class = EntrySerializer
    filters = {
        "collection": by_slug(),
        "status": one_of("status", EntryStatus),
        "proposed_by": by_person("proposed_by", "Person who proposed the pair."),
        **between_days("proposed_at"),
    }
    orderings = ("id", "term", "status", "proposed_at")

    def get_queryset(self) -> QuerySet[DictionaryEntry]:
        return self._with_sight().visible_to(self.request.user)

    def _with_sight(self) -> EntryQuerySet:
        return DictionaryEntry.objects.with_sight(self.request.user).select_related("collection")

    def _shown(self, entry: DictionaryEntry) -> dict[str, Any]:
        """An entry that was just written, as the caller may see it."""
        return EntrySerializer(self._with_sight().get(pk=entry.pk)).data

    @extend_schema(request=EntryCreateSerializer, responses={201: EntrySerializer})
    def create(self, request: Request) -> Response:
        """Adds an active synonym pair. A proposed or rejected pair is approved."""
        given = checked(request, EntryCreateSerializer)
        collection = collection_for(user=request.user, slug=given.pop("collection"))
        entry = entry_add(actor=request.user, collection=collection, **given)
        return Response(self._shown(entry), status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses=EntrySerializer)
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, pk: str) -> Response:
        """Activates a synonym pair."""
        return Response(self._shown(entry_approve(actor=request.user, entry=self.get_object())))

    @extend_schema(request=None, responses=EntrySerializer)
    @action(detail=True, methods=["post"])
    def reject(self, request: Request, pk: str) -> Response:
        """Deactivates a synonym pair. It is not proposed again."""
        return Response(self._shown(entry_reject(actor=request.user, entry=self.get_object())))
