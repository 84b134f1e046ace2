"""What pages, the API and the sweeper read of webhooks."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import Count, Q
from django.db.models.functions import Now
from django.shortcuts import get_object_or_404

from workbench.accounts.permissions import Permission
from workbench.documents.models import Collection
from workbench.infra.leases import lease_free

from .models import MISSED, Delivery, DeliveryState, Webhook, WebhookQuerySet, WebhookState

if TYPE_CHECKING:
    from workbench.accounts.models import User

#: Deliveries shown on a webhook's page, newest first.
SHOWN = 50
#: Deliveries woken at once.
MOST_AT_ONCE = 200
#: A delivery whose message should have arrived long ago.
LOST_AFTER = timedelta(seconds=5)


def webhook_for(*, user: User, pk: int, permission: Permission = Permission.AUDIT) -> Webhook:
    """The webhook, if the user may do this in its collection; else 404."""
    rows = Webhook.objects.visible_to(user, permission).select_related("collection", "created_by")
    return get_object_or_404(rows, pk=pk)


def delivery_for(*, user: User, pk: int, permission: Permission = Permission.AUDIT) -> Delivery:
    """The delivery, if the user may do this in its collection; else 404."""
    rows = Delivery.objects.visible_to(user, permission).select_related("webhook__collection")
    return get_object_or_404(rows, pk=pk)


def webhooks_of(*, collection: Collection) -> WebhookQuerySet:
    """A collection's webhooks with how many deliveries wait, and how many did not arrive."""
    return (
        Webhook.objects.filter(collection=collection)
        .exclude(state=WebhookState.REMOVED)
        .annotate(
            waiting=Count("deliveries", filter=Q(deliveries__state=DeliveryState.WAITING)),
            missed=Count("deliveries", filter=Q(deliveries__state__in=MISSED)),
        )
    )


def deliveries_shown(*, webhook: Webhook) -> list[Delivery]:
    return list(webhook.deliveries.prefetch_related("log")[:SHOWN])


def deliveries_due() -> list[int]:
    """Keys of deliveries to attempt now: those whose time has come, whose message was lost or whose worker is gone.

    A webhook where nothing arrives is knocked at with one delivery at a time, so that a receiver that hangs holds up
    one worker and not all of them; the rest follows once it answers.
    """
    due = Delivery.objects.filter(
        lease_free(), state=DeliveryState.WAITING, next_attempt_at__lt=Now() - LOST_AFTER
    )
    well = due.filter(webhook__failing_since__isnull=True).order_by("next_attempt_at", "pk")
    failing = (
        due.filter(webhook__failing_since__isnull=False)
        .exclude(webhook__in=_being_knocked_at())
        .order_by("webhook_id", "next_attempt_at", "pk")
        .distinct("webhook_id")
    )
    keys = [*well.values_list("pk", flat=True)[:MOST_AT_ONCE], *failing.values_list("pk", flat=True)]
    return keys[: 2 * MOST_AT_ONCE]


def _being_knocked_at() -> list[int]:
    busy = Delivery.objects.filter(
        ~lease_free(), state=DeliveryState.WAITING, webhook__failing_since__isnull=False
    )
    return list(busy.values_list("webhook_id", flat=True).distinct())
