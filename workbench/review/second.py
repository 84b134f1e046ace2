"""A second person's word, and a third one's where two do not agree. Never the same person, here and in the database."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import Conflict, WorkbenchError
from workbench.runs.models import Candidate, require_role

from .enqueue import not_found_fill
from .events import dispute_adjudicated, second_review_given
from .learning import alias_learn
from .models import (
    Adjudication,
    ItemStage,
    ItemState,
    NotificationKind,
    QueueItem,
    ReasonCode,
    Review,
    ReviewAction,
    SecondReview,
)
from .notifications import notify
from .selectors import current_review, effective_role
from .services import (
    NOBODYS,
    answers_mark,
    candidate_locked,
    item_locked,
    item_settle,
    machine_role_of,
    run_for_decision,
    seconds_on_card,
)


def second_review_add(*, actor: User, candidate: Candidate, role: str, comment: str = "") -> SecondReview:
    """A role given without sight of the machine's and the first reviewer's. The same role settles the card, another
    one sends it to adjudication.

    Raises :class:`Conflict` when the card waits for no second review, or the first one is this person's own; as
    :func:`candidate_approve` otherwise.
    """
    require_role(role)
    with transaction.atomic():
        run = run_for_decision(actor=actor, run_id=candidate.run_id)
        locked = candidate_locked(candidate.pk, run=run)
        item = _item(actor, locked, stage=ItemStage.SECOND)
        first = current_review(locked)
        if first is None or first.role is None:
            raise Conflict(_("There is no decision here to be reviewed."), code="no_first_review")
        if first.reviewer_id == actor.pk:
            raise Conflict(_("This is your own decision; another person reviews it."), code="own_decision")
        second = SecondReview.objects.create(
            run=run,
            candidate=locked,
            review=first,
            first_reviewer=first.reviewer,
            reviewer=actor,
            role=role,
            agrees=role == first.role,
            comment=comment.strip(),
            seconds_on_card=seconds_on_card(item=item, actor=actor),
        )
        _after_second(item, second)
        if second.agrees:
            first.candidate = locked
            alias_learn(review=first)
        not_found_fill(run=run)
        second_review_given.publish(second)
        audit_record(
            actor=actor,
            action=Action.VERDICT_SECOND_REVIEWED,
            obj=locked,
            collection_id=run.collection_id,
            after={
                "run": run.pk,
                "candidate_id": locked.candidate_id,
                "review": first.pk,
                "second_review": second.pk,
                "role": role,
                "agrees": second.agrees,
            },
            reason=second.comment[:300],
        )
        if not second.agrees:
            notify(
                users=[first.reviewer], kind=NotificationKind.DISPUTE, actor=actor, run=run, candidate=locked
            )
    return second


def _after_second(item: QueueItem, second: SecondReview) -> None:
    if second.agrees:
        QueueItem.objects.filter(pk=item.pk).update(second_reviewer=second.reviewer)
        item_settle(item, decided=True)
        return
    QueueItem.objects.filter(pk=item.pk).update(
        stage=ItemStage.ADJUDICATION,
        second_reviewer=second.reviewer,
        priority=1.0,
        why=[*(code for code in item.why if code != "disputed"), "disputed"],
        **NOBODYS,
    )


def dispute_adjudicate(*, actor: User, candidate: Candidate, role: str, reason: str) -> Adjudication:
    """A third person decides between two; their role counts from then on, and both words stay on record.

    Raises :class:`Conflict` when there is no dispute or the person is part of it; :class:`WorkbenchError` without a
    reason.
    """
    require_role(role)
    if not reason.strip():
        raise WorkbenchError(_("Say why you decide so: both reviewers will read it."), code="reason_missing")
    with transaction.atomic():
        run = run_for_decision(actor=actor, run_id=candidate.run_id)
        locked = candidate_locked(candidate.pk, run=run)
        item = _item(actor, locked, stage=ItemStage.ADJUDICATION)
        if actor.pk in {item.first_reviewer_id, item.second_reviewer_id}:
            raise Conflict(
                _("You are one of the two reviewers; a third person decides."), code="own_decision"
            )
        second = SecondReview.objects.filter(candidate=locked, agrees=False).order_by("pk").last()
        previous, machine_role = current_review(locked), machine_role_of(locked)
        if second is None or previous is None:
            raise Conflict(_("There is no dispute here."), code="no_dispute")
        is_approval = role == machine_role
        review = Review.objects.create(
            run=run,
            candidate=locked,
            reviewer=actor,
            action=ReviewAction.APPROVE if is_approval else ReviewAction.OVERRIDE,
            role=role,
            machine_role=machine_role,
            reason_code="" if is_approval else ReasonCode.WRONG_ROLE,
            comment=reason.strip(),
            supersedes=previous,
            seconds_on_card=seconds_on_card(item=item, actor=actor),
        )
        adjudication = Adjudication.objects.create(
            run=run, second_review=second, review=review, adjudicator=actor, reason=reason.strip()
        )
        item_settle(item, decided=True)
        before = effective_role(machine_role=machine_role, review=previous)
        answers_mark(locked, before=before, after=role)
        dispute_adjudicated.publish(adjudication)
        audit_record(
            actor=actor,
            action=Action.VERDICT_ADJUDICATED,
            obj=locked,
            collection_id=run.collection_id,
            before={"role": before, "second_role": second.role},
            after={
                "run": run.pk,
                "candidate_id": locked.candidate_id,
                "role": role,
                "review": review.pk,
                "second_review": second.pk,
            },
            reason=adjudication.reason[:300],
        )
        notify(
            users=[second.first_reviewer, second.reviewer],
            kind=NotificationKind.ADJUDICATED,
            actor=actor,
            run=run,
            candidate=locked,
        )
    return adjudication


def _item(actor: User, candidate: Candidate, *, stage: str) -> QueueItem:
    item = item_locked(actor=actor, candidate=candidate)
    if item is None or item.state != ItemState.WAITING or item.stage != stage:
        raise Conflict(
            _("This card does not wait for a %(stage)s.") % {"stage": ItemStage(stage).label},
            code="another_stage",
        )
    return item
