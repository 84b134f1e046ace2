"""The API of runs and decisions. Whatever the caller may not see returns 404."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.db.models import QuerySet
from django.http.response import HttpResponseBase
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.accounts.permissions import Permission
from workbench.api.base import (
    ApiViewSet,
    checked,
    idempotency_key,
)
from workbench.api.conditions import address_of_object, created
from workbench.api.filtering import between_days, by_key, by_person, by_slug, by_word, one_of
from workbench.api.schema import IDEMPOTENCY
from workbench.documents.selectors import collection_for, document_for
from workbench.infra.streams import MEDIA_TYPE, EventStreamRenderer, event_stream, require_asked_for
from workbench.runs.estimates import question_estimate
from workbench.runs.following import run_look
from workbench.runs.models import Candidate, ReviewState, Run, RunStatus
from workbench.runs.selectors import run_for
from workbench.runs.serializers import AskSerializer, EstimateQuerySerializer, EstimateSerializer
from workbench.runs.services import question_ask, run_cancel

from . import serializers as shapes
from .answer_told import answer_told
from .as_of import run_as_of
from .as_of_views import moment_in
from .blindness import is_withheld, of_withheld_run, require_sight, reviews_shown
from .candidates import candidate_for, candidates_of
from .evidence import evidence_add
from .models import ItemStage, QueueItem, Review, ReviewAction, SecondReview
from .receipts import receipt_of
from .record import record_digest, signed_record
from .regeneration import answer_regenerate
from .rerun import run_again
from .results import run_audit, run_result
from .second import dispute_adjudicate, second_review_add
from .selectors import REVIEWS
from .services import (
    candidate_approve,
    candidate_choose,
    candidate_override,
    candidate_undo,
    candidate_unsure,
    not_found_confirm,
    not_found_refute,
    not_found_undo,
)
from .signing import items_to_decide


class QuestionViewSet(ApiViewSet[Run]):
    """Asking."""

    remembers_posts = False  # a run knows its key
    queryset = Run.objects.none()
    serializer_class = AskSerializer

    @extend_schema(
        parameters=[IDEMPOTENCY],
        request=AskSerializer,
        responses={201: shapes.AskedSerializer, 200: shapes.AskedSerializer},
    )
    def create(self, request: Request) -> Response:
        """Asks a question. Returns 201 for a new run, 200 if an earlier run answers it."""
        asked = checked(request, AskSerializer)
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
            follows=run_for(user=request.user, pk=asked["follows"]) if asked["follows"] is not None else None,
            idempotency_key=idempotency_key(request),
        )
        run = outcome.run
        run.is_withheld = is_withheld(user=request.user, run=run)
        code = status.HTTP_200_OK if outcome.is_cached else status.HTTP_201_CREATED
        body = {"cached": outcome.is_cached, "run": _run_shape().to_representation(run)}
        return created(body, at=address_of_object("run", run.pk), code=code)

    @extend_schema(parameters=[EstimateQuerySerializer], responses=EstimateSerializer)
    @action(detail=False, methods=["get"], pagination_class=None)
    def estimate(self, request: Request) -> Response:
        """Estimates the language model calls and cost of a question before it is asked."""
        query = EstimateQuerySerializer(data=request.query_params.dict())
        query.is_valid(raise_exception=True)
        wanted = dict(query.validated_data)
        found = question_estimate(
            collection=collection_for(
                user=request.user, slug=wanted.pop("collection"), permission=Permission.ASK
            ),
            strategy=wanted.pop("strategy"),
            given=wanted,
        )
        return Response(EstimateSerializer(found).data)


@cache
def _run_shape() -> shapes.RunSerializer:
    """Made once: each new one finds out anew what the fields of its model are. It knows no caller, so that a run says
    itself whether it ``is_withheld``."""
    return shapes.RunSerializer()


class RunViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[Run]):
    """Runs, newest first."""

    queryset = Run.objects.none()
    serializer_class = shapes.RunSerializer
    filters = {
        "collection": by_slug(),
        "document": by_key("question__document", "ID of the document asked."),
        "status": one_of("status", RunStatus),
        "review_state": one_of("review_state", ReviewState, "Review progress."),
        "strategy": by_word("strategy", "Name of the strategy."),
        "asked_by": by_person("requested_by", "Person who asked."),
        **between_days(),
    }
    orderings = ("id", "status", "review_state", "strategy", "created_at")

    def get_queryset(self) -> QuerySet[Run]:
        runs = Run.objects.visible_to(self.request.user).select_related("collection", "question")
        return runs.annotate(is_withheld=of_withheld_run(user=self.request.user, run="pk"))

    @extend_schema(responses={(200, "application/json"): OpenApiTypes.OBJECT})
    @action(detail=True, methods=["get"])
    def record(self, request: Request, pk: str) -> Response:
        """Returns the run in the audit format (RetrievalResult and AuditedRetrievalResult), with its answer."""
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
        """Cancels the run."""
        run = self.get_object()
        run_cancel(actor=request.user, run=run)
        run.refresh_from_db()
        return Response(self.get_serializer(run).data)

    @extend_schema(responses=shapes.SigningSerializer)
    @action(detail=True, methods=["get"])
    def signing(self, request: Request, pk: str) -> Response:
        """Returns what a signature would cover now, and what must be decided first."""
        run = self.get_object()
        require_sight(user=request.user, runs=[run])
        record = signed_record(run)
        waiting = [item.pk for item in items_to_decide(run=run)]
        body = {"record_sha256": record_digest(record), "record": record, "waiting": waiting}
        return Response(shapes.SigningSerializer(body).data)

    @extend_schema(request=shapes.EvidenceSerializer, responses={201: shapes.CandidateSerializer})
    @action(detail=True, methods=["post"])
    def evidence(self, request: Request, pk: str) -> Response:
        """Adds lines that the machine missed as evidence."""
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
        shape = shapes.CandidateSerializer(made, context=self.get_serializer_context())
        return created(shape.data, at=address_of_object("candidate", made.pk))

    @extend_schema(request=shapes.NotFoundSerializer, responses={201: shapes.ReviewSerializer})
    @action(detail=True, methods=["post"], url_path="not-found", url_name="not-found")
    def absence(self, request: Request, pk: str) -> Response:
        """Confirms that the documents contain no answer, or refutes it. To refute, give the location in the comment or
        name the candidate."""
        run = run_for(user=request.user, pk=int(pk))
        given = checked(request, shapes.NotFoundSerializer)
        if given["decision"] == "confirm":
            made = not_found_confirm(actor=request.user, run=run, comment=given["comment"])
        else:
            near = (
                candidate_for(user=request.user, pk=given["candidate"])
                if given["candidate"] is not None
                else None
            )
            made = not_found_refute(actor=request.user, run=run, comment=given["comment"], candidate=near)
        return created(shapes.ReviewSerializer(made).data, at=address_of_object("review", made.pk))

    @extend_schema(request=None, responses={201: shapes.ReviewSerializer})
    @action(detail=True, methods=["post"], url_path="not-found/undo", url_name="not-found-undo")
    def absence_undo(self, request: Request, pk: str) -> Response:
        """Undoes the caller's latest decision on a not-found result. The undo is stored as a new row."""
        made = not_found_undo(actor=request.user, run=run_for(user=request.user, pk=int(pk)))
        return created(shapes.ReviewSerializer(made).data, at=address_of_object("review", made.pk))

    @extend_schema(responses=shapes.AnswerSerializer)
    @action(detail=True, methods=["get"])
    def answer(self, request: Request, pk: str) -> Response:
        """Returns the answer with its citations, its state and its versions."""
        run = self.get_object()
        require_sight(user=request.user, runs=[run])
        return Response(shapes.AnswerSerializer(answer_told(run=run)).data)

    @extend_schema(request=None, responses={202: shapes.RegenerationSerializer})
    @answer.mapping.post
    def answer_anew(self, request: Request, pk: str) -> Response:
        """Requests a new version of a stale answer. Older versions are kept."""
        regeneration = answer_regenerate(actor=request.user, run=self.get_object())
        shown = shapes.RegenerationSerializer(regeneration).data
        return created(shown, at=reverse("api:run-answer", args=[pk]), code=status.HTTP_202_ACCEPTED)

    @extend_schema(responses={(200, MEDIA_TYPE): OpenApiTypes.STR})
    @action(detail=True, methods=["get"], renderer_classes=[JSONRenderer, EventStreamRenderer])
    def events(self, request: Request, pk: str) -> HttpResponseBase:
        """Streams the progress of the run as server-sent events: `progress` with its status and completed stages, then
        `end`. A stream lasts at most one minute; reconnect to continue. Requires `Accept: text/event-stream`."""
        run = self.get_object()
        require_asked_for(request.headers.get("Accept", ""))
        return event_stream(user_id=request.user.pk, look=run_look(user=request.user, pk=run.pk))

    @extend_schema(request=None, responses={201: shapes.RunSerializer})
    @action(detail=True, methods=["post"])
    def again(self, request: Request, pk: str) -> Response:
        """Asks the same question in a new run, ignoring earlier answers. The two runs can be compared."""
        run = run_again(actor=request.user, run=run_for(user=request.user, pk=int(pk)))
        return created(self.get_serializer(run).data, at=address_of_object("run", run.pk))

    @extend_schema(
        parameters=[OpenApiParameter("at", OpenApiTypes.DATETIME, required=True)],
        responses=shapes.RunThenSerializer,
    )
    @action(detail=True, methods=["get"])
    def as_of(self, request: Request, pk: str) -> Response:
        """Returns the run as it was at a given time."""
        run = self.get_object()
        moment = moment_in(request.query_params.get("at", ""))
        if moment is None:
            raise ValidationError({"at": ["Give a time, such as 2026-11-22T14:30:00Z."]})
        require_sight(user=request.user, runs=[run])
        return Response(shapes.RunThenSerializer(run_as_of(run=run, at=moment)).data)


class CandidateViewSet(
    mixins.ListModelMixin,
    mixins.RetrieveModelMixin,
    ApiViewSet[Candidate],
):
    """Candidate passages with their verdicts and decisions."""

    queryset = Candidate.objects.none()
    serializer_class = shapes.CandidateSerializer
    filters = {
        "run": by_key("run", "ID of the run."),
        "document": by_key("document", "ID of the document."),
        "collection": by_slug("run__collection__slug"),
    }
    orderings = ("id", "document")

    def get_queryset(self) -> QuerySet[Candidate]:
        runs = Run.objects.visible_to(self.request.user)
        return (
            Candidate.objects.filter(run__in=runs.values("pk"))
            .select_related("verdict", "text", "document", "queue_item", "run__collection")
            .prefetch_related(REVIEWS)
        )

    @extend_schema(request=shapes.ChoiceSerializer, responses={201: shapes.WordSerializer})
    @action(detail=True, methods=["post"])
    def choose(self, request: Request, pk: str) -> Response:
        """Submits a role for a blind card or a second review, whichever is due."""
        candidate = candidate_for(user=request.user, pk=int(pk))
        given = checked(request, shapes.ChoiceSerializer)
        item = QueueItem.objects.filter(candidate=candidate).first()
        if item is not None and item.stage == ItemStage.SECOND:
            row: Any = second_review_add(actor=request.user, candidate=candidate, **given)
        else:
            row = candidate_choose(actor=request.user, candidate=candidate, **given)
        return _word(row)

    @extend_schema(request=shapes.ChoiceSerializer, responses={201: shapes.WordSerializer})
    @action(detail=True, methods=["post"])
    def adjudicate(self, request: Request, pk: str) -> Response:
        """Resolves a disagreement between two reviewers. Requires a third person and a comment."""
        candidate = candidate_for(user=request.user, pk=int(pk))
        given = checked(request, shapes.ChoiceSerializer)
        made = dispute_adjudicate(
            actor=request.user,
            candidate=candidate,
            role=given["role"],
            reason=given["comment"],
        )
        return _word(made.review)

    @extend_schema(request=None, responses={201: shapes.WordSerializer})
    @action(detail=True, methods=["post"])
    def undo(self, request: Request, pk: str) -> Response:
        """Undoes the caller's latest decision. The undo is stored as a new row."""
        made = candidate_undo(actor=request.user, candidate=candidate_for(user=request.user, pk=int(pk)))
        return _word(made)

    @extend_schema(responses={(200, "application/json"): OpenApiTypes.OBJECT})
    @action(detail=True, methods=["get"])
    def receipt(self, request: Request, pk: str) -> Response:
        """Returns the inputs to the verdict as IDs, figures and hashes."""
        candidate = self.get_object()
        require_sight(user=request.user, runs=[candidate.run])
        return Response(receipt_of(candidate_for(user=request.user, pk=candidate.pk)))


def _word(row: Review | SecondReview) -> Response:
    """A decision is read at its own address, a second review with its candidate."""
    is_review = isinstance(row, Review)
    at = (
        address_of_object("review", row.pk) if is_review else address_of_object("candidate", row.candidate_id)
    )
    return created(shapes.WordSerializer(row).data, at=at)


class ReviewViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[Review]):
    """Review decisions. They are never deleted. Decisions on a hidden card are listed once the caller has decided
    it."""

    queryset = Review.objects.none()
    serializer_class = shapes.ReviewSerializer
    filters = {
        "run": by_key("run", "ID of the run."),
        "candidate": by_key("candidate", "ID of the candidate."),
        "collection": by_slug("run__collection__slug"),
        "reviewer": by_person("reviewer", "Reviewer."),
        "action": one_of("action", ReviewAction, "Action taken."),
        **between_days(),
    }
    orderings = ("id", "action", "created_at")

    def get_queryset(self) -> QuerySet[Review]:
        runs = Run.objects.visible_to(self.request.user)
        shown = reviews_shown(user=self.request.user)
        return shown.filter(run__in=runs.values("pk")).select_related("reviewer")

    @extend_schema(request=shapes.ReviewCreateSerializer, responses={201: shapes.ReviewSerializer})
    def create(self, request: Request) -> Response:
        """Approves or overrides a verdict, or records that the caller cannot tell."""
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
