"""Tasks of webhooks."""

from __future__ import annotations

from celery import shared_task

from workbench.infra.dispatch import dispatch

from .notice import admins_tell
from .selectors import deliveries_due
from .sending import delivery_attempt
from .services import deliveries_remove_old


@shared_task(name="webhooks.deliver")
def deliver(*, delivery_id: int) -> None:
    delivery_attempt(delivery_id=delivery_id)


@shared_task(name="webhooks.sweep")
def sweep() -> int:
    """Wakes a worker for each delivery that is due, removes old ones; returns how many were woken."""
    deliveries_remove_old()
    return sum(dispatch(deliver, delivery_id=pk) for pk in deliveries_due())


@shared_task(name="webhooks.tell")
def tell(*, webhook_id: int) -> int:
    """Mails the admins of the collection that a webhook was switched off; returns how many."""
    return admins_tell(webhook_id=webhook_id)
