"""Webhooks of collections and their log: read by who reads the trail, changed by admins."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from workbench.accounts.permissions import Permission
from workbench.api.base import ApiViewSet, checked
from workbench.api.conditions import address_of_object, created
from workbench.api.filtering import between_days, by_key, by_slug, one_of
from workbench.api.reauthentication import asks_again
from workbench.documents.selectors import collection_for

from . import services
from .events import EVENTS
from .models import MAX_URL, Attempt, Delivery, DeliveryState, Webhook, WebhookFormat, WebhookState


class WebhookSerializer(serializers.ModelSerializer[Webhook]):
    """A webhook. ``failing_since`` is set while deliveries fail."""

    collection = serializers.SlugRelatedField("slug", read_only=True)
    events = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = Webhook
        fields = [
            "id", "collection", "url", "description", "format", "events", "state", "state_reason", "failing_since",
            "created_at",
        ]  # fmt: skip
        read_only_fields = fields


class WebhookWithSecretSerializer(WebhookSerializer):
    """The webhook with its secret, which is only returned on creation."""

    secret = serializers.CharField(read_only=True)

    class Meta(WebhookSerializer.Meta):
        fields = [*WebhookSerializer.Meta.fields, "secret"]
        read_only_fields = fields


class WebhookChangeSerializer(serializers.Serializer[Any]):
    """Events and address of a webhook."""

    url = serializers.CharField(max_length=MAX_URL)
    events = serializers.ListField(
        child=serializers.ChoiceField(choices=list(EVENTS)), min_length=1, max_length=len(EVENTS)
    )
    description = serializers.CharField(max_length=120, required=False, allow_blank=True, default="")
    format = serializers.ChoiceField(
        choices=WebhookFormat.choices, required=False, default=WebhookFormat.JSON
    )


class WebhookCreateSerializer(WebhookChangeSerializer):
    """A new webhook of a collection."""

    collection = serializers.SlugField()


class AttemptSerializer(serializers.ModelSerializer[Attempt]):
    """A delivery attempt. ``status`` is the receiver's HTTP status, or null if there was no response."""

    class Meta:
        model = Attempt
        fields = ["at", "outcome", "status", "latency_ms"]
        read_only_fields = fields


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    """A message to a webhook and its attempts. ``message_id`` is sent to the receiver as ``webhook-id``."""

    payload = serializers.DictField(read_only=True)
    log = AttemptSerializer(many=True, read_only=True)

    class Meta:
        model = Delivery
        fields = [
            "id", "webhook", "message_id", "action", "payload", "state", "attempts", "next_attempt_at",
            "created_at", "finished_at", "log",
        ]  # fmt: skip
        read_only_fields = fields


class RepeatedSerializer(serializers.Serializer[Any]):
    """Number of deliveries sent again."""

    repeated = serializers.IntegerField()


#: A kept answer would keep the secret; a second webhook for the same address is refused anyway.
SECRET_ACTIONS = frozenset({"create", "secret"})


class WebhookViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[Webhook]):
    """Webhooks, which push events to your systems."""

    queryset = Webhook.objects.none()
    serializer_class = WebhookSerializer
    filters = {"collection": by_slug(), "state": one_of("state", WebhookState), **between_days()}
    orderings = ("id", "state", "created_at")

    @property
    def remembers_posts(self) -> bool:  # type: ignore[override]
        """Not for responses with a secret, because these must not be stored."""
        return self.action not in SECRET_ACTIONS

    def get_queryset(self) -> QuerySet[Webhook]:
        """To read, those whose trail the caller reads; to change, those of collections the caller manages."""
        reads = self.request.method == "GET"
        permission = Permission.AUDIT if reads else Permission.MANAGE
        return Webhook.objects.visible_to(self.request.user, permission).select_related("collection")

    @extend_schema(request=WebhookCreateSerializer, responses={201: WebhookWithSecretSerializer})
    @asks_again
    def create(self, request: Request) -> Response:
        """Creates a webhook. Only this response contains the secret."""
        given = checked(request, WebhookCreateSerializer)
        slug = given.pop("collection")
        collection = collection_for(user=request.user, slug=slug, permission=Permission.MANAGE)
        webhook, secret = services.webhook_create(actor=request.user, collection=collection, **given)
        return _with_secret(webhook, secret, status.HTTP_201_CREATED)

    @extend_schema(request=WebhookChangeSerializer, responses=WebhookSerializer)
    @action(detail=True, methods=["post"])
    @asks_again
    def change(self, request: Request, pk: str) -> Response:
        """Replaces the address, events and description."""
        webhook = services.webhook_change(
            actor=request.user, webhook=self.get_object(), **checked(request, WebhookChangeSerializer)
        )
        return Response(WebhookSerializer(webhook).data)

    @extend_schema(request=None, responses=WebhookWithSecretSerializer)
    @action(detail=True, methods=["post"])
    @asks_again
    def secret(self, request: Request, pk: str) -> Response:
        """Creates a new secret. The previous one stays valid for a day."""
        webhook = self.get_object()
        secret = services.webhook_secret_renew(actor=request.user, webhook=webhook)
        return _with_secret(webhook, secret, status.HTTP_200_OK)

    @extend_schema(request=None, responses=WebhookSerializer)
    @action(detail=True, methods=["post"])
    @asks_again
    def pause(self, request: Request, pk: str) -> Response:
        """Pauses deliveries until the webhook is resumed."""
        webhook = self.get_object()
        services.webhook_pause(actor=request.user, webhook=webhook)
        return Response(WebhookSerializer(webhook).data)

    @extend_schema(request=None, responses=WebhookSerializer)
    @action(detail=True, methods=["post"])
    @asks_again
    def resume(self, request: Request, pk: str) -> Response:
        """It receives events again."""
        webhook = self.get_object()
        services.webhook_resume(actor=request.user, webhook=webhook)
        return Response(WebhookSerializer(webhook).data)

    @extend_schema(request=None, responses={204: None})
    @action(detail=True, methods=["post"])
    @asks_again
    def remove(self, request: Request, pk: str) -> Response:
        """Deletes the webhook."""
        services.webhook_remove(actor=request.user, webhook=self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses={202: DeliverySerializer})
    @action(detail=True, methods=["post"])
    def test(self, request: Request, pk: str) -> Response:
        """Sends a test event."""
        delivery = services.webhook_test(actor=request.user, webhook=self.get_object())
        delivery.refresh_from_db()
        at = address_of_object("webhook-delivery", delivery.pk)
        return created(DeliverySerializer(delivery).data, at=at, code=status.HTTP_202_ACCEPTED)

    @extend_schema(request=None, responses={202: RepeatedSerializer})
    @action(detail=True, methods=["post"], url_path="repeat-missed")
    def repeat_missed(self, request: Request, pk: str) -> Response:
        """Redelivers messages that failed or were never sent."""
        number = services.deliveries_repeat_missed(actor=request.user, webhook=self.get_object())
        return Response({"repeated": number}, status=status.HTTP_202_ACCEPTED)


class WebhookDeliveryViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, ApiViewSet[Delivery]):
    """Delivery log: each message with its attempts."""

    queryset = Delivery.objects.none()
    serializer_class = DeliverySerializer
    filters = {
        "webhook": by_key("webhook", "ID of the webhook."),
        "state": one_of("state", DeliveryState),
        **between_days(),
    }
    orderings = ("id", "state", "created_at")

    def get_queryset(self) -> QuerySet[Delivery]:
        reads = self.request.method == "GET"
        permission = Permission.AUDIT if reads else Permission.MANAGE
        rows = Delivery.objects.visible_to(self.request.user, permission)
        return rows.select_related("webhook__collection").prefetch_related("log")

    @extend_schema(request=None, responses={202: DeliverySerializer})
    @action(detail=True, methods=["post"])
    def repeat(self, request: Request, pk: str) -> Response:
        """Redelivers the message with the same ID."""
        delivery = self.get_object()
        services.delivery_repeat(actor=request.user, delivery=delivery)
        delivery.refresh_from_db()
        at = address_of_object("webhook-delivery", delivery.pk)
        return created(DeliverySerializer(delivery).data, at=at, code=status.HTTP_202_ACCEPTED)


def _with_secret(webhook: Webhook, secret: str, status_code: int) -> Response:
    data = WebhookSerializer(webhook).data | {"secret": secret}
    return Response(data, status=status_code, headers={"Cache-Control": "no-store"})
