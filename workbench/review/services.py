"""Decisions of people. The machine's verdict is never touched; each decision is a new row.

One function decides about a candidate, whatever the way it came (page, API, bulk): the rules hold everywhere.
"""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.services import audit_record
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.labeling.services import label_from_review
from workbench.questions.models import Answer, Candidate, ReviewState, RoleChoice, Run, RunStatus
from workbench.vocabulary.learning import alias_learn

from .models import ItemState, QueueItem, ReasonCode, Review, ReviewAction
from .selectors import REVIEWS, current_review, effective_role, queue_free, queue_open

#: How long a claimed item stays with its reviewer without a sign of life.
CLAIM_LEASE = timedelta(minutes=5)
SURVIVING = (RoleChoice.PRIMARY, RoleChoice.SUPPORTING)


def candidate_approve(
    *, actor: User, candidate: Candidate, comment: str = "", seen_review_id: int | None = None
) -> Review:
    """The person agrees with the machine's role.

    Raises :class:`WorkbenchError` when the machine gave no role, :class:`Conflict` when somebody else decided or
    holds the item, :class:`NotAllowed` without the right to review.
    """
    return _candidate_decide(
        actor=actor,
        candidate=candidate,
        action=ReviewAction.APPROVE,
        role=None,
        reason_code="",
        comment=comment,
        seen_review_id=seen_review_id,
    )


def candidate_override(
    *,
    actor: User,
    candidate: Candidate,
    role: str,
    reason_code: str,
    comment: str = "",
    seen_review_id: int | None = None,
) -> Review:
    """The person gives another role, with a typed reason.

    Raises as :func:`candidate_approve`; also when role or reason are unknown, or the role is the machine's.
    """
    if role not in RoleChoice.values:
        raise WorkbenchError(_("Choose one of the four roles."), code="role_unknown")
    if reason_code not in ReasonCode.values:
        raise WorkbenchError(_("Choose a reason for the override."), code="reason_missing")
    if reason_code == ReasonCode.OTHER and not comment.strip():
        raise WorkbenchError(_("Say in the comment what the other reason is."), code="comment_missing")
    return _candidate_decide(
        actor=actor,
        candidate=candidate,
        action=ReviewAction.OVERRIDE,
        role=role,
        reason_code=reason_code,
        comment=comment,
        seen_review_id=seen_review_id,
    )


def candidate_unsure(*, actor: User, candidate: Candidate, comment: str = "") -> Review:
    """The person can't tell: the item goes back to the queue for somebody else."""
    return _candidate_decide(
        actor=actor,
        candidate=candidate,
        action=ReviewAction.UNSURE,
        role=None,
        reason_code="",
        comment=comment,
        seen_review_id=None,
    )


def _candidate_decide(
    *,
    actor: User,
    candidate: Candidate,
    action: str,
    role: str | None,
    reason_code: str,
    comment: str,
    seen_review_id: int | None,
) -> Review:
    with transaction.atomic():
        run = _reviewable_run(actor=actor, run_id=candidate.run_id)
        locked = (
            Candidate.objects.select_for_update(of=("self",)).select_related("verdict").get(pk=candidate.pk)
        )
        previous = current_review(locked)
        _refuse_when_overtaken(actor=actor, previous=previous, seen_review_id=seen_review_id)
        item = _claimed_item(actor=actor, candidate=locked)
        machine_role = _machine_role(locked)
        before = effective_role(machine_role=machine_role, review=previous)
        if action == ReviewAction.APPROVE:
            role = _approved_role(machine_role)
        if action == ReviewAction.OVERRIDE and role == machine_role:
            raise WorkbenchError(
                _("This is the machine's role already. Approve it, or choose another."), code="same_role"
            )
        review = Review.objects.create(
            run=run,
            candidate=locked,
            reviewer=actor,
            action=action,
            role=role,
            machine_role=machine_role,
            reason_code=reason_code,
            comment=comment.strip(),
            supersedes=previous,
        )
        _item_settle(item, decided=action != ReviewAction.UNSURE)
        after = effective_role(machine_role=machine_role, review=review)
        _mark_answers(locked, before=before, after=after)
        _record(actor=actor, review=review, before=before, after=after)
        label_from_review(review=review)
        alias_learn(review=review)
    return review


def not_found_confirm(*, actor: User, run: Run, comment: str = "") -> Review:
    """The person agrees that the documents do not answer the question."""
    return _not_found_decide(actor=actor, run=run, action=ReviewAction.CONFIRM_NOT_FOUND, comment=comment)


def not_found_refute(*, actor: User, run: Run, comment: str) -> Review:
    """The person says the answer is there, and where."""
    if not comment.strip():
        raise WorkbenchError(
            _("Say where the answer stands: page and lines, or the section."), code="comment_missing"
        )
    return _not_found_decide(actor=actor, run=run, action=ReviewAction.REFUTE_NOT_FOUND, comment=comment)


def _not_found_decide(*, actor: User, run: Run, action: str, comment: str) -> Review:
    with transaction.atomic():
        locked = _reviewable_run(actor=actor, run_id=run.pk)
        if not locked.not_found:
            raise WorkbenchError(_("This run found evidence; decide its candidates."), code="found")
        previous = Review.objects.filter(
            run=locked, candidate__isnull=True, superseded_by__isnull=True
        ).first()
        item = QueueItem.objects.select_for_update().filter(run=locked, candidate__isnull=True).first()
        _refuse_foreign_claim(actor=actor, item=item)
        review = Review.objects.create(
            run=locked, reviewer=actor, action=action, comment=comment.strip(), supersedes=previous
        )
        _item_settle(item, decided=True)
        audit_record(
            actor=actor,
            action=f"not_found.{'confirmed' if action == ReviewAction.CONFIRM_NOT_FOUND else 'refuted'}",
            obj=locked,
            collection_id=locked.collection_id,
            before={"action": previous.action} if previous else None,
            after={"action": action, "review": review.pk, "not_found_reason": locked.not_found_reason[:300]},
            reason=review.comment[:300],
        )
    return review


# --- the queue --------------------------------------------------------------------------------------


def queue_claim_next(*, actor: User, collection_id: int | None = None) -> QueueItem | None:
    """The most urgent waiting item becomes this person's for a while; None when nothing waits.

    An item they hold already comes first. Two people never get the same one: the row is locked while it is
    taken, and rows that others are taking are skipped.
    """
    with transaction.atomic():
        held = queue_open(user=actor, collection_id=collection_id).filter(
            claimed_by=actor, claimed_until__gt=Now()
        )
        free = queue_free(user=actor, collection_id=collection_id)
        item = (
            held.select_for_update(of=("self",)).first()
            or free.select_for_update(of=("self",), skip_locked=True).first()
        )
        if item is None:
            return None
        _claim(actor=actor, item=item)
    return item


def queue_claim(*, actor: User, item: QueueItem) -> QueueItem:
    """This item becomes this person's; Conflict when somebody else holds it."""
    with transaction.atomic():
        locked = QueueItem.objects.select_for_update().get(pk=item.pk)
        _require_review_right(actor=actor, run=locked.run)
        _refuse_foreign_claim(actor=actor, item=locked)
        _claim(actor=actor, item=locked)
    return locked


def _claim(*, actor: User, item: QueueItem) -> None:
    is_new = item.claimed_by_id != actor.pk
    QueueItem.objects.filter(pk=item.pk).update(claimed_by=actor, claimed_until=Now() + CLAIM_LEASE)
    item.refresh_from_db()
    if is_new:
        audit_record(
            actor=actor,
            action="queue.claimed",
            obj=item,
            collection_id=item.collection_id,
            after={"run": item.run_id},
        )


def queue_release(*, actor: User, item: QueueItem) -> None:
    """Gives the item back. Only its holder may, or an admin of the collection."""
    with transaction.atomic():
        locked = QueueItem.objects.select_for_update().select_related("collection").get(pk=item.pk)
        is_admin = has_permission(actor, locked.collection, Permission.MANAGE)
        if locked.claimed_by_id not in {None, actor.pk} and not is_admin:
            raise NotAllowed(_("Somebody else holds this item."))
        QueueItem.objects.filter(pk=locked.pk).update(claimed_by=None, claimed_until=None)
        audit_record(actor=actor, action="queue.released", obj=locked, collection_id=locked.collection_id)


# --- parts ------------------------------------------------------------------------------------------


def _reviewable_run(*, actor: User, run_id: int) -> Run:
    run = Run.objects.select_for_update(of=("self",)).select_related("collection").get(pk=run_id)
    _require_review_right(actor=actor, run=run)
    if run.status != RunStatus.DONE:
        raise Conflict(_("This run has not finished; its verdicts cannot be decided yet."))
    if run.review_state == ReviewState.SIGNED:
        raise Conflict(_("This run is signed. Reopen it first, with a reason."))
    if run.review_state == ReviewState.OPEN:
        Run.objects.filter(pk=run.pk).update(review_state=ReviewState.IN_REVIEW)
    return run


def _require_review_right(*, actor: User, run: Run) -> None:
    if not has_permission(actor, run.collection, Permission.REVIEW):
        raise NotAllowed(_("Only reviewers of this collection may decide."))


def _refuse_when_overtaken(*, actor: User, previous: Review | None, seen_review_id: int | None) -> None:
    """A decision made on an outdated card is refused, kindly: the person sees what changed and decides again."""
    if previous is None or previous.reviewer_id == actor.pk or previous.pk == seen_review_id:
        return
    if previous.action == ReviewAction.UNSURE:
        return  # that person left the decision to others
    raise Conflict(
        _("%(name)s decided this card meanwhile. Nothing is lost: look at the decision, then decide again.")
        % {"name": previous.reviewer},
        code="overtaken",
    )


def _claimed_item(*, actor: User, candidate: Candidate) -> QueueItem | None:
    item = QueueItem.objects.select_for_update().filter(candidate=candidate).first()
    _refuse_foreign_claim(actor=actor, item=item)
    return item


def _refuse_foreign_claim(*, actor: User, item: QueueItem | None) -> None:
    if item is None or item.claimed_by_id in {None, actor.pk} or item.state != ItemState.WAITING:
        return
    if QueueItem.objects.filter(pk=item.pk, claimed_until__gt=Now()).exists():
        raise Conflict(
            _("%(name)s is working on this card. It comes back to the queue if they leave it.")
            % {"name": item.claimed_by},
            code="claimed",
        )


def _machine_role(candidate: Candidate) -> str | None:
    verdict = getattr(candidate, "verdict", None)
    return verdict.role if verdict else None


def _approved_role(machine_role: str | None) -> str:
    if machine_role is None:
        raise WorkbenchError(
            _("The machine gave no role here, so there is nothing to approve. Choose one."), code="undecided"
        )
    return machine_role


def _item_settle(item: QueueItem | None, *, decided: bool) -> None:
    if item is None:
        return
    values = (
        {"state": ItemState.DECIDED, "decided_at": Now()}
        if decided
        else {"state": ItemState.WAITING, "decided_at": None}
    )
    QueueItem.objects.filter(pk=item.pk).update(claimed_by=None, claimed_until=None, **values)


def _mark_answers(candidate: Candidate, *, before: str | None, after: str | None) -> None:
    """The answer is stale when the evidence it was written from changed, or when the question is answered no
    longer, or now."""
    if before == after:
        return
    if before in SURVIVING or after in SURVIVING or _decides_not_found(candidate, before=before, after=after):
        Answer.objects.filter(run_id=candidate.run_id, is_stale=False).update(is_stale=True)


def _decides_not_found(candidate: Candidate, *, before: str | None, after: str | None) -> bool:
    """Whether the result stands or falls with this tangential passage, because nothing else survives."""
    if RoleChoice.TANGENTIAL not in (before, after):
        return False
    others = Candidate.objects.filter(run_id=candidate.run_id).exclude(pk=candidate.pk)
    return not any(
        effective_role(machine_role=_machine_role(other), review=current_review(other))
        in (*SURVIVING, RoleChoice.TANGENTIAL)
        for other in others.select_related("verdict").prefetch_related(REVIEWS)
    )


def _record(*, actor: User, review: Review, before: str | None, after: str | None) -> None:
    verbs = {
        ReviewAction.APPROVE: "verdict.approved",
        ReviewAction.OVERRIDE: "verdict.overridden",
        ReviewAction.UNSURE: "verdict.unsure",
    }
    audit_record(
        actor=actor,
        action=verbs[ReviewAction(review.action)],
        obj=review.candidate,
        collection_id=review.run.collection_id,
        before={"role": before, "machine_role": review.machine_role},
        after={
            "role": after,
            "machine_role": review.machine_role,
            "reason_code": review.reason_code,
            "review": review.pk,
            "run": review.run_id,
            "candidate_id": review.candidate.candidate_id if review.candidate else None,
        },
        reason=review.comment[:300],
    )
