"""The API: everything the pages can do. Objects of other collections answer 404, as if they did not exist."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.db.models import QuerySet
from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.accounts.permissions import Permission
from workbench.documents.models import Collection, Document
from workbench.documents.selectors import collection_for, document_for
from workbench.documents.services import (
    collection_create,
    document_cancel,
    document_retry,
    document_upload,
)
from workbench.documents.views import original_response
from workbench.review.blindness import is_withheld, of_withheld_run, require_sight, reviews_shown
from workbench.review.candidates import candidate_for, candidates_of
from workbench.review.models import Review, ReviewAction
from workbench.review.results import run_audit, run_result
from workbench.review.selectors import REVIEWS
from workbench.review.services import candidate_approve, candidate_override, candidate_unsure
from workbench.runs.estimates import question_estimate
from workbench.runs.models import Candidate, Run
from workbench.runs.services import question_ask, run_cancel

from . import serializers as shapes
from .base import IDEMPOTENCY, ApiViewSet, checked, idempotency_key, number_parameter
from .document_actions import DocumentDescriptionActions, DocumentVersionActions
from .erasure_actions import CollectionKeepingActions, DocumentErasureActions
from .people_actions import CollectionPeopleActions
from .review_actions import CandidateReviewActions, RunReviewActions
from .settings_actions import CollectionSettingsActions
from .threshold_actions import CollectionThresholdActions
from .trust_actions import CollectionTrustActions

COLLECTION = OpenApiParameter("collection", OpenApiTypes.STR, description="Slug of a collection.")
RUN = OpenApiParameter("run", OpenApiTypes.INT, description="Key of a run.")


class CollectionViewSet(
    CollectionKeepingActions,
    CollectionPeopleActions,
    CollectionSettingsActions,
    CollectionThresholdActions,
    CollectionTrustActions,
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    mixins.CreateModelMixin,
    ApiViewSet[Collection],
):
    """Collections the caller belongs to."""

    queryset = Collection.objects.none()
    serializer_class = shapes.CollectionSerializer
    lookup_field = "slug"
    lookup_value_regex = "[-a-zA-Z0-9_]+"

    def get_queryset(self) -> QuerySet[Collection]:
        """Only those visible to the caller."""
        return Collection.objects.visible_to(self.request.user)

    @extend_schema(request=shapes.CollectionCreateSerializer, responses={201: shapes.CollectionSerializer})
    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A new collection; the caller becomes its admin and analyst."""
        given = checked(request, shapes.CollectionCreateSerializer)
        collection = collection_create(actor=request.user, **given)
        return Response(shapes.CollectionSerializer(collection).data, status=status.HTTP_201_CREATED)


@extend_schema_view(list=extend_schema(parameters=[COLLECTION]))
class DocumentViewSet(
    DocumentErasureActions,
    DocumentDescriptionActions,
    DocumentVersionActions,
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    ApiViewSet[Document],
):
    """Documents."""

    queryset = Document.objects.none()
    serializer_class = shapes.DocumentSerializer

    def get_queryset(self) -> QuerySet[Document]:
        """Only those visible to the caller."""
        documents = Document.objects.visible_to(self.request.user).select_related("collection")
        slug = self.request.query_params.get("collection")
        return documents.filter(collection__slug=slug) if slug else documents

    @extend_schema(
        request={"multipart/form-data": shapes.DocumentUploadSerializer},
        responses={201: shapes.DocumentSerializer, 200: shapes.DocumentSerializer},
    )
    def create(self, request: Request) -> Response:
        """Uploads a file: 201 for a new document, 200 when the same bytes are here already."""
        given = checked(request, shapes.DocumentUploadSerializer)
        file = given["file"]
        collection = collection_for(user=request.user, slug=given["collection"], permission=Permission.VIEW)
        outcome = document_upload(actor=request.user, collection=collection, file=file, name=file.name)
        code = status.HTTP_200_OK if outcome.is_duplicate else status.HTTP_201_CREATED
        return Response(shapes.DocumentSerializer(outcome.document).data, status=code)

    @extend_schema(responses={(200, "application/octet-stream"): OpenApiTypes.BINARY})
    @action(detail=True, methods=["get"])
    def original(self, request: Request, pk: str) -> FileResponse:
        """The uploaded bytes; 404 once the document is deleted."""
        return original_response(document=document_for(user=request.user, pk=int(pk)))

    @extend_schema(request=None, responses=shapes.DocumentSerializer)
    @action(detail=True, methods=["post"])
    def retry(self, request: Request, pk: str) -> Response:
        """Another attempt at a failed or cancelled document."""
        document = document_retry(actor=request.user, document=document_for(user=request.user, pk=int(pk)))
        return Response(shapes.DocumentSerializer(document).data)

    @extend_schema(request=None, responses=shapes.DocumentSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Stops a document on its way."""
        document = document_cancel(actor=request.user, document=document_for(user=request.user, pk=int(pk)))
        return Response(shapes.DocumentSerializer(document).data)


class QuestionViewSet(ApiViewSet[Run]):
    """Asking."""

    remembers_posts = False  # a run knows its key
    queryset = Run.objects.none()
    serializer_class = shapes.AskSerializer

    @extend_schema(
        parameters=[IDEMPOTENCY],
        request=shapes.AskSerializer,
        responses={201: shapes.AskedSerializer, 200: shapes.AskedSerializer},
    )
    def create(self, request: Request) -> Response:
        """Asks a question: 201 for a new run, 200 when an earlier run answers it."""
        asked = checked(request, shapes.AskSerializer)
        collection = collection_for(user=request.user, slug=asked["collection"])
        document = (
            document_for(user=request.user, pk=asked["document"]) if asked["document"] is not None else None
        )
        outcome = question_ask(
            actor=request.user,
            collection=collection,
            text=asked["text"],
            document=document,
            strategy=asked["strategy"],
            use_cache=asked["use_cache"],
            follow_references=asked["follow_references"],
            filters=asked.get("filters"),
            methods=asked["methods"],
            edits=asked.get("keywords"),
            rubric=asked.get("criteria"),
            options=asked.get("options"),
            idempotency_key=idempotency_key(request),
        )
        run = outcome.run
        run.is_withheld = is_withheld(user=request.user, run=run)
        code = status.HTTP_200_OK if outcome.is_cached else status.HTTP_201_CREATED
        return Response(
            {"cached": outcome.is_cached, "run": _run_shape().to_representation(run)}, status=code
        )

    @extend_schema(parameters=[shapes.EstimateQuerySerializer], responses=shapes.EstimateSerializer)
    @action(detail=False, methods=["get"], pagination_class=None)
    def estimate(self, request: Request) -> Response:
        """The planned calls to a language model and their cost, before a question is asked."""
        query = shapes.EstimateQuerySerializer(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        wanted = dict(query.validated_data)
        found = question_estimate(
            collection=collection_for(
                user=request.user, slug=wanted.pop("collection"), permission=Permission.ASK
            ),
            strategy=wanted.pop("strategy"),
            given=wanted,
        )
        return Response(shapes.EstimateSerializer(found).data)


@cache
def _run_shape() -> shapes.RunSerializer:
    """Made once: each new one finds out anew what the fields of its model are. It knows no caller, so that a run says
    itself whether it ``is_withheld``."""
    return shapes.RunSerializer()


@extend_schema_view(list=extend_schema(parameters=[COLLECTION]))
class RunViewSet(RunReviewActions, mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[Run]):
    """Runs, newest first."""

    queryset = Run.objects.none()
    serializer_class = shapes.RunSerializer

    def get_queryset(self) -> QuerySet[Run]:
        """Only those visible to the caller."""
        runs = Run.objects.visible_to(self.request.user).select_related("collection", "question")
        slug = self.request.query_params.get("collection")
        runs = runs.filter(collection__slug=slug) if slug else runs
        return runs.annotate(is_withheld=of_withheld_run(user=self.request.user, run="pk"))

    @extend_schema(responses={(200, "application/json"): OpenApiTypes.OBJECT})
    @action(detail=True, methods=["get"])
    def record(self, request: Request, pk: str) -> Response:
        """The run in the audit format: RetrievalResult and AuditedRetrievalResult; and its answer."""
        run = self.get_object()
        require_sight(user=request.user, runs=[run])
        rows, answer = candidates_of(run), run.answers.last()
        return Response(
            {
                "run_id": run.pk,
                "strategy": run.strategy,
                "result": run_result(run, rows).model_dump(mode="json"),
                "audit": run_audit(run, rows).model_dump(mode="json"),
                "answer": answer.body if answer else None,
            }
        )

    @extend_schema(request=None, responses=shapes.RunSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Stops a run on its way."""
        run = self.get_object()
        run_cancel(actor=request.user, run=run)
        run.refresh_from_db()
        return Response(self.get_serializer(run).data)


@extend_schema_view(list=extend_schema(parameters=[RUN]))
class CandidateViewSet(
    CandidateReviewActions,
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    ApiViewSet[Candidate],
):
    """Candidates with their verdicts and decisions."""

    queryset = Candidate.objects.none()
    serializer_class = shapes.CandidateSerializer

    def get_queryset(self) -> QuerySet[Candidate]:
        """Only those of runs visible to the caller."""
        runs = Run.objects.visible_to(self.request.user)
        candidates = (
            Candidate.objects.filter(run__in=runs.values("pk"))
            .select_related("verdict", "text", "document", "queue_item", "run__collection")
            .prefetch_related(REVIEWS)
        )
        run = number_parameter(self.request, "run")
        return candidates.filter(run_id=run) if run is not None else candidates


@extend_schema_view(list=extend_schema(parameters=[RUN]))
class ReviewViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[Review]):
    """Decisions of people; each stays for ever. Those on cards that are hidden from the caller come once the caller
    has decided."""

    queryset = Review.objects.none()
    serializer_class = shapes.ReviewSerializer

    def get_queryset(self) -> QuerySet[Review]:
        """Only those of runs visible to the caller."""
        runs = Run.objects.visible_to(self.request.user)
        shown = reviews_shown(user=self.request.user)
        reviews = shown.filter(run__in=runs.values("pk")).select_related("reviewer")
        run = number_parameter(self.request, "run")
        return reviews.filter(run_id=run) if run is not None else reviews

    @extend_schema(request=shapes.ReviewCreateSerializer, responses={201: shapes.ReviewSerializer})
    def create(self, request: Request) -> Response:
        """Approves or overrides a verdict, or says that one can't tell."""
        given = checked(request, shapes.ReviewCreateSerializer)
        candidate = candidate_for(user=request.user, pk=given["candidate"])
        common = {"actor": request.user, "candidate": candidate, "comment": given["comment"]}
        if given["action"] == ReviewAction.APPROVE:
            review = candidate_approve(**common, seen_review_id=given["seen_review"])
        elif given["action"] == ReviewAction.OVERRIDE:
            review = candidate_override(
                **common,
                role=given["role"] or "",
                reason_code=given["reason_code"],
                seen_review_id=given["seen_review"],
            )
        else:
            review = candidate_unsure(**common)
        return Response(shapes.ReviewSerializer(review).data, status=status.HTTP_201_CREATED)
