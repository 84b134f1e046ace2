"""Production without a mail server: a mail is neither sent nor printed, and the log says that there was one."""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

logger = structlog.get_logger(__name__)


class UnsentMail(BaseEmailBackend):
    """Counts mails in the log, without a word of them: they hold links that set passwords."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        if email_messages:
            logger.warning("mail.not_sent", mails=len(email_messages), hint="Set EMAIL_HOST.")
        return 0
