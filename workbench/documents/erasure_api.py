"""Deleting documents and taking it back; legal hold and retention of a collection."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.accounts.permissions import Permission
from workbench.api.base import Actions, checked
from workbench.api.reauthentication import asks_again

from .erasure import (
    LONGEST_DELAY,
    LONGEST_REASON,
    LONGEST_RETENTION,
    SHORTEST_RETENTION,
    document_delete,
    document_keep,
    hold_set,
    retention_set,
)
from .models import Collection, Document
from .selectors import collection_for, document_for


class DeletionReasonSerializer(serializers.Serializer[Any]):
    """Reason for deleting or keeping a document."""

    reason = serializers.CharField(max_length=LONGEST_REASON)


class DeletionSerializer(serializers.ModelSerializer[Document]):
    """Status of a document's deletion: ``deleted`` until ``erase_at``, then ``erased``. ``settled_at`` is when its
    files were gone too. All fields are empty if the document was not deleted."""

    status = serializers.CharField(read_only=True)

    class Meta:
        model = Document
        fields = [
            "id",
            "status",
            "sha256",
            "deleted_at",
            "deletion_reason",
            "erase_at",
            "erased_at",
            "settled_at",
        ]
        read_only_fields = fields


class KeepingSerializer(serializers.ModelSerializer[Collection]):
    """Retention settings. With ``retention_days`` null, documents are kept indefinitely. A deletion can be undone for
    ``erasure_delay_days``. A legal hold prevents deletion and erasure."""

    class Meta:
        model = Collection
        fields = ["legal_hold", "retention_days", "erasure_delay_days"]
        read_only_fields = fields


class KeepingChangeSerializer(serializers.Serializer[Any]):
    """The new values and the reason."""

    legal_hold = serializers.BooleanField()
    retention_days = serializers.IntegerField(
        min_value=SHORTEST_RETENTION, max_value=LONGEST_RETENTION, allow_null=True
    )
    erasure_delay_days = serializers.IntegerField(min_value=0, max_value=LONGEST_DELAY)
    reason = serializers.CharField(max_length=LONGEST_REASON)


class DocumentErasureActions(Actions):
    """Deleting a document; admins of its collection."""

    @extend_schema(request=DeletionReasonSerializer, responses=DeletionSerializer)
    @action(detail=True, methods=["post"], url_path="delete", url_name="remove")
    @asks_again
    def remove(self, request: Request, pk: str) -> Response:
        """Deletes the document. New questions ignore it, and its text is erased permanently after the collection's
        delay; until then, earlier runs quote it and earlier exports contain it. Its hash and the decisions about it
        are kept."""
        document = document_for(user=request.user, pk=int(pk))
        given = checked(request, DeletionReasonSerializer)
        return Response(
            DeletionSerializer(document_delete(actor=request.user, document=document, **given)).data
        )

    @extend_schema(request=DeletionReasonSerializer, responses=DeletionSerializer)
    @action(detail=True, methods=["post"])
    @asks_again
    def keep(self, request: Request, pk: str) -> Response:
        """Undoes the deletion. Possible until the text is erased."""
        document = document_for(user=request.user, pk=int(pk))
        given = checked(request, DeletionReasonSerializer)
        return Response(
            DeletionSerializer(document_keep(actor=request.user, document=document, **given)).data
        )

    @extend_schema(responses=DeletionSerializer)
    @action(detail=True, methods=["get"])
    def deletion(self, request: Request, pk: str) -> Response:
        """Returns the status of the deletion."""
        return Response(DeletionSerializer(document_for(user=request.user, pk=int(pk))).data)


class CollectionKeepingActions(Actions):
    """Legal hold and retention; auditors read, admins change."""

    @extend_schema(methods=["GET"], responses=KeepingSerializer)
    @extend_schema(
        methods=["POST"],
        request=KeepingChangeSerializer,
        responses=KeepingSerializer,
    )
    @action(detail=True, methods=["get", "post"])
    @asks_again
    def keeping(self, request: Request, slug: str) -> Response:
        """GET returns the retention settings. POST replaces them."""
        if request.method == "GET":
            collection = collection_for(user=request.user, slug=slug, permission=Permission.AUDIT)
            return Response(KeepingSerializer(collection).data)
        collection = collection_for(user=request.user, slug=slug)
        given = checked(request, KeepingChangeSerializer)
        common: dict[str, Any] = {
            "actor": request.user,
            "collection": collection,
            "reason": given["reason"],
        }
        with transaction.atomic():
            hold_set(is_held=given["legal_hold"], **common)
            retention_set(days=given["retention_days"], delay_days=given["erasure_delay_days"], **common)
        return Response(KeepingSerializer(collection).data)
