"""What reviewers do with one run or one candidate, as actions of their addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.documents.selectors import document_for
from workbench.review.as_of import run_as_of
from workbench.review.as_of_views import moment_in
from workbench.review.blindness import require_sight
from workbench.review.candidates import candidate_for
from workbench.review.evidence import evidence_add
from workbench.review.models import ItemStage, QueueItem
from workbench.review.receipts import receipt_of
from workbench.review.record import record_digest, signed_record
from workbench.review.regeneration import answer_regenerate
from workbench.review.rerun import run_again
from workbench.review.second import dispute_adjudicate, second_review_add
from workbench.review.services import (
    candidate_choose,
    candidate_undo,
    not_found_confirm,
    not_found_refute,
    not_found_undo,
)
from workbench.review.signing import items_to_decide
from workbench.runs.selectors import run_for

from . import review_serializers as shapes
from .base import IDEMPOTENCY, checked
from .serializers import CandidateSerializer, ReviewSerializer, RunSerializer

if TYPE_CHECKING:
    from rest_framework.viewsets import GenericViewSet

    Base = GenericViewSet[Any]
else:
    Base = object


class RunReviewActions(Base):
    """Signing, added evidence, a word on a not-found, a new answer, running again."""

    @extend_schema(responses=shapes.SigningSerializer)
    @action(detail=True, methods=["get"])
    def signing(self, request: Request, pk: str) -> Response:
        """What a signature would be bound to now, and what must be decided first."""
        run = self.get_object()
        require_sight(user=request.user, runs=[run])
        record = signed_record(run)
        waiting = [item.pk for item in items_to_decide(run=run)]
        body = {"record_sha256": record_digest(record), "record": record, "waiting": waiting}
        return Response(shapes.SigningSerializer(body).data)

    @extend_schema(request=shapes.EvidenceSerializer, responses={201: CandidateSerializer})
    @action(detail=True, methods=["post"])
    def evidence(self, request: Request, pk: str) -> Response:
        """Makes lines of a document evidence that the machine missed."""
        run = self.get_object()
        given = checked(request, shapes.EvidenceSerializer)
        candidate = evidence_add(
            actor=request.user,
            run=run,
            document=document_for(user=request.user, pk=given["document"]),
            first=(given["page_start"], given["line_start"]),
            last=(given["page_end"], given["line_end"]),
            role=given["role"],
            reason=given["reason"],
        )
        made = candidate_for(user=request.user, pk=candidate.pk)
        shape = CandidateSerializer(made, context=self.get_serializer_context())
        return Response(shape.data, status=status.HTTP_201_CREATED)

    @extend_schema(
        parameters=[IDEMPOTENCY], request=shapes.NotFoundSerializer, responses={201: ReviewSerializer}
    )
    @action(detail=True, methods=["post"], url_path="not-found", url_name="not-found")
    def absence(self, request: Request, pk: str) -> Response:
        """Confirms that the documents do not answer, or refutes it: the comment then says where they do."""
        run = run_for(user=request.user, pk=int(pk))
        given = checked(request, shapes.NotFoundSerializer)
        act = not_found_confirm if given["decision"] == "confirm" else not_found_refute
        made = act(actor=request.user, run=run, comment=given["comment"])
        return Response(ReviewSerializer(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(parameters=[IDEMPOTENCY], request=None, responses={201: ReviewSerializer})
    @action(detail=True, methods=["post"], url_path="not-found/undo", url_name="not-found-undo")
    def absence_undo(self, request: Request, pk: str) -> Response:
        """Takes the caller's own last word on a not-found back, by a row of its own."""
        made = not_found_undo(actor=request.user, run=run_for(user=request.user, pk=int(pk)))
        return Response(ReviewSerializer(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses={202: shapes.RegenerationSerializer})
    @action(detail=True, methods=["post"])
    def answer(self, request: Request, pk: str) -> Response:
        """Asks for a new version of a stale answer; the older ones stay."""
        regeneration = answer_regenerate(actor=request.user, run=self.get_object())
        return Response(shapes.RegenerationSerializer(regeneration).data, status=status.HTTP_202_ACCEPTED)

    @extend_schema(request=None, responses={201: RunSerializer})
    @action(detail=True, methods=["post"])
    def again(self, request: Request, pk: str) -> Response:
        """The same question again, afresh: a run of its own, to be compared with this one."""
        run = run_again(actor=request.user, run=run_for(user=request.user, pk=int(pk)))
        return Response(self.get_serializer(run).data, status=status.HTTP_201_CREATED)

    @extend_schema(
        parameters=[OpenApiParameter("at", OpenApiTypes.DATETIME, required=True)],
        responses=shapes.RunThenSerializer,
    )
    @action(detail=True, methods=["get"])
    def as_of(self, request: Request, pk: str) -> Response:
        """The run as it stood at a moment."""
        run = self.get_object()
        moment = moment_in(request.query_params.get("at", ""))
        if moment is None:
            raise ValidationError({"at": ["Give a time, such as 2026-11-22T14:30:00Z."]})
        require_sight(user=request.user, runs=[run])
        return Response(shapes.RunThenSerializer(run_as_of(run=run, at=moment)).data)


class CandidateReviewActions(Base):
    """Receipts, blind decisions and second reviews, adjudications, taking back."""

    @extend_schema(request=shapes.ChoiceSerializer, responses={201: shapes.WordSerializer})
    @action(detail=True, methods=["post"])
    def choose(self, request: Request, pk: str) -> Response:
        """A role for a blind card, or a second review, whichever the card waits for."""
        candidate = candidate_for(user=request.user, pk=int(pk))
        given = checked(request, shapes.ChoiceSerializer)
        item = QueueItem.objects.filter(candidate=candidate).first()
        if item is not None and item.stage == ItemStage.SECOND:
            row: Any = second_review_add(actor=request.user, candidate=candidate, **given)
        else:
            row = candidate_choose(actor=request.user, candidate=candidate, **given)
        return Response(shapes.WordSerializer(row).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=shapes.ChoiceSerializer, responses={201: shapes.WordSerializer})
    @action(detail=True, methods=["post"])
    def adjudicate(self, request: Request, pk: str) -> Response:
        """A third person's decision between two; the comment says why."""
        candidate = candidate_for(user=request.user, pk=int(pk))
        given = checked(request, shapes.ChoiceSerializer)
        made = dispute_adjudicate(
            actor=request.user,
            candidate=candidate,
            role=given["role"],
            reason=given["comment"],
        )
        return Response(shapes.WordSerializer(made.review).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=None, responses={201: shapes.WordSerializer})
    @action(detail=True, methods=["post"])
    def undo(self, request: Request, pk: str) -> Response:
        """Takes the caller's own last decision back, by a row of its own."""
        made = candidate_undo(actor=request.user, candidate=candidate_for(user=request.user, pk=int(pk)))
        return Response(shapes.WordSerializer(made).data, status=status.HTTP_201_CREATED)

    @extend_schema(responses={(200, "application/json"): OpenApiTypes.OBJECT})
    @action(detail=True, methods=["get"])
    def receipt(self, request: Request, pk: str) -> Response:
        """Everything that led to the verdict, by ids, figures and hashes."""
        candidate = self.get_object()
        require_sight(user=request.user, runs=[candidate.run])
        return Response(receipt_of(candidate_for(user=request.user, pk=candidate.pk)))
