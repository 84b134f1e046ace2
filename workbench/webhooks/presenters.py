"""What the pages of webhooks show."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, permissions_in
from workbench.collection_settings.presenters import settings_step
from workbench.documents.models import Collection
from workbench.infra.crumbs import crumbs

from .events import EVENTS, TEST
from .forms import WebhookForm
from .models import MISSED, Delivery, DeliveryState, Webhook, WebhookState
from .selectors import deliveries_shown, webhooks_of
from .services import KEPT_FOR

_STATES = {
    DeliveryState.WAITING: "waiting",
    DeliveryState.DELIVERED: "done",
    DeliveryState.FAILED: "failed",
    DeliveryState.CANCELLED: "cancelled",
}


def webhooks_page(
    *, collection: Collection, user: User, form: WebhookForm | None = None, secret: str = ""
) -> dict[str, Any]:
    """A collection's webhooks; ``form`` is one that was sent and has errors, ``secret`` is shown this once."""
    may_manage = Permission.MANAGE in permissions_in(user, collection)
    return {
        "collection": collection,
        "may_manage": may_manage,
        "webhooks": [
            {"webhook": webhook, "events": _labels(webhook), "is_failing": _is_failing(webhook)}
            for webhook in webhooks_of(collection=collection)
        ],
        "form": (form or WebhookForm()) if may_manage else None,
        "secret": secret,
        "crumbs": crumbs(collection, settings_step(collection), here=_("Webhooks")),
    }


def webhook_page(
    *, webhook: Webhook, user: User, form: WebhookForm | None = None, secret: str = ""
) -> dict[str, Any]:
    """One webhook with its log, and the acts of who may change it."""
    collection = webhook.collection
    may_manage = Permission.MANAGE in permissions_in(user, collection)
    deliveries = deliveries_shown(webhook=webhook)
    initial = {
        "url": webhook.url,
        "description": webhook.description,
        "format": webhook.format,
        "events": webhook.events,
    }
    days = KEPT_FOR.days
    return {
        "collection": collection,
        "webhook": webhook,
        "events": _labels(webhook),
        "is_active": webhook.state == WebhookState.ACTIVE,
        "is_disabled": webhook.state == WebhookState.DISABLED,
        "is_failing": _is_failing(webhook),
        "may_manage": may_manage,
        "form": (form or WebhookForm(initial=initial)) if may_manage else None,
        "secret": secret,
        "deliveries": [_delivery_row(delivery) for delivery in deliveries],
        "any_missed": any(delivery.state in MISSED for delivery in deliveries),
        "kept": ngettext("The log is kept for %(n)d day.", "The log is kept for %(n)d days.", days)
        % {"n": days},
        "crumbs": crumbs(
            collection,
            settings_step(collection),
            (_("Webhooks"), reverse("webhooks:webhooks", args=[collection.slug])),
            here=str(webhook),
        ),
    }


def _delivery_row(delivery: Delivery) -> dict[str, Any]:
    log = list(delivery.log.all())
    return {
        "delivery": delivery,
        "label": _("a test") if delivery.action == TEST else EVENTS[delivery.action].label,
        "about": delivery.payload["data"].get("object", {}).get("id", ""),
        "state": _STATES[DeliveryState(delivery.state)],
        "last": log[-1] if log else None,
        "log": log,
        "may_repeat": delivery.state != DeliveryState.WAITING,
    }


def _labels(webhook: Webhook) -> list[Any]:
    return [EVENTS[name].label for name in webhook.events if name in EVENTS]


def _is_failing(webhook: Webhook) -> bool:
    return webhook.failing_since is not None and webhook.state == WebhookState.ACTIVE
