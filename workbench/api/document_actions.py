"""Versions of a document, as actions of its address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.documents.models import OfferState, VersionOffer
from workbench.documents.selectors import document_for
from workbench.documents.versions import version_accept, version_decline, versions_of

from .base import IDEMPOTENCY, checked
from .serializers import DocumentSerializer

if TYPE_CHECKING:
    from rest_framework.viewsets import GenericViewSet

    Base = GenericViewSet[Any]
else:
    Base = object


class VersionOfferSerializer(serializers.ModelSerializer[VersionOffer]):
    """The offer to take a document for a new version of an older one."""

    class Meta:
        model = VersionOffer
        fields = ["document", "older", "state", "decided_at", "carried_at", "created_at"]
        read_only_fields = fields


class VersionsSerializer(serializers.Serializer[Any]):
    """The chain of versions, oldest first, and the offer that concerns this document."""

    versions = DocumentSerializer(many=True)
    offer = VersionOfferSerializer(allow_null=True)


class VersionDecisionSerializer(serializers.Serializer[Any]):
    """Whether a document is a new version."""

    decision = serializers.ChoiceField(choices=[OfferState.ACCEPTED, OfferState.DECLINED])


class DocumentVersionActions(Base):
    """Reading the versions of a document, and deciding on an offer."""

    @extend_schema(responses=VersionsSerializer)
    @action(detail=True, methods=["get"])
    def versions(self, request: Request, pk: str) -> Response:
        """Every version, oldest first."""
        document = document_for(user=request.user, pk=int(pk))
        offer = getattr(document, "version_offer", None)
        return Response(VersionsSerializer({"versions": versions_of(document), "offer": offer}).data)

    @extend_schema(
        parameters=[IDEMPOTENCY], request=VersionDecisionSerializer, responses=VersionOfferSerializer
    )
    @action(detail=True, methods=["post"], url_path="version-decision")
    def version_decision(self, request: Request, pk: str) -> Response:
        """Accepts or declines that the document is a new version of the one it was offered for."""
        document = document_for(user=request.user, pk=int(pk))
        given = checked(request, VersionDecisionSerializer)
        act = version_accept if given["decision"] == OfferState.ACCEPTED else version_decline
        return Response(VersionOfferSerializer(act(actor=request.user, document=document)).data)
