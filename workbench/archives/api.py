"""Exports collections as archives, and imports archives as new collections."""

from __future__ import annotations

import tempfile
from typing import Any

from django.db.models import QuerySet
from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.accounts.permissions import Permission
from workbench.api.base import ApiViewSet, checked
from workbench.api.conditions import address_of_object, created
from workbench.api.reauthentication import asks_again, asks_again_to_read
from workbench.documents.models import Collection
from workbench.documents.selectors import collection_for

from .reading import AT_ONCE, MEGABYTE
from .services import archive_inspect, collection_export, collection_import

_IN_MEMORY = 8 * MEGABYTE


class ArchiveSerializer(serializers.Serializer[Any]):
    """An archive to import. ``collection`` is the slug of the new collection, by default the one in the archive.
    ``dry_run`` only validates."""

    file = serializers.FileField()
    collection = serializers.SlugField(required=False, max_length=80)
    dry_run = serializers.BooleanField(required=False, default=False)


class ArchiveFiguresSerializer(serializers.Serializer[Any]):
    """Contents of an archive. ``sha256`` identifies it in both audit trails. ``remarks`` list what is not imported."""

    sha256 = serializers.CharField()
    collection = serializers.CharField()
    name = serializers.CharField()
    documents = serializers.IntegerField()
    bytes = serializers.IntegerField()
    dictionary_entries = serializers.IntegerField()
    question_sets = serializers.IntegerField()
    labels = serializers.IntegerField()
    dry_run = serializers.BooleanField()
    remarks = serializers.ListField(child=serializers.CharField())


class CollectionArchiveViewSet(ApiViewSet[Collection]):
    """Archives of collections: originals, settings, vocabulary, question sets, labels; no people, no runs."""

    queryset = Collection.objects.none()
    serializer_class = ArchiveFiguresSerializer
    lookup_field = "slug"
    lookup_value_regex = "[-a-zA-Z0-9_]+"
    parser_classes = [MultiPartParser]

    def get_queryset(self) -> QuerySet[Collection]:
        """Those that the caller manages."""
        return Collection.objects.visible_to(self.request.user, Permission.MANAGE)

    @extend_schema(
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
        parameters=[OpenApiParameter("slug", OpenApiTypes.STR, OpenApiParameter.PATH)],
    )
    @asks_again_to_read
    def retrieve(self, request: Request, slug: str) -> FileResponse:
        """Downloads the collection as an archive. Requires the right to manage it. The download is recorded in the
        audit trail."""
        collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
        target = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  (the response closes it)
        try:
            collection_export(actor=request.user, collection=collection, target=target)
        except BaseException:
            target.close()
            raise
        # Octets, as exports are described too: generated clients know what to do with those alone.
        response = FileResponse(
            target,
            as_attachment=True,
            filename=f"{collection.slug}.zip",
            content_type="application/octet-stream",
        )
        response["Cache-Control"] = "private, no-store"
        return response

    @extend_schema(
        request={"multipart/form-data": ArchiveSerializer},
        responses={200: ArchiveFiguresSerializer, 201: ArchiveFiguresSerializer},
    )
    @asks_again
    def create(self, request: Request) -> Response:
        """Creates a collection from an archive, all or nothing. The caller becomes its admin and analyst. Workers then
        process its documents. With ``dry_run``, validates only and returns 200. Takes at most 200 documents of 200 MB
        together, 5,000 labels, 500 dictionary entries and 50 question sets. Larger archives are refused with
        ``too_large``: upload them on the page."""
        given = checked(request, ArchiveSerializer)
        common = {
            "actor": request.user,
            "stream": given["file"],
            "slug": given.get("collection", ""),
            "at_once": AT_ONCE,
        }
        if given["dry_run"]:
            return Response(ArchiveFiguresSerializer(archive_inspect(**common)).data)
        collection, figures = collection_import(**common)
        at = address_of_object("collection", collection.slug)
        return created(ArchiveFiguresSerializer(figures).data, at=at)
