"""Shapes of collections and documents in the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from .models import Collection, Document, DocumentField


class CollectionSerializer(serializers.ModelSerializer[Collection]):
    """A collection that the caller is a member of."""

    class Meta:
        model = Collection
        fields = ["id", "slug", "name", "description", "language", "default_strategy", "created_at"]
        read_only_fields = ["id", "created_at"]


class CollectionCreateSerializer(serializers.Serializer[Any]):
    """A new collection."""

    name = serializers.CharField(max_length=160)
    slug = serializers.SlugField(max_length=80, required=False)
    description = serializers.CharField(max_length=2000, required=False, default="", allow_blank=True)


class ReadValueSerializer(serializers.ModelSerializer[DocumentField]):
    """A value that the machine read in the document, and its line. It is used unless a person has set the field."""

    name = serializers.CharField(read_only=True, help_text="`party`, `document_type` or `effective_date`.")

    class Meta:
        model = DocumentField
        fields = ["name", "value", "page_num", "line_num"]
        read_only_fields = fields


class DocumentSerializer(serializers.ModelSerializer[Document]):
    """A document and its processing status."""

    collection = serializers.SlugRelatedField("slug", read_only=True)
    parties = serializers.SerializerMethodField(help_text="Parties set by people.")
    fields = serializers.SerializerMethodField(  # type: ignore[assignment]
        method_name="get_own_fields",
        help_text="Custom field values set by people, by field name.",
    )
    read = serializers.SerializerMethodField(
        help_text="Values read by the machine from the beginning of the text."
    )

    def get_parties(self, document: Document) -> list[str]:
        """In the order in which they were given."""
        return [row.value for row in document.fields.all() if row.set_by_id and row.definition_id is None]

    def get_own_fields(self, document: Document) -> dict[str, str]:
        """By name."""
        return {row.definition.name: row.value for row in document.fields.all() if row.definition is not None}

    @extend_schema_field(ReadValueSerializer(many=True))
    def get_read(self, document: Document) -> Any:
        """With their places."""
        return ReadValueSerializer(
            [row for row in document.fields.all() if row.set_by_id is None], many=True
        ).data

    is_restricted = serializers.BooleanField(
        read_only=True, help_text="Whether only some members of the collection can see it."
    )

    warnings = serializers.ListField(child=serializers.CharField(), read_only=True)
    tags = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = Document
        fields = [
            "id", "collection", "name", "title", "kind", "size", "sha256", "status", "stage_done", "stage_total",
            "failure_code", "failure_reason", "warnings", "page_count", "line_count", "section_count",
            "section_depth", "passage_count", "language", "document_type", "issuer",
            "jurisdiction", "effective_date", "tags", "parties", "fields", "read", "is_restricted",
            "created_at", "finished_at",
        ]  # fmt: skip
        read_only_fields = fields


class ReceivedSerializer(serializers.Serializer[Any]):
    """Result of a ZIP upload: the documents, and the refused files with reasons."""

    documents = DocumentSerializer(many=True)
    refused = serializers.ListField(child=serializers.CharField())


class DocumentUploadSerializer(serializers.Serializer[Any]):
    """A file to upload to a collection."""

    collection = serializers.SlugField()
    file = serializers.FileField()
