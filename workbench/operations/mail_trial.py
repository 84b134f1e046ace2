"""A mail to oneself: whether the installation's mail server takes what it is given."""

from __future__ import annotations

from dataclasses import dataclass

import structlog
from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import administers
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import NotAllowed, WorkbenchError

logger = structlog.get_logger(__name__)

#: The longest part of a server's refusal that is shown.
LONGEST_REFUSAL = 200


@dataclass(frozen=True, slots=True)
class MailServer:
    """What mails go through, as pages say it; no password."""

    host: str
    port: int
    security: str
    sender: str

    @property
    def is_set(self) -> bool:
        """Whether mails leave this machine."""
        return bool(self.host)


def mail_server() -> MailServer:
    """The server of the settings; without a host where none is set."""
    security = (
        _("TLS from the start")
        if settings.EMAIL_USE_SSL
        else _("STARTTLS")
        if settings.EMAIL_USE_TLS
        else _("not encrypted")
    )
    return MailServer(settings.EMAIL_HOST, settings.EMAIL_PORT, security, settings.DEFAULT_FROM_EMAIL)


def mail_try(*, actor: User) -> str:
    """Sends a mail to the person who asks, waits until the server took it, and gives the address.

    Raises :class:`NotAllowed` for anybody but an administrator of the installation, :class:`WorkbenchError` where no
    server is set, the account has no address, or the server does not answer or refuses, with its own words.
    """
    if not administers(actor):
        raise NotAllowed(_("Only an administrator of the installation does this."))
    if not actor.email:
        raise WorkbenchError(_("Your account has no email address."), code="address_missing")
    if not mail_server().is_set:
        raise WorkbenchError(
            _("No mail server is set. Set EMAIL_HOST and start the workbench again."),
            code="mail_server_missing",
        )
    try:
        send_mail(
            _("Test mail of the Arbiter Workbench"),
            _("This mail was sent from the Operations page. The mail server works."),
            None,
            [actor.email],
        )
    except OSError as error:  # smtplib's own errors are OSErrors too
        said = " ".join(str(error).split())[:LONGEST_REFUSAL]
        logger.warning("mail.trial_failed", error=type(error).__name__)
        raise WorkbenchError(
            _(
                "The mail server did not take the mail: %(said)s. Check EMAIL_HOST, EMAIL_PORT and the password."
            )
            % {"said": said or type(error).__name__},
            code="mail_failed",
        ) from error
    with transaction.atomic():
        audit_record(actor=actor, action=Action.MAIL_TESTED, obj=actor)
    return actor.email
