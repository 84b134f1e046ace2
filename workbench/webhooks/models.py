"""Webhooks, what is to be delivered to them, and each attempt. None of it holds text of a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from workbench.accounts.permissions import Permission, member_condition
from workbench.documents.models import Collection
from workbench.infra.leases import Retried

if TYPE_CHECKING:
    from workbench.accounts.models import User

#: Longest address, in characters.
MAX_URL = 500


class WebhookState(models.TextChoices):
    """Only an active webhook is told of anything. ``disabled`` is the product's doing, ``paused`` a person's."""

    ACTIVE = "active", _("active")
    PAUSED = "paused", _("paused")
    DISABLED = "disabled", _("switched off")
    REMOVED = "removed", _("removed")


class WebhookFormat(models.TextChoices):
    """How a message is written, by who reads it."""

    JSON = "json", _("JSON, for programs")
    SLACK = "slack", _("Slack")
    TEAMS = "teams", _("Microsoft Teams")


class WebhookQuerySet(models.QuerySet["Webhook"]):
    def visible_to(self, user: User, permission: Permission = Permission.AUDIT) -> WebhookQuerySet:
        """Those in collections where the user holds the permission; removed ones are gone for everybody."""
        return self.filter(member_condition(user, permission, prefix="collection")).exclude(
            state=WebhookState.REMOVED
        )

    def told_of(self, action: str) -> WebhookQuerySet:
        """Those that are told of an event."""
        return self.filter(state=WebhookState.ACTIVE, events__contains=[action])


class Webhook(models.Model):
    """An address that is told of events of a collection.

    The secret is not stored: it is derived from SECRET_KEY and ``salt`` (``signing.py``); ``fingerprint`` tells whether
    the key is still the one it was made with.
    """

    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="webhooks")
    url = models.CharField(_("address"), max_length=MAX_URL)
    description = models.CharField(_("description"), max_length=120, blank=True)
    events = models.JSONField(default=list)
    format = models.CharField(
        _("format"),
        max_length=8,
        choices=WebhookFormat.choices,
        default=WebhookFormat.JSON,
        db_default=WebhookFormat.JSON,
    )
    state = models.CharField(max_length=8, choices=WebhookState.choices, default=WebhookState.ACTIVE)
    state_reason = models.CharField(max_length=300, blank=True)
    salt = models.CharField(max_length=64)
    fingerprint = models.CharField(max_length=64)
    # The secret before the last change signs as well for a while, so that the receiver can change over.
    previous_salt = models.CharField(max_length=64, blank=True)
    previous_until = models.DateTimeField(null=True, blank=True)
    #: Since when no delivery has arrived; empty while they do.
    failing_since = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    objects = WebhookQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=WebhookState.values), name="webhook_state_is_known"),
            models.CheckConstraint(
                condition=Q(format__in=WebhookFormat.values), name="webhook_format_is_known"
            ),
            models.CheckConstraint(condition=~Q(events=[]), name="webhook_is_told_of_something"),
            models.CheckConstraint(
                condition=~Q(state=WebhookState.DISABLED) | ~Q(state_reason=""),
                name="disabled_webhook_says_why",
            ),
            models.UniqueConstraint(
                fields=["collection", "url"],
                condition=~Q(state=WebhookState.REMOVED),
                name="one_webhook_per_address",
            ),
        ]

    def __str__(self) -> str:
        return self.description or f"webhook {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("webhooks:webhook", args=[self.pk])


class DeliveryState(models.TextChoices):
    """Where a delivery is; the last three are ends, until somebody asks for it again."""

    WAITING = "waiting", _("waiting")
    DELIVERED = "delivered", _("delivered")
    FAILED = "failed", _("given up")
    CANCELLED = "cancelled", _("not sent")


#: States in which the receiver was never told.
MISSED = (DeliveryState.FAILED, DeliveryState.CANCELLED)


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def visible_to(self, user: User, permission: Permission = Permission.AUDIT) -> DeliveryQuerySet:
        """Those of webhooks where the user holds the permission."""
        return self.filter(webhook__in=Webhook.objects.visible_to(user, permission).order_by().values("pk"))


class Delivery(Retried):
    """One message to one webhook, written in the transaction of the event it tells of (transactional outbox)."""

    webhook = models.ForeignKey(Webhook, on_delete=models.PROTECT, related_name="deliveries")
    #: Sent as ``webhook-id`` with every attempt: the receiver knows a repeated message by it.
    message_id = models.CharField(max_length=40, unique=True)
    action = models.CharField(max_length=80)
    payload = models.JSONField()
    state = models.CharField(max_length=10, choices=DeliveryState.choices, default=DeliveryState.WAITING)
    next_attempt_at = models.DateTimeField(db_default=Now())
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "deliveries"
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=DeliveryState.values), name="delivery_state_is_known"
            ),
            models.CheckConstraint(
                condition=Q(state=DeliveryState.WAITING) ^ Q(finished_at__isnull=False),
                name="delivery_ends_when_it_waits_no_more",
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_attempt_at"],
                condition=Q(state=DeliveryState.WAITING),
                name="delivery_due",
            ),
            models.Index(fields=["webhook", "-id"], name="delivery_log"),
            models.Index(fields=["finished_at"], condition=Q(finished_at__isnull=False), name="delivery_old"),
        ]

    def __str__(self) -> str:
        return self.message_id


class Outcome(models.TextChoices):
    DELIVERED = "delivered", _("delivered")
    REFUSED = "refused", _("the receiver refused it")
    TIMEOUT = "timeout", _("the receiver did not answer in time")
    CONNECTION = "connection", _("the receiver could not be reached")
    ADDRESS = "address", _("the address is not allowed")
    UNSIGNED = "unsigned", _("it could not be signed")


class Attempt(models.Model):
    """One try: outcome, HTTP status where there was one, milliseconds. What the receiver answered is not kept."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="log")
    at = models.DateTimeField(db_default=Now())
    outcome = models.CharField(max_length=10, choices=Outcome.choices)
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    latency_ms = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(outcome__in=Outcome.values), name="attempt_outcome_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.outcome} {self.status or ''}".strip()
