"""Tasks of the reviewer's day. Each takes an id and makes one domain call."""

from __future__ import annotations

from celery import shared_task

from workbench.infra.dispatch import dispatch

from .carry_over import anchors_carry_over, carry_overs_to_wake
from .notifications import mail_send, people_to_mail
from .regeneration import regeneration_carry_out, regenerations_to_wake


@shared_task(name="review.regenerate")
def regenerate(*, regeneration_id: int) -> None:
    regeneration_carry_out(regeneration_id=regeneration_id)


@shared_task(name="documents.carry_over")
def carry_over(*, document_id: int) -> None:
    """Takes the decisions on the version before to an accepted version."""
    anchors_carry_over(document_id=document_id)


@shared_task(name="review.sweep")
def sweep() -> int:
    """Wakes a worker for each new answer and each accepted version whose message was lost or whose worker is gone;
    returns how many."""
    woken = sum(dispatch(regenerate, regeneration_id=pk) for pk in regenerations_to_wake())
    return woken + sum(dispatch(carry_over, document_id=pk) for pk in carry_overs_to_wake())


@shared_task(name="review.mail")
def mail(*, user_id: int) -> bool:
    return mail_send(user_id=user_id)


@shared_task(name="review.digest")
def digest() -> int:
    """The daily mails; returns how many people get one."""
    return sum(dispatch(mail, user_id=pk) for pk in people_to_mail())
