"""Webhooks of tests, and a worker and a clock for them in this process."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import F

from tests.webhook_receiver import Receiver
from tests.workbench.cast import Cast
from workbench.webhooks.events import EVENTS
from workbench.webhooks.models import Delivery, Webhook
from workbench.webhooks.selectors import deliveries_due
from workbench.webhooks.sending import delivery_attempt
from workbench.webhooks.services import webhook_create


def registered(cast: Cast, receiver: Receiver, *events: str) -> tuple[Webhook, str]:
    """A webhook of alpha with its secret; told of everything unless said otherwise."""
    return webhook_create(
        actor=cast.admin, collection=cast.alpha, url=receiver.url, events=events or tuple(EVENTS)
    )


def later(**passed: float) -> None:
    """Time passes for all that waits."""
    Delivery.objects.update(next_attempt_at=F("next_attempt_at") - timedelta(**passed))


def work() -> int:
    """What the sweeper finds now is attempted; gives the number."""
    later(seconds=6)
    keys = deliveries_due()
    for key in keys:
        delivery_attempt(delivery_id=key)
    return len(keys)
