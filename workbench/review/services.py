"""Decisions of people. Each decision is a new row; the machine's verdict is never changed.

One function decides about a candidate for pages, API and bulk approval, so the same rules apply everywhere.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.runs.models import Answer, Candidate, ReviewState, RoleChoice, Run, RunStatus, require_role
from workbench.runs.places import lines_range
from workbench.runs.records import anchor_of

from .blindness import has_decided, hides, require_sight, waits_blind
from .enqueue import BLIND_PRIORITY, not_found_fill
from .events import DecisionUndone, decided, decision_undone, not_found_decided
from .learning import alias_learn
from .models import ItemStage, ItemState, QueueItem, ReasonCode, Review, ReviewAction, SecondReview
from .selectors import REVIEWS, UNDO_WINDOW, before_undo, current_review, effective_role

SURVIVING = (RoleChoice.PRIMARY, RoleChoice.SUPPORTING)


def candidate_approve(
    *, actor: User, candidate: Candidate, comment: str = "", seen_review_id: int | None = None
) -> Review:
    """Approves the machine's role. Raises :class:`WorkbenchError` if the machine gave no role, :class:`Conflict` if
    somebody else decided or holds the item, :class:`NotAllowed` without the right to review."""
    return _candidate_decide(
        actor=actor,
        candidate=candidate,
        action=ReviewAction.APPROVE,
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
    """Overrides the machine's role, with a kind of reason. Raises as :func:`candidate_approve`, and if role or reason
    are unknown or the role is the machine's."""
    require_role(role)
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


def candidate_choose(
    *,
    actor: User,
    candidate: Candidate,
    role: str,
    comment: str = "",
    seen_review_id: int | None = None,
) -> Review:
    """Records a blind decision: a role given without seeing the machine's. If both agree, it counts as an approval.
    Raises as :func:`candidate_approve`, and :class:`Conflict` if the card is not blind."""
    require_role(role)
    return _candidate_decide(
        actor=actor,
        candidate=candidate,
        action=ReviewAction.OVERRIDE,
        role=role,
        comment=comment,
        seen_review_id=seen_review_id,
        blind=True,
    )


def candidate_unsure(*, actor: User, candidate: Candidate, comment: str = "") -> Review:
    """Records that the person cannot tell. The item returns to the queue for somebody else."""
    return _candidate_decide(actor=actor, candidate=candidate, action=ReviewAction.UNSURE, comment=comment)


def _candidate_decide(
    *,
    actor: User,
    candidate: Candidate,
    action: str,
    comment: str,
    role: str | None = None,
    reason_code: str = "",
    seen_review_id: int | None = None,
    blind: bool = False,
) -> Review:
    with transaction.atomic():
        run = run_for_decision(actor=actor, run_id=candidate.run_id)
        locked = candidate_locked(candidate.pk, run=run)
        previous = current_review(locked)
        item = item_locked(actor=actor, candidate=locked)
        if not (waits_blind(item) and hides(item=item, run=run, user=actor)):  # else it would say who decided
            _refuse_when_overtaken(actor=actor, previous=previous, seen_review_id=seen_review_id)
        is_unsure = action == ReviewAction.UNSURE and (previous is None or previous.role is None)
        _refuse_wrong_way(actor=actor, candidate=locked, item=item, is_unsure=is_unsure, blind=blind)
        machine_role = machine_role_of(locked)
        before = effective_role(machine_role=machine_role, review=previous)
        if blind and role == machine_role:
            action = ReviewAction.APPROVE
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
            blind=blind,
            blind_chance=item.blind_chance if blind and item else None,
            seconds_on_card=seconds_on_card(item=item, actor=actor),
        )
        awaits_second = item_follow(item, review=review)
        not_found_fill(run=run)
        after = effective_role(machine_role=machine_role, review=review)
        is_first = previous is None or previous.role is None
        answers_mark(locked, before=before, after=after, is_word_new=is_first and review.role is not None)
        _record(actor=actor, review=review, before=before, after=after)
        decided.publish(review)
        if not awaits_second:  # a learned word would reveal the first decision to the second reviewer
            alias_learn(review=review)
    return review


def candidate_undo(*, actor: User, candidate: Candidate) -> Review:
    """Undoes the person's latest decision on this candidate by adding a row. The decision before it counts again.
    Raises :class:`Conflict` if it is not theirs, not the latest, too old, or others have built on it; otherwise as
    :func:`candidate_approve`."""
    with transaction.atomic():
        run = run_for_decision(actor=actor, run_id=candidate.run_id)
        locked = candidate_locked(candidate.pk, run=run)
        undone = current_review(locked)
        _refuse_undo(actor=actor, review=undone)
        assert undone is not None
        by_key = {review.pk: review for review in locked.reviews.all()}
        standing = before_undo(by_key.get(undone.supersedes_id or 0), by_key)
        item = item_locked(actor=actor, candidate=locked)
        machine_role = machine_role_of(locked)
        review = Review.objects.create(
            run=run,
            candidate=locked,
            reviewer=actor,
            action=ReviewAction.UNDO,
            role=standing.role if standing else None,
            machine_role=machine_role,
            supersedes=undone,
        )
        item_settle(item, decided=standing is not None and standing.role is not None)
        before = effective_role(machine_role=machine_role, review=undone)
        after = effective_role(machine_role=machine_role, review=review)
        answers_mark(locked, before=before, after=after, is_word_new=review.role is None)
        _record(actor=actor, review=review, before=before, after=after)
        decision_undone.publish(DecisionUndone(undone, by=actor))
    return review


def _refuse_undo(*, actor: User, review: Review | None) -> None:
    if review is None or review.reviewer_id != actor.pk or review.action == ReviewAction.UNDO:
        raise Conflict(_("The last decision here is not yours to take back."), code="nothing_to_undo")
    if not Review.objects.filter(pk=review.pk, created_at__gt=Now() - UNDO_WINDOW).exists():
        raise Conflict(
            _("Ten minutes have passed. Decide again instead: both decisions stay on record."),
            code="too_late",
        )
    if hasattr(review, "second_review") or hasattr(review, "adjudication"):
        raise Conflict(_("Somebody has reviewed this decision already."), code="built_upon")


def not_found_confirm(*, actor: User, run: Run, comment: str = "") -> Review:
    """Confirms that the documents do not answer the question. Like :func:`not_found_refute`, raises
    :class:`DecideFirst` while a card of the run is hidden from the person."""
    require_sight(user=actor, runs=[run])
    return _not_found_decide(actor=actor, run=run, action=ReviewAction.CONFIRM_NOT_FOUND, comment=comment)


def not_found_refute(*, actor: User, run: Run, comment: str, candidate: Candidate | None = None) -> Review:
    """Refutes a not-found result. The comment says where the answer is, or the person names the candidate of the run
    that answers, which becomes primary."""
    if candidate is not None:
        return _refuted_by(actor=actor, run=run, candidate=candidate, comment=comment)
    if not comment.strip():
        raise WorkbenchError(
            _("Say where the answer is: page and lines, or the section."), code="comment_missing"
        )
    require_sight(user=actor, runs=[run])
    return _not_found_decide(actor=actor, run=run, action=ReviewAction.REFUTE_NOT_FOUND, comment=comment)


def _refuted_by(*, actor: User, run: Run, candidate: Candidate, comment: str) -> Review:
    if candidate.run_id != run.pk:
        raise WorkbenchError(_("This passage belongs to another run."), code="other_run")
    require_sight(user=actor, runs=[run])
    place = f"{candidate.document.name}, {lines_range(anchor_of(candidate))}"
    with transaction.atomic():
        refuted = _not_found_decide(
            actor=actor,
            run=run,
            action=ReviewAction.REFUTE_NOT_FOUND,
            comment=comment.strip() or place,
            reason=comment.strip() or candidate.candidate_id,
        )
        standing = current_review(candidate)
        if effective_role(machine_role=machine_role_of(candidate), review=standing) != RoleChoice.PRIMARY:
            candidate_override(
                actor=actor,
                candidate=candidate,
                role=RoleChoice.PRIMARY,
                reason_code=ReasonCode.WRONG_ROLE,
                comment=comment,
                seen_review_id=standing.pk if standing else None,
            )
    return refuted


def not_found_answered(*, actor: User, run: Run, candidate: Candidate) -> Review:
    """Refutes the not-found result of a run to which a person added evidence. The person may not know of the result."""
    return _not_found_decide(
        actor=actor, run=run, action=ReviewAction.REFUTE_NOT_FOUND, comment=candidate.candidate_id
    )


def _not_found_decide(
    *, actor: User, run: Run, action: str, comment: str, reason: str | None = None
) -> Review:
    """``reason`` is for the trail, if it differs from the comment: the trail names no file."""
    with transaction.atomic():
        locked = run_for_decision(actor=actor, run_id=run.pk)
        if not locked.not_found:
            raise WorkbenchError(_("This run found evidence; decide its candidates."), code="found")
        previous = _not_found_word(locked)
        item = _not_found_item(actor=actor, run=locked)
        review = Review.objects.create(
            run=locked, reviewer=actor, action=action, comment=comment.strip(), supersedes=previous
        )
        item_settle(item, decided=True)
        audit_record(
            actor=actor,
            action=Action.NOT_FOUND_CONFIRMED
            if action == ReviewAction.CONFIRM_NOT_FOUND
            else Action.NOT_FOUND_REFUTED,
            obj=locked,
            before={"action": previous.action} if previous else None,
            after={"action": action, "review": review.pk, "not_found_reason": locked.not_found_reason[:300]},
            reason=(review.comment if reason is None else reason)[:300],
        )
        not_found_decided.publish(review)
    return review


def not_found_undo(*, actor: User, run: Run) -> Review:
    """Undoes the person's latest decision on a not-found result, as :func:`candidate_undo` does."""
    with transaction.atomic():
        locked = run_for_decision(actor=actor, run_id=run.pk)
        undone = _not_found_word(locked)
        _refuse_undo(actor=actor, review=undone)
        assert undone is not None
        item = _not_found_item(actor=actor, run=locked)
        by_key = {review.pk: review for review in locked.reviews.filter(candidate__isnull=True)}
        standing = before_undo(by_key.get(undone.supersedes_id or 0), by_key)
        review = Review.objects.create(
            run=locked, reviewer=actor, action=ReviewAction.UNDO, supersedes=undone
        )
        item_settle(item, decided=standing is not None)
        audit_record(
            actor=actor,
            action=Action.NOT_FOUND_UNDONE,
            obj=locked,
            before={"action": undone.action, "review": undone.pk},
            after={"action": standing.action if standing else None, "review": review.pk},
        )
    return review


def _not_found_word(run: Run) -> Review | None:
    return Review.objects.filter(run=run, candidate__isnull=True, superseded_by__isnull=True).first()


def _not_found_item(*, actor: User, run: Run) -> QueueItem | None:
    item = QueueItem.objects.select_for_update().filter(run=run, candidate__isnull=True).first()
    refuse_foreign_claim(actor=actor, item=item)
    return item


# --- parts ------------------------------------------------------------------------------------------


#: The columns of a run needed for a decision; it has some twenty others.
_RUN_COLUMNS = (
    *("status", "review_state", "strategy", "requested_by_id", "not_found", "not_found_reason"),
    *("question", "collection"),
)


def run_for_decision(*, actor: User, run_id: int) -> Run:
    """Locks the run and puts it in review. Every decision calls this. Raises :class:`NotAllowed` without the right to
    review, :class:`Conflict` if the run is unfinished or signed."""
    runs = Run.objects.select_for_update(of=("self",)).select_related("collection", "question")
    run = runs.only(*_RUN_COLUMNS).get(pk=run_id)
    require_review_right(actor=actor, run=run)
    if run.status != RunStatus.DONE:
        raise Conflict(_("This run has not finished; its verdicts cannot be decided yet."))
    if run.review_state == ReviewState.SIGNED:
        raise Conflict(_("This run is signed. Reopen it first, with a reason."))
    if run.review_state == ReviewState.OPEN:
        Run.objects.filter(pk=run.pk).update(review_state=ReviewState.IN_REVIEW)
    return run


def require_review_right(*, actor: User, run: Run) -> None:
    """Raises :class:`NotAllowed` unless the person reviews in the run's collection."""
    if not has_permission(actor, run.collection, Permission.REVIEW):
        raise NotAllowed(_("Only reviewers of this collection may decide."))


def _refuse_when_overtaken(*, actor: User, previous: Review | None, seen_review_id: int | None) -> None:
    """Refuses a decision made on an outdated card. The person sees what changed and decides again."""
    if previous is None or previous.reviewer_id == actor.pk or previous.pk == seen_review_id:
        return
    if previous.role is None:
        return  # no decision of theirs counts
    raise Conflict(
        _("%(name)s decided this card meanwhile. Nothing is lost: look at the decision, then decide again.")
        % {"name": previous.reviewer},
        code="overtaken",
    )


#: The columns of a candidate needed for a decision, its label and a learned alias.
_CANDIDATE_COLUMNS = (
    *("run_id", "document_id", "candidate_id", "text_hash", "methods", "matched_keywords", "section_title"),
    *(f"anchor_{name}" for name in ("page_start", "line_start", "page_end", "line_end")),
    *(f"verdict__{name}" for name in ("role", "needs_person", "injection_suspected")),
)


def candidate_locked(pk: int, *, run: Run) -> Candidate:
    """Locks the candidate, after its run, until the transaction ends. Returns it with the machine's role."""
    candidates = Candidate.objects.select_for_update(of=("self",)).select_related("verdict")
    candidate = candidates.only(*_CANDIDATE_COLUMNS).get(pk=pk)
    candidate.run = run
    return candidate


def item_locked(*, actor: User, candidate: Candidate) -> QueueItem | None:
    """Locks the candidate's queue item. Raises :class:`Conflict` if somebody else is working on it."""
    item = QueueItem.objects.select_for_update().filter(candidate=candidate).first()
    refuse_foreign_claim(actor=actor, item=item)
    return item


def _refuse_wrong_way(
    *, actor: User, candidate: Candidate, item: QueueItem | None, is_unsure: bool, blind: bool
) -> None:
    """Refuses a first decision on an item that needs a second review, and an open decision on a blind card, except
    "cannot tell" where nobody's decision counts."""
    is_waiting = item is not None and item.state == ItemState.WAITING
    is_blind = (
        item is not None
        and waits_blind(item)
        and item.stage == ItemStage.FIRST
        and not has_decided(user=actor, candidate=candidate)  # whoever did has seen the machine's role
    )
    if (
        is_waiting
        and item is not None
        and item.stage != ItemStage.FIRST
        and item.first_reviewer_id != actor.pk
    ):
        raise Conflict(
            _("This card was decided and waits for a %(stage)s. Give it in the queue.")
            % {"stage": item.get_stage_display()},
            code="second_review",
        )
    if blind and not is_blind:
        raise Conflict(_("This card is not a blind one: approve or override it."), code="not_blind")
    if is_blind and not blind and not is_unsure:
        raise Conflict(
            _("This card is decided blind: choose a role before you see the machine's."), code="blind_first"
        )


def refuse_foreign_claim(*, actor: User, item: QueueItem | None) -> None:
    """Raises :class:`Conflict` when somebody else holds the item."""
    if item is not None and is_held_by_another(actor=actor, item=item):
        raise Conflict(
            _("%(name)s is working on this card. It comes back to the queue if they leave it.")
            % {"name": item.claimed_by},
            code="claimed",
        )


def is_held_by_another(*, actor: User, item: QueueItem) -> bool:
    """Whether somebody else has an unexpired claim on the item."""
    if item.claimed_by_id in {None, actor.pk} or item.state != ItemState.WAITING:
        return False
    return QueueItem.objects.filter(pk=item.pk, claimed_until__gt=Now()).exists()


def machine_role_of(candidate: Candidate) -> str | None:
    verdict = getattr(candidate, "verdict", None)
    return verdict.role if verdict else None


def _approved_role(machine_role: str | None) -> str:
    if machine_role is None:
        raise WorkbenchError(
            _("The machine gave no role here, so there is nothing to approve. Choose one."), code="undecided"
        )
    return machine_role


def seconds_on_card(*, item: QueueItem | None, actor: User) -> float | None:
    """Seconds since the person claimed the item; None if they did not claim it."""
    if item is None or item.claimed_by_id != actor.pk or item.claimed_at is None:
        return None
    return round((timezone.now() - item.claimed_at).total_seconds(), 3)


def item_follow(item: QueueItem | None, *, review: Review) -> bool:
    """Updates the queue item after a first decision: done, returned to others, or passed to a second person. Returns
    whether it goes to a second person."""
    if item is None:
        return False
    if review.role is None:
        item_settle(item, decided=False)
        return False
    dispute = item.stage == ItemStage.ADJUDICATION and item.state == ItemState.WAITING
    if dispute:
        second = SecondReview.objects.filter(candidate=item.candidate_id).order_by("pk").last()
        if second is not None and second.role != review.role:
            return False  # still two opinions, so the dispute stays open
    if item.needs_second and not dispute:
        QueueItem.objects.filter(pk=item.pk).update(
            state=ItemState.WAITING,
            stage=ItemStage.SECOND,
            is_required=True,
            priority=BLIND_PRIORITY,
            first_reviewer=review.reviewer,
            second_reviewer=None,
            **NOBODYS,
        )
        return True
    item_settle(item, decided=True)
    return False


#: Neither claimed nor assigned.
NOBODYS: dict[str, None] = {
    "claimed_by": None,
    "claimed_until": None,
    "claimed_at": None,
    "assigned_to": None,
}


def item_settle(item: QueueItem | None, *, decided: bool) -> None:
    """Removes the item from the queue, or returns it to its first stage for everybody. A blind card stays open to those
    who decided it before (``blindness.has_decided``)."""
    if item is None:
        return
    values = (
        {"state": ItemState.DECIDED, "decided_at": Now()}
        if decided
        else {
            "state": ItemState.WAITING,
            "decided_at": None,
            "stage": ItemStage.FIRST,
            "first_reviewer": None,
        }
    )
    QueueItem.objects.filter(pk=item.pk).update(**NOBODYS, **values)


def answers_mark(
    candidate: Candidate, *, before: str | None, after: str | None, is_word_new: bool = False
) -> None:
    """Marks the answer stale if its evidence changed, or if the question became answered or unanswered.
    ``is_word_new``: a person's decision was added or removed."""
    if before == after and not (is_word_new and awaited_a_person(candidate)):
        return
    if before in SURVIVING or after in SURVIVING or _decides_not_found(candidate, before=before, after=after):
        Answer.objects.filter(run_id=candidate.run_id, is_stale=False).update(is_stale=True)


def awaited_a_person(candidate: Candidate) -> bool:
    """Whether an answer may only use the passage once a person agrees (``arbitration.answers.may_answer``)."""
    verdict = getattr(candidate, "verdict", None)
    return verdict is not None and (verdict.needs_person or verdict.injection_suspected)


def _decides_not_found(candidate: Candidate, *, before: str | None, after: str | None) -> bool:
    """Whether the result depends on this tangential passage, because nothing else survives."""
    if RoleChoice.TANGENTIAL not in (before, after):
        return False
    surviving = SURVIVING if before == after else (*SURVIVING, RoleChoice.TANGENTIAL)
    others = Candidate.objects.filter(run_id=candidate.run_id).exclude(pk=candidate.pk)
    return not any(
        effective_role(machine_role=machine_role_of(other), review=current_review(other)) in surviving
        for other in others.select_related("verdict").prefetch_related(REVIEWS)
    )


def _record(*, actor: User, review: Review, before: str | None, after: str | None) -> None:
    verbs = {
        ReviewAction.APPROVE: Action.VERDICT_APPROVED,
        ReviewAction.OVERRIDE: Action.VERDICT_OVERRIDDEN,
        ReviewAction.UNSURE: Action.VERDICT_UNSURE,
        ReviewAction.UNDO: Action.VERDICT_UNDONE,
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
            "blind": review.blind,
            "review": review.pk,
            "run": review.run_id,
            "candidate_id": review.candidate.candidate_id if review.candidate else None,
        },
        reason=review.comment[:300],
    )
