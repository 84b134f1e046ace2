"""Mail about accounts that is sent by a worker."""

from __future__ import annotations

from celery import shared_task

from .services import failures_tell


@shared_task(name="accounts.failures_mail")
def failures_mail(*, user_id: int) -> None:
    """Tells somebody that their password was tried."""
    failures_tell(user_id=user_id)
