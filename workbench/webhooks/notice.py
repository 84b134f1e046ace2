"""The mail that tells a collection's admins that a webhook was switched off."""

from __future__ import annotations

import structlog
from django.conf import settings
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, roles_with
from workbench.direction import shown
from workbench.infra.addresses import public_address

from .models import Webhook, WebhookState

logger = structlog.get_logger(__name__)


def admins_tell(*, webhook_id: int) -> int:
    """Mails every admin of the collection in their language; gives the number. The page says the same to everybody
    who may read it, so a mail that cannot be sent is no failure."""
    webhook = Webhook.objects.select_related("collection").filter(pk=webhook_id).first()
    if webhook is None or webhook.state != WebhookState.DISABLED:
        return 0
    admins = User.objects.filter(
        memberships__collection=webhook.collection,
        memberships__role__in=roles_with(Permission.MANAGE),
        is_active=True,
        is_system=False,
    ).distinct()
    return sum(_mail(webhook, person) for person in admins.order_by("pk"))


def _mail(webhook: Webhook, person: User) -> bool:
    with translation.override(person.language or settings.LANGUAGE_CODE):
        body = render_to_string(
            "webhooks/email/disabled.txt",
            {
                "person": person,
                "webhook": webhook,
                "collection": webhook.collection,
                "url": public_address(webhook.get_absolute_url()),
            },
        )
        subject = _("A webhook of “%(name)s” was switched off") % {"name": webhook.collection.name}
        try:
            send_mail(shown(subject), shown(body), None, [person.email])
        except OSError as error:
            logger.warning("webhooks.mail_failed", user_id=person.pk, error=type(error).__name__)
            return False
    return True
