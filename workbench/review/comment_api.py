"""The API of comments and notifications."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.api.base import ApiViewSet, checked
from workbench.api.filtering import between_days, by_key, by_person, one_of
from workbench.runs.models import Run
from workbench.runs.selectors import run_for

from .blindness import comments_shown
from .candidates import candidate_for
from .comments import comment_add
from .models import Comment, EmailWish, Notification, NotificationKind
from .notifications import notifications_read, wish_of, wish_set


class CommentSerializer(serializers.ModelSerializer[Comment]):
    """A comment on a run or one of its candidates."""

    author = serializers.CharField(source="author.name", read_only=True)

    class Meta:
        model = Comment
        fields = ["id", "run", "candidate", "author", "body", "created_at"]
        read_only_fields = fields


class CommentCreateSerializer(serializers.Serializer[Any]):
    """A comment to post. ``@name`` notifies a member."""

    run = serializers.IntegerField(min_value=1)
    candidate = serializers.IntegerField(min_value=1, required=False, allow_null=True, default=None)
    body = serializers.CharField(max_length=4000)


class NotificationsReadSerializer(serializers.Serializer[Any]):
    """Notifications to mark as read; all if ``ids`` is omitted."""

    ids = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1), required=False, max_length=1000
    )


class WishSerializer(serializers.Serializer[Any]):
    """When the caller is notified by e-mail: ``each`` notification immediately, ``daily`` in one e-mail, or
    ``none``."""

    email = serializers.ChoiceField(choices=EmailWish.choices)


class NotificationSerializer(serializers.ModelSerializer[Notification]):
    """The caller's notifications."""

    actor = serializers.CharField(source="actor.name", read_only=True)

    class Meta:
        model = Notification
        fields = ["id", "kind", "actor", "run", "candidate", "comment", "created_at", "read_at"]
        read_only_fields = fields


class CommentViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[Comment]):
    """Comments on runs and candidates."""

    queryset = Comment.objects.none()
    serializer_class = CommentSerializer
    filters = {
        "run": by_key("run", "ID of the run."),
        "candidate": by_key("candidate", "ID of the candidate."),
        "author": by_person("author", "Author."),
        **between_days(),
    }
    orderings = ("id", "created_at")

    def get_queryset(self) -> QuerySet[Comment]:
        runs = Run.objects.visible_to(self.request.user)
        rows = comments_shown(user=self.request.user)
        return rows.filter(run__in=runs.values("pk")).select_related("author")

    @extend_schema(request=CommentCreateSerializer, responses={201: CommentSerializer})
    def create(self, request: Request) -> Response:
        """Posts a comment. Members mentioned as `@name` are notified."""
        given = checked(request, CommentCreateSerializer)
        key = given["candidate"]
        outcome = comment_add(
            actor=request.user,
            run=run_for(user=request.user, pk=given["run"]),
            body=given["body"],
            candidate=candidate_for(user=request.user, pk=key) if key else None,
        )
        outcome.comment.refresh_from_db()
        return Response(CommentSerializer(outcome.comment).data, status=status.HTTP_201_CREATED)


class NotificationViewSet(mixins.ListModelMixin, ApiViewSet[Notification]):
    """The caller's notifications."""

    queryset = Notification.objects.none()
    serializer_class = NotificationSerializer
    filters = {
        "run": by_key("run", "ID of the run."),
        "kind": one_of("kind", NotificationKind, "Kind of notification."),
        **between_days(),
    }
    orderings = ("id", "kind", "created_at")

    def get_queryset(self) -> QuerySet[Notification]:
        return Notification.objects.visible_to(self.request.user).select_related("actor")

    @extend_schema(request=NotificationsReadSerializer, responses={204: None})
    @action(detail=False, methods=["post"])
    def read(self, request: Request) -> Response:
        """Marks some or all notifications as read."""
        given = checked(request, NotificationsReadSerializer)
        notifications_read(user=request.user, keys=given.get("ids"))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(methods=["GET"], responses=WishSerializer)
    @extend_schema(
        methods=["POST"],
        request=WishSerializer,
        responses=WishSerializer,
    )
    @action(detail=False, methods=["get", "post"], pagination_class=None)
    def wish(self, request: Request) -> Response:
        """GET returns when the caller is notified by e-mail. POST changes it; a read-only token is not enough."""
        if request.method == "GET":
            return Response(WishSerializer(wish_of(user=request.user)).data)
        given = checked(request, WishSerializer)
        return Response(WishSerializer(wish_set(user=request.user, **given)).data)
