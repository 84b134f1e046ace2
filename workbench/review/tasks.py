"""Tasks of the reviewer's day. Each takes an id and makes one domain call."""

from __future__ import annotations

from celery import shared_task

from workbench.infra.dispatch import dispatch


@shared_task(name="review.regenerate")
def regenerate(*, regeneration_id: int) -> None:
    """Writes a new version of an answer."""
    from .regeneration import regeneration_carry_out

    regeneration_carry_out(regeneration_id=regeneration_id)


@shared_task(name="review.sweep")
def sweep() -> int:
    """Wakes a worker for each new answer whose message was lost or whose worker is gone; returns how many."""
    from .regeneration import regenerations_to_wake

    return sum(dispatch(regenerate, regeneration_id=pk) for pk in regenerations_to_wake())


@shared_task(name="review.mail")
def mail(*, user_id: int) -> bool:
    """Tells one person by e-mail."""
    from .notifications import mail_send

    return mail_send(user_id=user_id)


@shared_task(name="review.digest")
def digest() -> int:
    """The daily mails; returns how many people get one."""
    from .notifications import people_to_mail

    return sum(dispatch(mail, user_id=pk) for pk in people_to_mail())
