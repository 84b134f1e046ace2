"""Versions of a document and what is known of it, as actions of its address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.documents.describing import LONGEST_TAG, MOST_TAGS, document_describe
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


class DescriptionSerializer(serializers.Serializer[Any]):
    """What is known of a document beside its text; what is left out is unknown."""

    document_type = serializers.CharField(max_length=80, required=False, default="", allow_blank=True)
    issuer = serializers.CharField(max_length=160, required=False, default="", allow_blank=True)
    jurisdiction = serializers.CharField(max_length=80, required=False, default="", allow_blank=True)
    effective_date = serializers.DateField(required=False, default=None, allow_null=True)
    tags = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_TAG),
        required=False,
        default=list,
        max_length=MOST_TAGS,
    )


class DocumentDescriptionActions(Base):
    """Saying what a document is."""

    @extend_schema(parameters=[IDEMPOTENCY], request=DescriptionSerializer, responses=DocumentSerializer)
    @action(detail=True, methods=["post"])
    def describe(self, request: Request, pk: str) -> Response:
        """Puts type, issuer, jurisdiction, date and tags in place of those before. Questions are narrowed by them."""
        document = document_for(user=request.user, pk=int(pk))
        given = checked(request, DescriptionSerializer)
        return Response(
            DocumentSerializer(document_describe(actor=request.user, document=document, **given)).data
        )


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
