"""After SECRET_KEY was changed: what still hangs on the former one is written anew, or named (docs/operating.md)."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.db import transaction

from workbench.accounts.models import User
from workbench.accounts.second_factors import Renewed, second_factors_renew
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.sources.services import secrets_renew
from workbench.webhooks.models import Webhook, WebhookState
from workbench.webhooks.signing import is_under_present_key


@dataclass(frozen=True, slots=True)
class KeysReport:
    """What hung on former keys. ``webhooks`` need a new secret each: the addresses of their pages."""

    second_factors: Renewed
    webhooks: list[str]
    fallbacks: int

    @property
    def may_end(self) -> bool:
        """Whether nothing but sessions and links in mails needs a former key any more."""
        return not self.webhooks


def keys_rotate() -> KeysReport:
    """Encrypts second factors and secrets of sources with the present key, and names the webhooks whose receivers need
    a new secret."""
    factors = second_factors_renew()
    secrets_renew()
    hooks = Webhook.objects.exclude(state=WebhookState.REMOVED).order_by("pk")
    report = KeysReport(
        second_factors=factors,
        webhooks=[hook.get_absolute_url() for hook in hooks if not is_under_present_key(hook)],
        fallbacks=len(settings.SECRET_KEY_FALLBACKS),
    )
    with transaction.atomic():
        audit_record(
            actor=User.objects.system(),
            action=Action.INSTALLATION_KEYS_ROTATED,
            object_type="installation",
            object_id="keys",
            after={"second_factors": factors.renewed, "lost": factors.lost, "webhooks": len(report.webhooks)},
        )
    return report
