"""Tags and fields by API: the fields a collection gives its documents, and changes of many documents at once."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.api.base import Actions, checked
from workbench.api.reauthentication import asks_again

from .describing import LONGEST_TAG, MOST_AT_ONCE, MOST_PARTIES, MOST_TAGS, Changes, documents_describe
from .fields import LONGEST_NAME, LONGEST_VALUE, MOST_FIELDS, field_add, field_remove
from .models import CollectionField, FieldKind
from .selectors import collection_for

#: What narrows a list of documents.
FIELD_FILTERS = [
    OpenApiParameter("document_type", OpenApiTypes.STR, description="Document type."),
    OpenApiParameter(
        "party",
        OpenApiTypes.STR,
        description="Party. A party set by a person takes precedence over one read by the machine.",
    ),
    OpenApiParameter("tag", OpenApiTypes.STR, description="Tag."),
    OpenApiParameter(
        "field",
        OpenApiTypes.STR,
        description="Value of a custom field, as name:value.",
    ),
]


def texts(longest: int, most: int) -> serializers.ListField:
    """A list of short texts, which may be left out."""
    child = serializers.CharField(max_length=longest)
    return serializers.ListField(child=child, required=False, default=list, max_length=most)


def own_fields() -> serializers.DictField:
    """Values of a collection's own fields."""
    return serializers.DictField(
        child=serializers.CharField(max_length=LONGEST_VALUE, allow_blank=True),
        required=False,
        default=dict,
        help_text="Custom field values by field name. Dates as 2026-03-01.",
    )


class CollectionFieldSerializer(serializers.ModelSerializer[CollectionField]):
    """A custom field of the documents of a collection."""

    class Meta:
        model = CollectionField
        fields = ["name", "kind"]
        read_only_fields = fields


class FieldAddSerializer(serializers.Serializer[Any]):
    """A new field."""

    name = serializers.CharField(max_length=LONGEST_NAME)
    kind = serializers.ChoiceField(choices=FieldKind.choices, required=False, default=FieldKind.TEXT)


class FieldRemoveSerializer(serializers.Serializer[Any]):
    """A field to remove, with its values on every document."""

    name = serializers.CharField(max_length=LONGEST_NAME)


class BulkDescriptionSerializer(serializers.Serializer[Any]):
    """Changes to apply to each document. Omitted fields are unchanged."""

    documents = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1), max_length=MOST_AT_ONCE
    )
    add_tags = texts(LONGEST_TAG, MOST_TAGS)
    remove_tags = texts(LONGEST_TAG, MOST_TAGS)
    add_parties = texts(LONGEST_VALUE, MOST_PARTIES)
    document_type = serializers.CharField(max_length=80, required=False, default="", allow_blank=True)
    issuer = serializers.CharField(max_length=160, required=False, default="", allow_blank=True)
    jurisdiction = serializers.CharField(max_length=80, required=False, default="", allow_blank=True)
    effective_date = serializers.DateField(required=False, default=None, allow_null=True)
    fields = own_fields()  # type: ignore[assignment]
    read_again = serializers.BooleanField(
        required=False, default=False, help_text="Extract type, parties and date from the text again."
    )


class DescribedSerializer(serializers.Serializer[Any]):
    """Number of changed documents."""

    changed = serializers.IntegerField()


class CollectionFieldActions(Actions):
    """The fields of a collection's documents; members read, admins change them, analysts fill them in."""

    @extend_schema(responses=CollectionFieldSerializer(many=True))
    @action(detail=True, methods=["get"], pagination_class=None)
    def fields(self, request: Request, slug: str) -> Response:
        """Lists the collection's custom fields."""
        rows = collection_for(user=request.user, slug=slug).fields.all()[:MOST_FIELDS]
        return Response(CollectionFieldSerializer(rows, many=True).data)

    @extend_schema(request=FieldAddSerializer, responses={201: CollectionFieldSerializer})
    @action(detail=True, methods=["post"], url_path="fields/add")
    @asks_again
    def field_add(self, request: Request, slug: str) -> Response:
        """Adds a custom field to the documents of the collection."""
        collection = collection_for(user=request.user, slug=slug)
        added = field_add(actor=request.user, collection=collection, **checked(request, FieldAddSerializer))
        return Response(CollectionFieldSerializer(added).data, status=201)

    @extend_schema(request=FieldRemoveSerializer, responses={204: None})
    @action(detail=True, methods=["post"], url_path="fields/remove")
    @asks_again
    def field_remove(self, request: Request, slug: str) -> Response:
        """Removes a custom field and its values on every document."""
        collection = collection_for(user=request.user, slug=slug)
        field_remove(actor=request.user, collection=collection, **checked(request, FieldRemoveSerializer))
        return Response(status=204)

    @extend_schema(request=BulkDescriptionSerializer, responses=DescribedSerializer)
    @action(detail=True, methods=["post"], url_path="describe-documents")
    def describe_documents(self, request: Request, slug: str) -> Response:
        """Updates tags and fields of several documents, all or nothing. Each document gets its own audit event."""
        collection = collection_for(user=request.user, slug=slug)
        given = checked(request, BulkDescriptionSerializer)
        keys = given.pop("documents")
        changed = documents_describe(
            actor=request.user, collection=collection, documents=keys, changes=Changes(**given)
        )
        return Response({"changed": changed})
