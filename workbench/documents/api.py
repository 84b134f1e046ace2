"""The API of collections and documents. Whatever the caller may not see returns 404."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import FileResponse
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.accounts.permissions import Permission
from workbench.api.base import ApiViewSet, checked
from workbench.api.filtering import between_days, by_person, by_slug, one_of
from workbench.errors import WorkbenchError

from .describing import LONGEST_TAG, MOST_PARTIES, MOST_TAGS, document_describe
from .erasure_api import CollectionKeepingActions, DocumentErasureActions
from .field_api import FIELD_FILTERS, CollectionFieldActions, own_fields, texts
from .field_page import filter_in
from .fields import LONGEST_VALUE
from .models import Collection, Document, DocumentStatus, OfferState, VersionOffer
from .narrowing import narrowed
from .restriction_api import DocumentRestrictionActions
from .selectors import collection_for, document_for
from .serializers import (
    CollectionCreateSerializer,
    CollectionSerializer,
    DocumentSerializer,
    DocumentUploadSerializer,
    ReceivedSerializer,
)
from .services import collection_create, document_cancel, document_retry, document_upload
from .unpacking import files_upload, is_archive
from .versions import version_accept, version_decline, versions_seen
from .viewer_api import DocumentReadingActions
from .views import original_response


class VersionOfferSerializer(serializers.ModelSerializer[VersionOffer]):
    """A suggestion that a document is a new version of an older one."""

    class Meta:
        model = VersionOffer
        fields = ["document", "older", "state", "decided_at", "carried_at", "created_at"]
        read_only_fields = fields


class VersionsSerializer(serializers.Serializer[Any]):
    """All versions, oldest first, and the suggestion that concerns this document."""

    versions = DocumentSerializer(many=True)
    offer = VersionOfferSerializer(allow_null=True)


class VersionDecisionSerializer(serializers.Serializer[Any]):
    """Whether to accept the document as a new version."""

    decision = serializers.ChoiceField(choices=[OfferState.ACCEPTED, OfferState.DECLINED])


class DescriptionSerializer(serializers.Serializer[Any]):
    """Metadata of a document. Omitted fields are cleared."""

    document_type = serializers.CharField(max_length=80, required=False, default="", allow_blank=True)
    issuer = serializers.CharField(max_length=160, required=False, default="", allow_blank=True)
    jurisdiction = serializers.CharField(max_length=80, required=False, default="", allow_blank=True)
    effective_date = serializers.DateField(required=False, default=None, allow_null=True)
    tags = texts(LONGEST_TAG, MOST_TAGS)
    parties = texts(LONGEST_VALUE, MOST_PARTIES)
    fields = own_fields()  # type: ignore[assignment]


class CollectionViewSet(
    CollectionFieldActions,
    CollectionKeepingActions,
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    mixins.CreateModelMixin,
    ApiViewSet[Collection],
):
    """Collections that the caller is a member of."""

    queryset = Collection.objects.none()
    serializer_class = CollectionSerializer
    orderings = ("id", "name", "created_at")
    lookup_field = "slug"
    lookup_value_regex = "[-a-zA-Z0-9_]+"

    def get_queryset(self) -> QuerySet[Collection]:
        """Only those visible to the caller."""
        return Collection.objects.visible_to(self.request.user)

    @extend_schema(request=CollectionCreateSerializer, responses={201: CollectionSerializer})
    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Creates a collection. The caller becomes its admin and analyst."""
        given = checked(request, CollectionCreateSerializer)
        collection = collection_create(actor=request.user, **given)
        return Response(CollectionSerializer(collection).data, status=status.HTTP_201_CREATED)


@extend_schema_view(list=extend_schema(parameters=FIELD_FILTERS))
class DocumentViewSet(
    DocumentReadingActions,
    DocumentErasureActions,
    DocumentRestrictionActions,
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    ApiViewSet[Document],
):
    """Documents."""

    queryset = Document.objects.none()
    serializer_class = DocumentSerializer
    filters = {
        "collection": by_slug(),
        "status": one_of("status", DocumentStatus),
        "uploaded_by": by_person("uploaded_by", "Uploader."),
        **between_days(),
    }
    orderings = ("id", "name", "status", "created_at")

    def get_queryset(self) -> QuerySet[Document]:
        """Only those visible to the caller."""
        documents = Document.objects.visible_to(self.request.user).select_related("collection", "restriction")
        return narrowed(documents, filter_in(self.request.query_params)).prefetch_related(
            "fields__definition"
        )

    @extend_schema(
        request={"multipart/form-data": DocumentUploadSerializer},
        responses={201: DocumentSerializer, 200: DocumentSerializer},
    )
    def create(self, request: Request) -> Response:
        """Uploads a file. Returns 201 for a new document, 200 if the same bytes already exist."""
        given = checked(request, DocumentUploadSerializer)
        file = given["file"]
        collection = collection_for(user=request.user, slug=given["collection"], permission=Permission.VIEW)
        if is_archive(file.name):
            raise WorkbenchError(
                _("A ZIP becomes several documents. Send it to documents/archive/ instead."),
                code="is_archive",
            )
        outcome = document_upload(actor=request.user, collection=collection, file=file, name=file.name)
        code = status.HTTP_200_OK if outcome.is_duplicate else status.HTTP_201_CREATED
        return Response(DocumentSerializer(outcome.document).data, status=code)

    @extend_schema(
        request={"multipart/form-data": DocumentUploadSerializer}, responses={201: ReceivedSerializer}
    )
    @action(detail=False, methods=["post"])
    def archive(self, request: Request) -> Response:
        """Uploads a ZIP file. Each file in it becomes a document. Files that cannot be accepted are listed with the
        reason."""
        given = checked(request, DocumentUploadSerializer)
        file = given["file"]
        if not is_archive(file.name):
            raise WorkbenchError(
                _("This is not a ZIP. Send a single file to documents/ instead."), code="no_archive"
            )
        collection = collection_for(user=request.user, slug=given["collection"], permission=Permission.VIEW)
        received = files_upload(actor=request.user, collection=collection, file=file, name=file.name)
        documents = [outcome.document for outcome in received.outcomes]
        shown = ReceivedSerializer({"documents": documents, "refused": received.refusals})
        return Response(shown.data, status=status.HTTP_201_CREATED)

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    @action(detail=True, methods=["get"])
    def original(self, request: Request, pk: str) -> FileResponse:
        """Downloads the uploaded file. Returns 404 once the document is deleted."""
        return original_response(document=document_for(user=request.user, pk=int(pk)))

    @extend_schema(request=None, responses=DocumentSerializer)
    @action(detail=True, methods=["post"])
    def retry(self, request: Request, pk: str) -> Response:
        """Retries a failed or cancelled document."""
        document = document_retry(actor=request.user, document=document_for(user=request.user, pk=int(pk)))
        return Response(DocumentSerializer(document).data)

    @extend_schema(request=None, responses=DocumentSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Cancels processing."""
        document = document_cancel(actor=request.user, document=document_for(user=request.user, pk=int(pk)))
        return Response(DocumentSerializer(document).data)

    @extend_schema(request=DescriptionSerializer, responses=DocumentSerializer)
    @action(detail=True, methods=["post"])
    def describe(self, request: Request, pk: str) -> Response:
        """Replaces type, parties, issuer, jurisdiction, date, tags and custom fields. Questions can be filtered by
        them."""
        document = document_for(user=request.user, pk=int(pk))
        given = checked(request, DescriptionSerializer)
        return Response(
            DocumentSerializer(document_describe(actor=request.user, document=document, **given)).data
        )

    @extend_schema(responses=VersionsSerializer)
    @action(detail=True, methods=["get"])
    def versions(self, request: Request, pk: str) -> Response:
        """Lists the versions, oldest first. ``offer`` is null if the older document or its latest version is hidden
        from the caller."""
        document = document_for(user=request.user, pk=int(pk))
        sees_offer = getattr(document, "sees_offer", False)
        offer = getattr(document, "version_offer", None) if sees_offer else None
        seen = versions_seen(document=document, user=request.user)
        return Response(VersionsSerializer({"versions": seen, "offer": offer}).data)

    @extend_schema(request=VersionDecisionSerializer, responses=VersionOfferSerializer)
    @action(detail=True, methods=["post"], url_path="version-decision")
    def version_decision(self, request: Request, pk: str) -> Response:
        """Accepts or declines the suggestion that the document is a new version of another one."""
        document = document_for(user=request.user, pk=int(pk))
        given = checked(request, VersionDecisionSerializer)
        act = version_accept if given["decision"] == OfferState.ACCEPTED else version_decline
        return Response(VersionOfferSerializer(act(actor=request.user, document=document)).data)
