"""Shapes of collections and documents in the API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from .models import Collection, Document


class CollectionSerializer(serializers.ModelSerializer[Collection]):
    """A collection the caller belongs to."""

    class Meta:
        model = Collection
        fields = ["id", "slug", "name", "description", "language", "default_strategy", "created_at"]
        read_only_fields = ["id", "created_at"]


class CollectionCreateSerializer(serializers.Serializer[Any]):
    """A new collection."""

    name = serializers.CharField(max_length=160)
    slug = serializers.SlugField(max_length=80, required=False)
    description = serializers.CharField(max_length=2000, required=False, default="", allow_blank=True)


class DocumentSerializer(serializers.ModelSerializer[Document]):
    """A document and where it is on its way."""

    collection = serializers.SlugRelatedField("slug", read_only=True)
    warnings = serializers.ListField(child=serializers.CharField(), read_only=True)
    tags = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = Document
        fields = [
            "id", "collection", "name", "title", "kind", "size", "sha256", "status", "stage_done", "stage_total",
            "failure_code", "failure_reason", "warnings", "page_count", "line_count", "section_count",
            "section_depth", "passage_count", "language", "document_type", "issuer",
            "jurisdiction", "effective_date", "tags", "created_at", "finished_at",
        ]  # fmt: skip
        read_only_fields = fields


class DocumentUploadSerializer(serializers.Serializer[Any]):
    """A file for a collection."""

    collection = serializers.SlugField()
    file = serializers.FileField()
