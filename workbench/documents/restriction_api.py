"""Who may see a document: reading and changing it."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.api.base import Actions, checked
from workbench.api.reauthentication import asks_again

from .models import Document
from .restricting import LONGEST_REASON, restriction_set
from .restrictions import Restriction
from .selectors import document_for

#: People named on one document.
MOST_READERS = 500


class ReaderSerializer(serializers.ModelSerializer[User]):
    """A person who can read a restricted document."""

    class Meta:
        model = User
        fields = ["id", "name", "email"]
        read_only_fields = fields


class RestrictionSerializer(serializers.Serializer[Any]):
    """Who can see a document. A restricted one: its ``readers`` and the admins of the collection. Any other: every
    member."""

    is_restricted = serializers.BooleanField()
    readers = ReaderSerializer(many=True)


class RestrictionChangeSerializer(serializers.Serializer[Any]):
    """Who can see the document from now on. ``readers`` are IDs of members; if empty, only admins can see it."""

    is_restricted = serializers.BooleanField()
    readers = serializers.ListField(
        child=serializers.IntegerField(min_value=1), required=False, default=list, max_length=MOST_READERS
    )
    reason = serializers.CharField(max_length=LONGEST_REASON)


class DocumentRestrictionActions(Actions):
    """Who may see a document; auditors read, admins of its collection change."""

    @extend_schema(methods=["GET"], responses=RestrictionSerializer)
    @extend_schema(
        methods=["POST"],
        request=RestrictionChangeSerializer,
        responses=RestrictionSerializer,
    )
    @action(detail=True, methods=["get", "post"])
    @asks_again
    def restriction(self, request: Request, pk: str) -> Response:
        """GET returns who can see the document. POST restricts it to some members or opens it to all. Runs, answers,
        cards, exports and links based on it follow."""
        if request.method == "GET":
            return _shown(document_for(user=request.user, pk=int(pk), permission=Permission.AUDIT))
        document = document_for(user=request.user, pk=int(pk))
        given = checked(request, RestrictionChangeSerializer)
        readers = given["readers"] if given["is_restricted"] else None
        return _shown(
            restriction_set(actor=request.user, document=document, readers=readers, reason=given["reason"])
        )


def _shown(document: Document) -> Response:
    known = Restriction.objects.filter(document=document).first()
    readers = list(known.readers.order_by("name", "email")) if known else []
    return Response(RestrictionSerializer({"is_restricted": known is not None, "readers": readers}).data)
