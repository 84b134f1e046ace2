"""Files of labels and of pairs to label, also in the formats of others: TREC files, and tasks of Label Studio."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.api.base import Actions, checked
from workbench.infra.exports import download

from . import dataset, label_studio, transfer, trec
from .matching import match_by_worker
from .models import SourceChoice

_TEXT = {
    (200, "text/plain"): OpenApiResponse(OpenApiTypes.STR, description="Plain text, UTF-8, one row per line.")
}
_STRATEGY = OpenApiParameter("strategy", OpenApiTypes.STR, description="Name of the strategy.")


class LabelFileSerializer(serializers.Serializer[Any]):
    """A file of labels. ``table`` is CSV or JSON lines. ``trec`` is qrels with their ``topics`` (name, tab, question).
    ``label-studio`` is a JSON export of annotated tasks. ``judge`` is the annotator or model for rows without one."""

    file = serializers.FileField(allow_empty_file=True)
    file_format = serializers.ChoiceField(choices=["table", "trec", "label-studio"])
    topics = serializers.FileField(required=False)
    source = serializers.ChoiceField(choices=[SourceChoice.ANNOTATOR.value, SourceChoice.LLM.value])
    judge = serializers.CharField(max_length=200, required=False, default="", allow_blank=True)
    is_gold = serializers.BooleanField(required=False, default=False)
    dry_run = serializers.BooleanField(required=False, default=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Qrels mean nothing without topics."""
        if attrs["file_format"] == "trec" and "topics" not in attrs:
            raise ValidationError(
                {"topics": ["Add a topics file: one line per topic with name, tab, question."]}
            )
        return attrs


class PairFileSerializer(serializers.Serializer[Any]):
    """A file of pairs to label, CSV or JSON lines. A given role is the known answer of its pair."""

    file = serializers.FileField(allow_empty_file=True)
    dry_run = serializers.BooleanField(required=False, default=False)


class RefusedRowSerializer(serializers.Serializer[Any]):
    """A refused row and the reason."""

    line = serializers.IntegerField()
    text = serializers.CharField()
    problem = serializers.CharField()


class LabelImportSerializer(serializers.Serializer[Any]):
    """Result of an import. With any bad row, nothing is imported. ``idle`` rows are valid but train nothing, because no
    candidate overlaps enough with their lines. For ``not_checked`` rows this is not known yet."""

    rows = serializers.IntegerField()
    good = serializers.IntegerField()
    added = serializers.IntegerField()
    known = serializers.IntegerField()
    dry_run = serializers.BooleanField()
    bad_count = serializers.IntegerField()
    bad = RefusedRowSerializer(many=True)
    idle_count = serializers.IntegerField()
    idle = RefusedRowSerializer(many=True)
    not_checked = serializers.IntegerField()


class TaskDataSerializer(serializers.Serializer[Any]):
    """What an annotator sees, and its location."""

    question = serializers.CharField()
    passage = serializers.CharField()
    name = serializers.CharField()
    document = serializers.CharField()
    page = serializers.IntegerField()
    line_from = serializers.IntegerField()
    page_to = serializers.IntegerField()
    line_to = serializers.IntegerField()


class TaskSerializer(serializers.Serializer[Any]):
    """A Label Studio task."""

    id = serializers.IntegerField()
    data = TaskDataSerializer()


class PairExchange(Actions):
    """Files of a labelling project; ``get_object`` gives one that the caller sees."""

    @extend_schema(
        request={"multipart/form-data": PairFileSerializer},
        responses=LabelImportSerializer,
    )
    @action(
        detail=True, methods=["post"], url_path="import", url_name="import", parser_classes=[MultiPartParser]
    )
    def take_in(self, request: Request, pk: str) -> Response:
        """Imports a file of pairs, all or nothing. With ``dry_run``, only validates it."""
        project = self.get_object()
        given = checked(request, PairFileSerializer)
        content = given["file"].read(transfer.MAX_BYTES + 1)
        report = transfer.pairs_import(
            actor=request.user, project=project, content=content, dry_run=given["dry_run"]
        )
        return Response(LabelImportSerializer(report).data)


class LabelExchange(Actions):
    """Actions of a collection's labels; ``get_object`` gives a collection that the caller manages."""

    @extend_schema(responses=_TEXT)
    @action(detail=True, methods=["get"])
    def qrels(self, request: Request, slug: str) -> HttpResponse:
        """Downloads TREC qrels with the effective label of every pair, graded 2 (primary), 1 (supporting) or 0."""
        collection = self.get_object()
        return download(
            trec.qrels_text(actor=request.user, collection=collection), f"{collection.slug}.qrels"
        )

    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
    @action(detail=True, methods=["get"])
    def dataset(self, request: Request, slug: str) -> HttpResponse:
        """Downloads the effective label of every pair with its passage, as a ZIP for the Hugging Face `datasets`
        library."""
        collection = self.get_object()
        body = dataset.labels_dataset(actor=request.user, collection=collection)
        return download(body, f"labels-{collection.slug}.zip")

    @extend_schema(responses=_TEXT, parameters=[_STRATEGY])
    @action(detail=True, methods=["get"])
    def topics(self, request: Request, slug: str) -> HttpResponse:
        """Downloads the TREC topics of the qrels and runs: name, tab, question."""
        collection = self.get_object()
        strategy = request.query_params.get("strategy", "")
        return download(
            trec.topics_text(collection=collection, strategy=strategy), f"{collection.slug}-topics.tsv"
        )

    @extend_schema(
        responses=_TEXT,
        parameters=[
            OpenApiParameter("strategy", OpenApiTypes.STR, required=True, description="Name of the strategy.")
        ],
    )
    @action(detail=True, methods=["get"], url_path="trec-run")
    def trec_run(self, request: Request, slug: str) -> HttpResponse:
        """Downloads a TREC run: the ranking from each question's newest finished run with the strategy."""
        collection = self.get_object()
        strategy = request.query_params.get("strategy", "")
        text = trec.run_text(actor=request.user, collection=collection, strategy=strategy)
        return download(text, f"{collection.slug}.run")

    @extend_schema(
        request={"multipart/form-data": LabelFileSerializer},
        responses=LabelImportSerializer,
    )
    @action(
        detail=True, methods=["post"], url_path="import", url_name="import", parser_classes=[MultiPartParser]
    )
    def take_in(self, request: Request, slug: str) -> Response:
        """Imports a file of labels, all or nothing. With ``dry_run``, only validates it."""
        collection = self.get_object()
        given = checked(request, LabelFileSerializer)
        file, file_format, topics = given.pop("file"), given.pop("file_format"), given.pop("topics", None)
        report = transfer.labels_import(
            actor=request.user,
            collection=collection,
            content=file.read(transfer.MAX_BYTES + 1),
            file_name=file.name,
            reader=_reader(file_format, topics),
            match=match_by_worker,
            **given,
        )
        return Response(LabelImportSerializer(report).data)


def _reader(file_format: str, topics: Any) -> transfer.Reader:
    if file_format == "trec":
        return partial(trec.qrels_rows, topics=topics.read(transfer.MAX_BYTES + 1))
    return label_studio.task_rows if file_format == "label-studio" else transfer.table_rows
