"""The API of the queue, of comments and of notifications."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, member_condition
from workbench.review import bulk, queue
from workbench.review.blindness import comments_shown
from workbench.review.candidates import candidate_for
from workbench.review.comments import comment_add
from workbench.review.filters import QueueFilter, queue_filtered
from workbench.review.models import Comment, Notification, QueueItem
from workbench.review.notifications import notifications_read, wish_of, wish_set
from workbench.runs.models import Run
from workbench.runs.selectors import run_for

from . import review_serializers as shapes
from .base import IDEMPOTENCY, ApiViewSet, checked
from .review_views import RUN, run_filter

FILTERS = [
    OpenApiParameter(name, OpenApiTypes.STR, description=said)
    for name, said in {
        "collection": "Slug of a collection.",
        "show": "`required` (the default) or `all`.",
        "stage": "`first`, `second` or `adjudication`.",
        "why": "A code of why it waits.",
        "role": "The machine's role, or `undecided`.",
        "detector": "A detector that found it.",
        "decided_by": "Kind of the machine's decider.",
        "document": "Part of a document's name.",
        "age": "Waits at least so many days.",
        "assignee": "`me`, `nobody` or `others`.",
    }.items()
]


def _filters(request: Request) -> QueueFilter:
    return QueueFilter.of(request.query_params.dict())


@extend_schema_view(list=extend_schema(parameters=FILTERS))
class QueueViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[QueueItem]):
    """What waits for people."""

    queryset = QueueItem.objects.none()
    serializer_class = shapes.QueueItemSerializer

    def get_queryset(self) -> QuerySet[QueueItem]:
        """Items of collections that the caller reviews; the list is what waits, filtered."""
        related = ("collection", "claimed_by", "assigned_to", "run")
        if self.action == "list":
            found = queue_filtered(user=self.request.user, filters=_filters(self.request))
            return found.select_related(*related)
        condition = member_condition(self.request.user, Permission.REVIEW, prefix="collection")
        if self.action in {"release", "hand_over"}:
            condition |= member_condition(self.request.user, Permission.MANAGE, prefix="collection")
        return QueueItem.objects.filter(condition).select_related(*related)

    @extend_schema(request=None, parameters=FILTERS, responses={200: shapes.QueueItemSerializer, 204: None})
    @action(detail=False, methods=["post"])
    def next(self, request: Request) -> Response:
        """Claims the most urgent item of the filter; 204 when nothing waits."""
        item = queue.queue_claim_next(actor=request.user, filters=_filters(request))
        if item is None:
            return Response(status=status.HTTP_204_NO_CONTENT)
        return Response(self.get_serializer(item).data)

    @extend_schema(request=None, responses=shapes.QueueItemSerializer)
    @action(detail=True, methods=["post"])
    def claim(self, request: Request, pk: str) -> Response:
        """Takes an item, or keeps it for longer."""
        return Response(
            self.get_serializer(queue.queue_claim(actor=request.user, item=self.get_object())).data
        )

    @extend_schema(request=None, responses=shapes.QueueItemSerializer)
    @action(detail=True, methods=["post"])
    def release(self, request: Request, pk: str) -> Response:
        """Gives an item back to everybody."""
        item = self.get_object()
        queue.queue_release(actor=request.user, item=item)
        item.refresh_from_db()
        return Response(self.get_serializer(item).data)

    @extend_schema(request=shapes.HandOverSerializer, responses=shapes.QueueItemSerializer)
    @action(detail=True, methods=["post"], url_path="hand-over")
    def hand_over(self, request: Request, pk: str) -> Response:
        """Keeps an item for another reviewer."""
        item = self.get_object()
        given = checked(request, shapes.HandOverSerializer)
        members = User.objects.filter(memberships__collection=item.collection_id).distinct()
        person = get_object_or_404(members, pk=given["person"])
        handed = queue.queue_hand_over(actor=request.user, item=item, to=person, note=given["note"])
        return Response(self.get_serializer(handed).data)

    @extend_schema(parameters=FILTERS, responses=shapes.BulkSerializer, methods=["get"])
    @extend_schema(
        parameters=FILTERS,
        request=shapes.BulkApproveSerializer,
        responses=shapes.BulkOutcomeSerializer,
        methods=["post"],
    )
    @action(detail=False, methods=["get", "post"], pagination_class=None)
    def bulk(self, request: Request) -> Response:
        """GET: what would be approved at once. POST: approves exactly that."""
        filters = _filters(request)
        if request.method == "GET":
            preview = bulk.bulk_preview(actor=request.user, filters=filters)
            body: dict[str, Any] = {
                "digest": preview.digest,
                "total": preview.total,
                "items": [item.pk for item in preview.items],
                "left_out": preview.left_out,
            }
            return Response(shapes.BulkSerializer(body).data)
        given = checked(request, shapes.BulkApproveSerializer)
        outcome = bulk.bulk_approve(actor=request.user, filters=filters, **given)
        return Response(
            shapes.BulkOutcomeSerializer(
                {"approved": outcome.approved, "refused": dict(outcome.refused)}
            ).data
        )


@extend_schema_view(list=extend_schema(parameters=[RUN]))
class CommentViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[Comment]):
    """What people say on runs and candidates."""

    queryset = Comment.objects.none()
    serializer_class = shapes.CommentSerializer

    def get_queryset(self) -> QuerySet[Comment]:
        """Only those of runs visible to the caller."""
        runs = Run.objects.visible_to(self.request.user)
        rows = comments_shown(user=self.request.user)
        rows = rows.filter(run__in=runs.values("pk")).select_related("author")
        run = run_filter(self.request)
        return rows if run is None else rows.filter(run_id=run)

    @extend_schema(request=shapes.CommentCreateSerializer, responses={201: shapes.CommentSerializer})
    def create(self, request: Request) -> Response:
        """Says something; members mentioned as `@name` are told."""
        given = checked(request, shapes.CommentCreateSerializer)
        key = given["candidate"]
        outcome = comment_add(
            actor=request.user,
            run=run_for(user=request.user, pk=given["run"]),
            body=given["body"],
            candidate=candidate_for(user=request.user, pk=key) if key else None,
        )
        outcome.comment.refresh_from_db()
        return Response(shapes.CommentSerializer(outcome.comment).data, status=status.HTTP_201_CREATED)


class NotificationViewSet(mixins.ListModelMixin, ApiViewSet[Notification]):
    """What the caller was told."""

    queryset = Notification.objects.none()
    serializer_class = shapes.NotificationSerializer

    def get_queryset(self) -> QuerySet[Notification]:
        """The caller's own."""
        return Notification.objects.visible_to(self.request.user).select_related("actor")

    @extend_schema(request=shapes.NotificationsReadSerializer, responses={204: None})
    @action(detail=False, methods=["post"])
    def read(self, request: Request) -> Response:
        """Marks some as read, or all."""
        given = checked(request, shapes.NotificationsReadSerializer)
        notifications_read(user=request.user, keys=given.get("ids"))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(methods=["GET"], responses=shapes.WishSerializer)
    @extend_schema(
        methods=["POST"],
        parameters=[IDEMPOTENCY],
        request=shapes.WishSerializer,
        responses=shapes.WishSerializer,
    )
    @action(detail=False, methods=["get", "post"], pagination_class=None)
    def wish(self, request: Request) -> Response:
        """When the caller is told by e-mail; POST changes it, with a token that may do more than read."""
        if request.method == "GET":
            return Response(shapes.WishSerializer(wish_of(user=request.user)).data)
        given = checked(request, shapes.WishSerializer)
        return Response(shapes.WishSerializer(wish_set(user=request.user, **given)).data)
