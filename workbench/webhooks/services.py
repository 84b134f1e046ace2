"""Registering webhooks, changing them, switching them on and off. Each act is on record; addresses by their host."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.documents.models import Collection
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.infra.dispatch import dispatch_on_commit
from workbench.infra.outbound import host_allowed

from .events import EVENTS
from .models import MAX_URL, MISSED, Delivery, DeliveryState, Webhook, WebhookFormat, WebhookState
from .outbox import test_write
from .signing import fingerprint_of, new_salt, secret_of

MOST_WEBHOOKS = 20
#: For so long the secret before the last change signs as well.
OVERLAP = timedelta(days=1)
#: The log is kept for so long.
KEPT_FOR = timedelta(days=30)


def webhook_create(
    *,
    actor: User,
    collection: Collection,
    url: str,
    events: Sequence[str],
    description: str = "",
    format: str = WebhookFormat.JSON,
) -> tuple[Webhook, str]:
    """A new webhook and its secret, which nobody can read again.

    Raises :class:`NotAllowed`, :class:`WorkbenchError` for an address that may not be called, unknown or no events,
    :class:`Conflict` for an address that is registered already, or too many.
    """
    _require_manager(actor, collection)
    values = _checked_values(url, events, description, format)
    if collection.webhooks.exclude(state=WebhookState.REMOVED).count() >= MOST_WEBHOOKS:
        raise Conflict(
            _("The collection has %(n)d webhooks. Remove one that is not used any more.")
            % {"n": MOST_WEBHOOKS}
        )
    salt = new_salt()
    secret = secret_of(salt=salt)
    try:
        with transaction.atomic():
            webhook = Webhook.objects.create(
                collection=collection,
                salt=salt,
                fingerprint=fingerprint_of(secret),
                created_by=actor,
                **values,
            )
            _record(actor, Action.WEBHOOK_CREATED, webhook, after=_told(values))
    except IntegrityError as error:
        raise Conflict(_("This address is registered already."), code="registered") from error
    webhook.refresh_from_db()
    return webhook, secret


def webhook_change(
    *,
    actor: User,
    webhook: Webhook,
    url: str,
    events: Sequence[str],
    description: str = "",
    format: str = WebhookFormat.JSON,
) -> Webhook:
    """Another address, other events or another description, from the next event on.

    Raises as :func:`webhook_create`.
    """
    values = _checked_values(url, events, description, format)
    try:
        with transaction.atomic():
            locked = _locked(actor, webhook)
            before = {name: getattr(locked, name) for name in values}
            changed = {name: value for name, value in values.items() if value != before[name]}
            if changed:
                Webhook.objects.filter(pk=locked.pk).update(**changed)
                _record(
                    actor,
                    Action.WEBHOOK_CHANGED,
                    locked,
                    before=_told({name: before[name] for name in changed}),
                    after=_told(changed),
                )
    except IntegrityError as error:
        raise Conflict(_("This address is registered already."), code="registered") from error
    webhook.refresh_from_db()
    return webhook


def webhook_secret_renew(*, actor: User, webhook: Webhook) -> str:
    """A new secret, shown once; the one before it signs as well for :data:`OVERLAP`."""
    salt = new_salt()
    secret = secret_of(salt=salt)
    with transaction.atomic():
        locked = _locked(actor, webhook)
        Webhook.objects.filter(pk=locked.pk).update(
            salt=salt,
            fingerprint=fingerprint_of(secret),
            previous_salt=locked.salt,
            previous_until=timezone.now() + OVERLAP,
        )
        _record(actor, Action.WEBHOOK_SECRET_RENEWED, locked)
    webhook.refresh_from_db()
    return secret


def webhook_pause(*, actor: User, webhook: Webhook) -> None:
    """Events are not told, and not kept for later, until it is resumed."""
    _switch(actor, webhook, WebhookState.PAUSED, takes={WebhookState.ACTIVE}, action=Action.WEBHOOK_PAUSED)


def webhook_resume(*, actor: User, webhook: Webhook) -> None:
    """Events are told again, whoever switched it off. What came meanwhile was not kept."""
    off = {WebhookState.PAUSED, WebhookState.DISABLED}
    _switch(actor, webhook, WebhookState.ACTIVE, takes=off, action=Action.WEBHOOK_RESUMED)


def webhook_remove(*, actor: User, webhook: Webhook) -> None:
    """It is gone for everybody; the record of it stays in the trail."""
    living = set(WebhookState) - {WebhookState.REMOVED}
    _switch(actor, webhook, WebhookState.REMOVED, takes=living, action=Action.WEBHOOK_REMOVED)


def webhook_disable(*, webhook: Webhook, reason: str) -> None:
    """Switches a webhook off that is beyond hope, and has its collection's admins told."""
    with transaction.atomic():
        changed = Webhook.objects.filter(pk=webhook.pk, state=WebhookState.ACTIVE).update(
            state=WebhookState.DISABLED, state_reason=reason[:300]
        )
        if not changed:
            return
        _cancel_waiting(webhook)
        _record(User.objects.system(), Action.WEBHOOK_DISABLED, webhook, reason=reason, actor_kind="worker")
        dispatch_on_commit("webhooks.tell", webhook_id=webhook.pk)


def webhook_test(*, actor: User, webhook: Webhook) -> Delivery:
    """Sends an event that tells of nothing. Raises :class:`Conflict` while the webhook is off."""
    with transaction.atomic():
        locked = _locked(actor, webhook)
        _require_active(locked)
        delivery = test_write(locked)
        _record(actor, Action.WEBHOOK_TESTED, locked, after={"delivery": delivery.pk})
    return delivery


def delivery_repeat(*, actor: User, delivery: Delivery) -> None:
    """Sends a delivery again that has ended, under the same id, with all its attempts before it.

    Raises :class:`Conflict` while the webhook is off, or while the delivery is on its way.
    """
    with transaction.atomic():
        webhook = _locked(actor, delivery.webhook)
        _require_active(webhook)
        if not _send_again(webhook, Delivery.objects.filter(pk=delivery.pk)):
            raise Conflict(_("This delivery is on its way."))
        dispatch_on_commit("webhooks.deliver", delivery_id=delivery.pk)
        _record(actor, Action.WEBHOOK_REDELIVERED, webhook, after={"delivery": delivery.pk})


def deliveries_repeat_missed(*, actor: User, webhook: Webhook) -> int:
    """Sends everything again that was given up or not sent and is still in the log; gives the number."""
    with transaction.atomic():
        locked = _locked(actor, webhook)
        _require_active(locked)
        missed = locked.deliveries.filter(state__in=MISSED)
        number = _send_again(locked, missed)
        if number:
            _record(actor, Action.WEBHOOK_REDELIVERED, locked, after={"deliveries": number})
    return number


def deliveries_remove_old() -> int:
    """Removes what has been in the log long enough; gives the number."""
    old = Delivery.objects.filter(finished_at__lt=Now() - KEPT_FOR).order_by("pk")
    return int(Delivery.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:1000])).delete()[0])


# --- what they share ----------------------------------------------------------------------------------------


def _switch(
    actor: User, webhook: Webhook, state: WebhookState, *, takes: set[WebhookState], action: str
) -> None:
    with transaction.atomic():
        locked = _locked(actor, webhook)
        if locked.state not in takes:
            raise Conflict(
                _("The webhook is %(state)s.") % {"state": locked.get_state_display()}, code="other_state"
            )
        Webhook.objects.filter(pk=locked.pk).update(state=state, state_reason="", failing_since=None)
        if state != WebhookState.ACTIVE:
            _cancel_waiting(locked)
        _record(actor, action, locked, before={"state": locked.state}, after={"state": state})
    webhook.refresh_from_db()


def _locked(actor: User, webhook: Webhook) -> Webhook:
    """The row, locked, for somebody who may change it."""
    locked = Webhook.objects.select_for_update(of=("self",)).select_related("collection").get(pk=webhook.pk)
    _require_manager(actor, locked.collection)
    if locked.state == WebhookState.REMOVED:
        raise Conflict(_("This webhook was removed."), code="removed")
    return locked


def _require_manager(actor: User, collection: Collection) -> None:
    if not has_permission(actor, collection, Permission.MANAGE):
        raise NotAllowed(_("Only admins of this collection may change its webhooks."))


def _require_active(webhook: Webhook) -> None:
    if webhook.state != WebhookState.ACTIVE:
        raise Conflict(_("The webhook is off. Switch it on first."), code="off")


def _cancel_waiting(webhook: Webhook) -> None:
    # One that is being sent right now is left to its worker.
    waiting = webhook.deliveries.filter(state=DeliveryState.WAITING, lease_owner="")
    waiting.update(state=DeliveryState.CANCELLED, finished_at=Now())


def _send_again(webhook: Webhook, deliveries: Any) -> int:
    return int(
        deliveries.filter(webhook=webhook)
        .exclude(state=DeliveryState.WAITING)
        .update(state=DeliveryState.WAITING, finished_at=None, attempts=0, next_attempt_at=Now())
    )


def _record(actor: User, action: str, webhook: Webhook, **what: Any) -> None:
    audit_record(actor=actor, action=action, obj=webhook, **what)


def _told(values: dict[str, Any]) -> dict[str, Any]:
    """What the trail is told: of an address, which may hold a key, the host and the hash."""
    told = dict(values)
    if "url" in told:
        url = told.pop("url")
        told |= {"host": urlsplit(url).hostname, "url_sha256": hashlib.sha256(url.encode()).hexdigest()}
    return told


def _checked_values(url: str, events: Sequence[str], description: str, format: str) -> dict[str, Any]:
    """What a person may set of a webhook, as it is stored."""
    if format not in WebhookFormat.values:
        raise WorkbenchError(
            _("The format must be one of: %(names)s.") % {"names": ", ".join(WebhookFormat.values)},
            code="bad_format",
        )
    return {
        "url": _checked_url(url),
        "events": _checked_events(events),
        "description": " ".join(description.split())[:120],
        "format": format,
    }


def _checked_events(events: Sequence[str]) -> list[str]:
    if not events or not set(events) <= set(EVENTS):
        raise WorkbenchError(
            _("Choose at least one of the events: %(names)s.") % {"names": ", ".join(EVENTS)},
            code="bad_events",
        )
    return sorted(set(events))


def _checked_url(url: str) -> str:
    """The address, if it is one that may be called now; it is checked again before every call."""
    url = url.strip()
    parts = _parts_of(url)
    if parts is None or len(url) > MAX_URL or not url.isascii() or not url.isprintable() or " " in url:
        raise WorkbenchError(
            _("Give an address such as https://host/path, of at most %(n)d characters.") % {"n": MAX_URL},
            code="bad_address",
        )
    if parts.username or parts.password or parts.fragment:
        raise WorkbenchError(
            _("The address must hold no user name, no password and no “#”."), code="bad_address"
        )
    allowed = host_allowed(parts.hostname or "", scheme=parts.scheme, networks=settings.WEBHOOK_NETWORKS)
    if allowed is None:
        raise WorkbenchError(
            _("“%(host)s” has no address. Is it spelled correctly?") % {"host": parts.hostname},
            code="host_unknown",
        )
    if not allowed:
        raise WorkbenchError(
            _(
                "This address is not allowed: webhooks go to public addresses over https, and otherwise "
                "only to the networks named in WEBHOOK_NETWORKS."
            ),
            code="address_refused",
        )
    return url


def _parts_of(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        return parts if parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0 else None
    except ValueError:
        return None
