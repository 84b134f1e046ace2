"""The API of the queue."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission
from workbench.api.base import ApiViewSet, checked
from workbench.runs.models import Run
from workbench.runs.selectors import run_for

from . import bulk, queue
from .filters import QueueFilter, queue_filtered
from .models import QueueItem
from .presenters import why_words
from .selectors import SEE_WHAT_IS_HELD
from .serializers import sight_in

FILTERS = [
    OpenApiParameter(name, OpenApiTypes.STR, description=said)
    for name, said in {
        "collection": "Slug of the collection.",
        "show": "Whether review is required: `required` (default) or `all`.",
        "stage": "Review step: `first`, `second` or `adjudication`.",
        "why": "Machine-readable reason for the review.",
        "role": "Machine role, or `undecided`.",
        "detector": "Detector that found the passage.",
        "decided_by": "Kind of machine decider.",
        "document": "Part of the document name.",
        "age": "Minimum age in days.",
        "assignee": "Reviewer who reserved the card: `me`, `nobody` or `others`.",
        "run": "ID of the run.",
        "order": (
            "Which card comes next: by `risk` (default), `age` or `collection`. The list itself is sorted by ID."
        ),
    }.items()
]


class QueueItemSerializer(serializers.ModelSerializer[QueueItem]):
    """A card that needs review. ``is_hidden``: decide before seeing the machine's role."""

    collection = serializers.SlugRelatedField("slug", read_only=True)
    claimed_by = serializers.CharField(source="claimed_by.name", default=None, allow_null=True)
    assigned_to = serializers.CharField(source="assigned_to.name", default=None, allow_null=True)
    is_hidden = serializers.SerializerMethodField()
    why = serializers.SerializerMethodField()

    class Meta:
        model = QueueItem
        fields = [
            "id", "collection", "run", "candidate", "state", "stage", "is_required", "is_blind", "is_hidden",
            "priority", "why", "claimed_by", "claimed_until", "assigned_to", "created_at", "decided_at",
        ]  # fmt: skip
        read_only_fields = fields

    def get_is_hidden(self, item: QueueItem) -> bool:
        """Whether the machine's role is hidden from the caller for now."""
        return sight_in(self.context).hides(item=item, run=item.run)

    def get_why(self, item: QueueItem) -> list[str]:
        """Reason for the review, in words."""
        return why_words(item, is_hidden=self.get_is_hidden(item))


class RunNamedSerializer(serializers.Serializer[Any]):
    """A run by ID."""

    run = serializers.IntegerField(min_value=1)


class ReleasedSerializer(serializers.Serializer[Any]):
    """Number of released cards."""

    released = serializers.IntegerField()


class HandOverSerializer(serializers.Serializer[Any]):
    """ID of another reviewer, and a message to them."""

    person = serializers.IntegerField(min_value=1)
    note = serializers.CharField(max_length=300, required=False, allow_blank=True, default="")


class BulkSerializer(serializers.Serializer[Any]):
    """Preview of a bulk approval."""

    digest = serializers.CharField()
    total = serializers.IntegerField()
    items = serializers.ListField(child=serializers.IntegerField())
    left_out = serializers.DictField(child=serializers.IntegerField())


class BulkApproveSerializer(serializers.Serializer[Any]):
    """To begin, give the digest of a preview, its items (all if none are given) and the reason in ``comment``. To
    finish, give ``bulk``."""

    digest = serializers.CharField(max_length=64, required=False, allow_blank=True, default="")
    comment = serializers.CharField(max_length=2000, required=False, allow_blank=True, default="")
    items = serializers.ListField(
        child=serializers.IntegerField(min_value=1), required=False, allow_null=True, default=None
    )
    bulk = serializers.IntegerField(min_value=1, required=False, allow_null=True, default=None)


class BulkOutcomeSerializer(serializers.Serializer[Any]):
    """Result of a bulk approval request."""

    approved = serializers.IntegerField()
    refused = serializers.DictField(child=serializers.IntegerField())
    bulk = serializers.IntegerField(help_text="ID of the bulk approval.")
    state = serializers.CharField(help_text="`checking`, `done` or `stopped`.")
    to_check = serializers.ListField(
        child=serializers.IntegerField(), help_text="Items to decide one by one before the rest is approved."
    )


def _filters(request: Request) -> QueueFilter:
    return QueueFilter.of(request.query_params.dict())


@extend_schema_view(list=extend_schema(parameters=FILTERS))
class QueueViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[QueueItem]):
    """Cards that need review."""

    queryset = QueueItem.objects.none()
    serializer_class = QueueItemSerializer

    def get_queryset(self) -> QuerySet[QueueItem]:
        """Items of collections that the caller reviews; the list is what waits, filtered."""
        related = ("collection", "claimed_by", "assigned_to", "run")
        if self.action == "list":
            found = queue_filtered(user=self.request.user, filters=_filters(self.request))
            return found.select_related(*related)
        frees = self.action in {"release", "hand_over"}
        permissions = SEE_WHAT_IS_HELD if frees else (Permission.REVIEW,)
        return QueueItem.objects.visible_to(self.request.user, *permissions).select_related(*related)

    @extend_schema(request=None, parameters=FILTERS, responses={200: QueueItemSerializer, 204: None})
    @action(detail=False, methods=["post"])
    def next(self, request: Request) -> Response:
        """Reserves the most urgent card that matches the filter. Returns 204 if there is none."""
        item = queue.queue_claim_next(actor=request.user, filters=_filters(request))
        if item is None:
            return Response(status=status.HTTP_204_NO_CONTENT)
        return Response(self.get_serializer(item).data)

    @extend_schema(request=None, responses=QueueItemSerializer)
    @action(detail=True, methods=["post"])
    def claim(self, request: Request, pk: str) -> Response:
        """Reserves a card, or extends the reservation."""
        return Response(
            self.get_serializer(queue.queue_claim(actor=request.user, item=self.get_object())).data
        )

    @extend_schema(request=None, responses=QueueItemSerializer)
    @action(detail=True, methods=["post"])
    def release(self, request: Request, pk: str) -> Response:
        """Releases a card."""
        item = self.get_object()
        queue.queue_release(actor=request.user, item=item)
        item.refresh_from_db()
        return Response(self.get_serializer(item).data)

    @extend_schema(
        request=RunNamedSerializer,
        parameters=FILTERS,
        responses=QueueItemSerializer(many=True),
    )
    @action(detail=False, methods=["post"], url_path="claim-run", pagination_class=None)
    def claim_run(self, request: Request) -> Response:
        """Reserves the run's open cards that match the filter and that nobody else has reserved."""
        taken = queue.queue_claim_run(actor=request.user, run=self._run(request), filters=_filters(request))
        found = QueueItem.objects.select_related("collection", "claimed_by", "assigned_to", "run")
        rows = found.in_bulk([item.pk for item in taken])
        return Response(self.get_serializer([rows[item.pk] for item in taken], many=True).data)

    @extend_schema(request=RunNamedSerializer, responses=ReleasedSerializer)
    @action(detail=False, methods=["post"], url_path="release-run", pagination_class=None)
    def release_run(self, request: Request) -> Response:
        """Releases the run's cards that the caller has reserved."""
        count = queue.queue_release_run(actor=request.user, run=self._run(request))
        return Response(ReleasedSerializer({"released": count}).data)

    def _run(self, request: Request) -> Run:
        key = checked(request, RunNamedSerializer)["run"]
        return run_for(user=request.user, pk=key, permission=Permission.REVIEW)

    @extend_schema(request=HandOverSerializer, responses=QueueItemSerializer)
    @action(detail=True, methods=["post"], url_path="hand-over")
    def hand_over(self, request: Request, pk: str) -> Response:
        """Assigns a card to another reviewer."""
        item = self.get_object()
        given = checked(request, HandOverSerializer)
        members = User.objects.filter(memberships__collection=item.collection_id).distinct()
        person = get_object_or_404(members, pk=given["person"])
        handed = queue.queue_hand_over(actor=request.user, item=item, to=person, note=given["note"])
        return Response(self.get_serializer(handed).data)

    @extend_schema(parameters=FILTERS, responses=BulkSerializer, methods=["get"])
    @extend_schema(
        parameters=FILTERS,
        request=BulkApproveSerializer,
        responses=BulkOutcomeSerializer,
        methods=["post"],
    )
    @action(detail=False, methods=["get", "post"], pagination_class=None)
    def bulk(self, request: Request) -> Response:
        """GET previews a bulk approval. POST draws the cards to decide one by one. Once they are decided, POST with
        ``bulk`` approves the rest."""
        filters = _filters(request)
        if request.method == "GET":
            preview = bulk.bulk_preview(actor=request.user, filters=filters)
            body: dict[str, Any] = {
                "digest": preview.digest,
                "total": preview.total,
                "items": [item.pk for item in preview.items],
                "left_out": preview.left_out,
            }
            return Response(BulkSerializer(body).data)
        given = checked(request, BulkApproveSerializer)
        outcome = bulk.BulkOutcome()
        if given["bulk"] is not None:
            started = bulk.bulk_for(user=request.user, pk=given["bulk"])
            outcome = bulk.bulk_finish(actor=request.user, bulk=started)
            started.refresh_from_db()
        else:
            started = bulk.bulk_start(
                actor=request.user,
                filters=filters,
                digest=given["digest"],
                reason=given["comment"],
                chosen=given["items"],
            )
        told = {
            "approved": outcome.approved,
            "refused": dict(outcome.refused),
            "bulk": started.pk,
            "state": started.state,
            "to_check": [item.pk for item in bulk.checks_of(started).waiting],
        }
        return Response(BulkOutcomeSerializer(told).data)
