"""Writing deliveries: in the transaction of the event they tell of, so that both stand or neither."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from workbench.audit.models import AuditEvent
from workbench.infra.dispatch import dispatch_on_commit

from .events import EVENTS, TEST, addresses_of
from .models import Delivery, Webhook


def deliveries_write(events: Sequence[AuditEvent]) -> None:
    """The deliveries of each event."""
    for event in events:
        _deliveries_write(event)


def _deliveries_write(event: AuditEvent) -> None:
    """A delivery for each webhook that is told of the event: those of its collection, or of every collection where
    the event belongs to the installation."""
    webhooks = Webhook.objects.told_of(event.action)
    if event.collection_id is not None:
        webhooks = webhooks.filter(collection_id=event.collection_id)
    elif not EVENTS[event.action].of_installation:
        return
    for webhook in webhooks.select_related("collection"):
        data = {
            "event": event.pk,
            "collection": webhook.collection.slug if event.collection_id is not None else None,
            "object": {"type": event.object_type, "id": event.object_id},
            **addresses_of(action=event.action, object_id=event.object_id),
        }
        _write(webhook, event.action, data)


def test_write(webhook: Webhook) -> Delivery:
    """A delivery that tells of nothing."""
    return _write(webhook, TEST, {"webhook": webhook.pk, "collection": webhook.collection.slug})


def _write(webhook: Webhook, action: str, data: dict[str, Any]) -> Delivery:
    moment = timezone.now()
    delivery = Delivery.objects.create(
        webhook=webhook,
        message_id=f"msg_{secrets.token_hex(16)}",
        action=action,
        payload={
            "type": action,
            "timestamp": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "data": data,
        },
    )
    if webhook.failing_since is None:  # else the sweeper knocks, one delivery at a time
        dispatch_on_commit("webhooks.deliver", delivery_id=delivery.pk)
    return delivery
