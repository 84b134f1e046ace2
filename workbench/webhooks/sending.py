"""One attempt at a delivery: claim, sign, send, write down. The database connection is given back meanwhile."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpcore2
import httpx2
import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Coalesce, Now
from django.utils import timezone
from django.utils.translation import gettext as _

from arbitration.adapters.http_client import bounded_client, call_deadline
from workbench.infra.leases import lease_claim, leased, new_owner
from workbench.infra.outbound import AddressRefused, outbound_rule
from workbench.runs.gateway import give_connection_back

from .bodies import payload_of
from .models import Attempt, Delivery, DeliveryState, Outcome, Webhook, WebhookState
from .services import webhook_disable
from .signing import previous_secrets, secret_in_use, signature_header

logger = structlog.get_logger(__name__)

#: What one attempt may take, from the name's resolution to the status line.
TIMEOUT_S = 10.0
#: Seconds from each failed attempt to the next: nine attempts over some 28 hours.
DELAYS = (5, 30, 300, 1_800, 7_200, 18_000, 36_000, 36_000)
#: A webhook to which nothing was delivered for so long is switched off.
FAILING_FOR = timedelta(days=5)
_GONE = 410


@dataclass(frozen=True, slots=True)
class Answer:
    """How an attempt ended; ``status`` is None where there was none."""

    outcome: Outcome
    status: int | None = None
    latency_ms: int = 0


def delivery_attempt(*, delivery_id: int) -> None:
    """Makes the next attempt, if it is due and nobody else makes it. Safe to repeat: the row is claimed; a worker that
    is lost between sending and writing down means that the receiver gets the message again."""
    rows = Delivery.objects.filter(pk=delivery_id)
    owner = new_owner()
    due = rows.filter(state=DeliveryState.WAITING, next_attempt_at__lte=Now())
    if not lease_claim(due, owner=owner):
        return
    with leased(rows, owner=owner):
        delivery = rows.select_related("webhook__collection").get()
        if delivery.webhook.state != WebhookState.ACTIVE:
            _close(delivery, owner, DeliveryState.CANCELLED)
            return
        # Before anything can fail: else the sweeper would send it again and again, without its delays.
        _ours(delivery, owner).update(next_attempt_at=Now() + _pause(delivery))
        prepared = _prepared(delivery)
        if isinstance(prepared, Answer):
            answer = prepared
        else:
            give_connection_back()
            answer = _send(delivery.webhook.url, *prepared)
        _write_down(delivery, owner, answer)


def body_of(payload: dict[str, Any]) -> bytes:
    """The bytes that are signed and sent."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _prepared(delivery: Delivery) -> tuple[bytes, dict[str, str]] | Answer:
    """Body and headers; an answer where nothing can be signed."""
    webhook = delivery.webhook
    secret = secret_in_use(webhook)
    if secret is None:
        return Answer(Outcome.UNSIGNED)
    known = [secret]
    if webhook.previous_until is not None and webhook.previous_until > timezone.now():
        known += previous_secrets(webhook)
    body, moment = body_of(payload_of(delivery)), int(time.time())
    signature = signature_header(secrets_=known, message_id=delivery.message_id, timestamp=moment, body=body)
    return body, {
        "content-type": "application/json",
        "accept-encoding": "identity",
        "user-agent": "arbiter-workbench-webhooks/1",
        "webhook-id": delivery.message_id,
        "webhook-timestamp": str(moment),
        "webhook-signature": signature,
    }


def _send(url: str, body: bytes, headers: dict[str, str]) -> Answer:
    """Sends; what the receiver answers beyond its status is not read."""
    begun = time.monotonic()

    def ended(outcome: Outcome, status: int | None = None) -> Answer:
        return Answer(outcome, status, round((time.monotonic() - begun) * 1000))

    try:
        with (
            bounded_client(address_rule=outbound_rule(scheme=urlsplit(url).scheme)) as client,
            call_deadline(TIMEOUT_S),
            client.stream("POST", url, content=body, headers=headers, timeout=TIMEOUT_S) as response,
        ):
            status = response.status_code
    except AddressRefused:
        return ended(Outcome.ADDRESS)
    except (httpx2.TimeoutException, httpcore2.TimeoutException):
        return ended(Outcome.TIMEOUT)
    except (httpx2.HTTPError, httpx2.InvalidURL, httpcore2.NetworkError, OSError, ValueError) as error:
        logger.info("webhook.unreachable", host=urlsplit(url).hostname, error=type(error).__name__)
        return ended(Outcome.CONNECTION)
    return ended(Outcome.DELIVERED if 200 <= status < 300 else Outcome.REFUSED, status)


def _write_down(delivery: Delivery, owner: str, answer: Answer) -> None:
    """The attempt in the log, the delivery's next step, and what it says of the webhook."""
    with transaction.atomic():
        webhook = Webhook.objects.select_for_update().get(pk=delivery.webhook_id)
        if answer.outcome == Outcome.DELIVERED:
            changed = _close(delivery, owner, DeliveryState.DELIVERED)
        elif delivery.attempts > len(DELAYS):
            changed = _close(delivery, owner, DeliveryState.FAILED)
        else:
            changed = _ours(delivery, owner).update(next_attempt_at=Now() + _pause(delivery))
        if not changed:
            return
        Attempt.objects.create(
            delivery=delivery, outcome=answer.outcome, status=answer.status, latency_ms=answer.latency_ms
        )
        if answer.outcome == Outcome.DELIVERED:
            _arrived(webhook)
        else:
            _missed(webhook, answer)


def _pause(delivery: Delivery) -> timedelta:
    return timedelta(seconds=DELAYS[min(delivery.attempts, len(DELAYS)) - 1])


def _ours(delivery: Delivery, owner: str) -> Any:
    return Delivery.objects.filter(pk=delivery.pk, lease_owner=owner, state=DeliveryState.WAITING)


def _close(delivery: Delivery, owner: str, state: DeliveryState) -> int:
    return int(_ours(delivery, owner).update(state=state, finished_at=Now()))


def _arrived(webhook: Webhook) -> None:
    """The receiver is there again: what waited for it is due now, but for messages that it refused as such."""
    if webhook.failing_since is None:
        return
    Webhook.objects.filter(pk=webhook.pk).update(failing_since=None)
    disliked = Attempt.objects.filter(delivery=OuterRef("pk"), status__range=(400, 499))
    waiting = Delivery.objects.filter(~Exists(disliked), webhook=webhook, state=DeliveryState.WAITING)
    waiting.update(next_attempt_at=Now())


def _missed(webhook: Webhook, answer: Answer) -> None:
    """Remembers since when nothing arrives, and switches off what is beyond hope."""
    Webhook.objects.filter(pk=webhook.pk).update(failing_since=Coalesce("failing_since", Now()))
    reason = ""
    if answer.status == _GONE:
        reason = _("The receiver says that it is gone (410).")
    elif answer.outcome == Outcome.UNSIGNED:
        reason = _("SECRET_KEY has changed, so that nothing can be signed as before. Make a new secret.")
    elif webhook.failing_since is not None and webhook.failing_since < timezone.now() - FAILING_FOR:
        reason = _("Nothing could be delivered for %(n)d days.") % {"n": FAILING_FOR.days}
    if reason:
        webhook_disable(webhook=webhook, reason=reason)
