"""Exports: asking for a run or a period as files, and fetching them."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.accounts.permissions import Permission
from workbench.api.base import ApiViewSet, checked
from workbench.api.filtering import between_days, by_key, by_person, by_slug, one_of
from workbench.documents.selectors import collection_for
from workbench.runs.selectors import run_for

from .days import days_between
from .models import Export, ExportFile, ExportKind, ExportState
from .selectors import export_for
from .services import MEDIA_TYPES, period_export, period_report, run_export
from .views import file_response


class ExportFileSerializer(serializers.ModelSerializer[ExportFile]):
    """A file of an export. Download it by name."""

    class Meta:
        model = ExportFile
        fields = ["name", "content_type", "size", "sha256"]
        read_only_fields = fields


class ExportSerializer(serializers.ModelSerializer[Export]):
    """An export of one run or of a period (``until`` exclusive). ``done`` of ``total`` runs are written."""

    collection = serializers.SlugRelatedField("slug", read_only=True)
    files = ExportFileSerializer(many=True, read_only=True)

    class Meta:
        model = Export
        fields = [
            "id", "collection", "kind", "run", "since", "until", "state", "done", "total", "failure", "files",
            "signed_by", "created_at", "finished_at",
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = {"signed_by": {"help_text": "ID of the signing key. Empty: not signed."}}


class ExportCreateSerializer(serializers.Serializer[Any]):
    """Either a run, or a collection with the first and last day (UTC) of a period."""

    run = serializers.IntegerField(min_value=1, max_value=2**63 - 1, required=False)
    collection = serializers.SlugField(required=False)
    first = serializers.DateField(required=False)
    last = serializers.DateField(required=False)
    kind = serializers.ChoiceField(
        choices=[str(ExportKind.RECORD), str(ExportKind.REPORT)],
        default=str(ExportKind.RECORD),
        help_text="For a period: the full record, or the report for an audit committee.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Either kind, whole."""
        period = {"collection", "first", "last"} & set(attrs)
        if ("run" in attrs) == bool(period) or (period and len(period) < 3):
            raise serializers.ValidationError("Give a run, or a collection with its first and last day.")
        if "run" in attrs and attrs["kind"] == ExportKind.REPORT:
            raise serializers.ValidationError(
                "A report covers a period: give a collection with its first and last day."
            )
        return attrs


class ExportViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[Export]):
    """Exports of records as files."""

    queryset = Export.objects.none()
    serializer_class = ExportSerializer
    filters = {
        "collection": by_slug(),
        "run": by_key("run", "ID of the run."),
        "state": one_of("state", ExportState),
        "asked_by": by_person("requested_by", "Person who asked."),
        **between_days(),
    }
    orderings = ("id", "state", "created_at")

    def get_queryset(self) -> QuerySet[Export]:
        rows = Export.objects.visible_to(self.request.user).listed().select_related("collection")
        return rows.prefetch_related("files")

    @extend_schema(request=ExportCreateSerializer, responses={202: ExportSerializer})
    def create(self, request: Request) -> Response:
        """Requests an export. A worker creates it."""
        given = checked(request, ExportCreateSerializer)
        if "run" in given:
            export = run_export(actor=request.user, run=run_for(user=request.user, pk=given["run"]))
        else:
            since, until = days_between(first=given["first"], last=given["last"])
            collection = collection_for(
                user=request.user, slug=given["collection"], permission=Permission.VIEW
            )
            ask = period_report if given["kind"] == ExportKind.REPORT else period_export
            export = ask(actor=request.user, collection=collection, since=since, until=until)
        export.refresh_from_db()
        return Response(ExportSerializer(export).data, status=status.HTTP_202_ACCEPTED)

    @extend_schema(
        responses={(200, kind): OpenApiTypes.BINARY for kind in sorted(MEDIA_TYPES)},
        parameters=[OpenApiParameter("name", OpenApiTypes.STR, OpenApiParameter.PATH)],
    )
    @action(detail=True, url_path=r"files/(?P<name>[A-Za-z0-9._-]{1,160})", url_name="file")
    def file(self, request: Request, pk: str, name: str) -> HttpResponseBase:
        """Downloads a file while it is kept. The download is recorded in the audit trail."""
        export = export_for(user=request.user, pk=int(pk))
        return file_response(actor=request.user, file=get_object_or_404(export.files, name=name))
