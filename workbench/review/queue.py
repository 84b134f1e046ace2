"""Who works on what: claims with a lease, release and assignment. Two people never hold the same item."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Case, F, Q, QuerySet, When
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext as _

from workbench.accounts.models import Membership, User
from workbench.accounts.permissions import Permission, has_permission, roles_with
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.runs.models import Candidate, Run

from .filters import QueueFilter
from .groups import next_run
from .models import ItemStage, ItemState, NotificationKind, QueueItem, QueueItemQuerySet
from .notifications import notify
from .selectors import queue_free, queue_open, queue_within_reach
from .services import (
    candidate_undo,
    is_held_by_another,
    not_found_undo,
    refuse_foreign_claim,
    require_review_right,
)

#: How long a claimed item stays with its reviewer without a sign of life.
CLAIM_LEASE = timedelta(minutes=5)


def queue_claim_next(
    *,
    actor: User,
    collection_id: int | None = None,
    filters: QueueFilter | None = None,
    past: int | None = None,
    run_id: int | None = None,
    beyond: QueueFilter | None = None,
) -> QueueItem | None:
    """Claims the next open item for this person for a while; None if there is none.

    Works question by question: ``run_id`` is the current one, and its matching cards come first, in order. Then come an
    item they hold already, items assigned to them, and the first of the queue. ``beyond`` widens these beyond the
    filters. Two people never get the same item: the row is locked while it is claimed, and rows that others are
    claiming are skipped. ``past`` is an item that they hold and skip: it is released, and the items after it come
    first.
    """
    filters = filters or QueueFilter(show="all")
    with transaction.atomic():
        open_items = queue_open(user=actor, collection_id=collection_id)
        free = (beyond or filters).apply(queue_free(user=actor, collection_id=collection_id), user=actor)
        if past is not None:
            run_id = _let_go(actor=actor, key=past) or run_id
        item = None
        if run_id is not None:
            item = _next_of_run(actor, filters, run_id=run_id, past=past)
        if item is None and past is not None:
            item = _past_the_run(free, order=filters.order, run_id=run_id, past=past)
        elif item is None and _has_some(actor):
            held = (beyond or filters).apply(
                open_items.filter(claimed_by=actor, claimed_until__gt=Now()), user=actor
            )
            # Asked for apart: sorting what was handed over to the front would sort all that waits.
            item = (
                held.select_for_update(of=("self",)).first()
                or _unlocked(free.filter(assigned_to=actor)).first()
            )
        if item is None and past is None:
            item = _unlocked(free.filter(assigned_to__isnull=True)).first()
        if item is None:
            return None
        _claim(actor=actor, item=item)
    return item


def _next_of_run(actor: User, filters: QueueFilter, *, run_id: int, past: int | None) -> QueueItem | None:
    """The next card of a question that this person holds or can claim."""
    items = queue_within_reach(user=actor).filter(run_id=run_id)
    items = filters.apply(items, user=actor)
    return _unlocked(items if past is None else items.behind(past, filters.order)).first()


def _past_the_run(free: QueueItemQuerySet, *, order: str, run_id: int | None, past: int) -> QueueItem | None:
    """The first card of the next question; after the last question, the first of all."""
    following = None if run_id is None else next_run(free, order=order, run_id=run_id)
    if following is not None:
        item = _unlocked(free.filter(run_id=following)).first()
        if item is not None:
            return item
    return _unlocked(free.behind(past, order)).first() or _unlocked(free).first()


def _let_go(*, actor: User, key: int) -> int | None:
    """Ends their claim on the item; an assignment stays. Returns the item's run if they held it."""
    held = QueueItem.objects.select_for_update(of=("self",)).filter(pk=key, claimed_by=actor).first()
    if held is None:
        return None
    _free(actor=actor, item=held, kept_for=held.assigned_to_id)
    return held.run_id


def _has_some(actor: User) -> bool:
    """Whether this person has claimed or been assigned anything. Usually not, and the two queries for what they can
    decide now are expensive."""
    theirs = Q(claimed_by=actor) | Q(assigned_to=actor)
    return QueueItem.objects.filter(theirs, state=ItemState.WAITING).order_by().exists()


def _unlocked(items: QueueItemQuerySet) -> QueueItemQuerySet:
    """Locks the items while reading, skipping those that others are claiming."""
    return items.select_for_update(of=("self",), skip_locked=True)


def queue_claim(*, actor: User, item: QueueItem) -> QueueItem:
    """Claims this item, or extends the claim. Conflict if somebody else holds it or it is decided."""
    with transaction.atomic():
        locked = QueueItem.objects.select_for_update().get(pk=item.pk)
        require_review_right(actor=actor, run=locked.run)
        _refuse_decided(locked)
        refuse_foreign_claim(actor=actor, item=locked)
        if locked.assigned_to_id not in {None, actor.pk}:
            raise Conflict(
                _("This card was handed to %(name)s.") % {"name": locked.assigned_to}, code="assigned"
            )
        _refuse_own(actor, locked)
        _claim(actor=actor, item=locked)
    return locked


def queue_claim_back(*, actor: User, item: QueueItem, left: int | None) -> QueueItem:
    """Claims a skipped item again and releases ``left`` if they hold it. Conflict if somebody else has it by now; then
    they keep what they hold."""
    with transaction.atomic():
        # Both at once and in one order: two people may go back to each other's item.
        pair = QueueItem.objects.select_for_update().filter(pk__in={item.pk, left} - {None})
        passed = next((one for one in pair.order_by("pk") if one.pk == item.pk), item)
        if (other := _who_has(passed, besides=actor)) is not None:
            raise Conflict(
                _("%(name)s has taken the card that you skipped. You stay on this one.") % {"name": other},
                code="claimed",
            )
        claimed = queue_claim(actor=actor, item=passed)
        if left is not None and left != passed.pk:
            _let_go(actor=actor, key=left)
    return claimed


def queue_undo(*, actor: User, candidate: Candidate) -> QueueItem | None:
    """Undoes the person's latest decision on a candidate and claims its card again. None if it has no queue item or is
    not open. Raises as :func:`candidate_undo`."""
    with transaction.atomic():
        candidate_undo(actor=actor, candidate=candidate)
        return _reclaimed(actor, QueueItem.objects.filter(candidate=candidate))


def queue_undo_not_found(*, actor: User, run: Run) -> QueueItem | None:
    """Like :func:`queue_undo`, for a not-found result. Raises as :func:`not_found_undo`."""
    with transaction.atomic():
        not_found_undo(actor=actor, run=run)
        return _reclaimed(actor, QueueItem.objects.filter(run=run, candidate__isnull=True))


def _reclaimed(actor: User, items: QuerySet[QueueItem]) -> QueueItem | None:
    item = items.filter(state=ItemState.WAITING).first()
    if item is not None:
        _claim(actor=actor, item=item)
    return item


def _who_has(item: QueueItem, *, besides: User) -> User | None:
    """Who else has claimed or been assigned the item."""
    if is_held_by_another(actor=besides, item=item):
        return item.claimed_by
    return item.assigned_to if item.assigned_to_id != besides.pk else None


def _refuse_decided(item: QueueItem) -> None:
    if item.state != ItemState.WAITING:
        raise Conflict(_("This card is decided already."), code="decided")


def _refuse_own(actor: User, item: QueueItem) -> None:
    """Refuses to let people review or adjudicate their own decisions."""
    if item.stage == ItemStage.FIRST:
        return
    if not QueueItem.objects.filter(pk=item.pk).not_ones_own(actor).exists():
        raise Conflict(_("This is about your own decision; it waits for somebody else."), code="own_decision")


def queue_claim_run(*, actor: User, run: Run, filters: QueueFilter | None = None) -> list[QueueItem]:
    """Claims all open cards of a question that match the filters, in order, for as long as :func:`queue_claim`. Cards
    claimed by or assigned to others are left alone. Raises :class:`NotAllowed` without the right to review,
    :class:`Conflict` if there is nothing to claim."""
    require_review_right(actor=actor, run=run)
    with transaction.atomic():
        items = queue_within_reach(user=actor).filter(run=run)
        taken = list(_unlocked((filters or QueueFilter()).apply(items, user=actor)))
        if not taken:
            raise Conflict(_("No card of this question is free for you."), code="nothing_free")
        new = [item.pk for item in taken if item.claimed_by_id != actor.pk]
        # The time on a card begins when it is opened: those that are only kept have none yet.
        QueueItem.objects.filter(pk__in=[item.pk for item in taken]).update(
            claimed_by=actor,
            claimed_until=Now() + CLAIM_LEASE,
            claimed_at=Case(When(claimed_by=actor, then=F("claimed_at")), default=None),
        )
        if new:
            audit_record(
                actor=actor,
                action=Action.QUEUE_CLAIMED,
                obj=run,
                after={"run": run.pk, "items": new},
            )
    return taken


def queue_release_run(*, actor: User, run: Run) -> int:
    """Releases every card of a question that this person holds. Returns their number."""
    with transaction.atomic():
        held = QueueItem.objects.select_for_update(of=("self",)).filter(
            run=run, state=ItemState.WAITING, claimed_by=actor
        )
        keys = list(held.order_by("pk").values_list("pk", flat=True))
        QueueItem.objects.filter(pk__in=keys).update(claimed_by=None, claimed_until=None, claimed_at=None)
        if keys:
            audit_record(
                actor=actor,
                action=Action.QUEUE_RELEASED,
                obj=run,
                before={"claimed_by": actor.pk, "items": keys},
                after={"claimed_by": None},
            )
    return len(keys)


def _claim(*, actor: User, item: QueueItem) -> None:
    """Claims the item for this person. While they work on a question, their other claims on it are extended too."""
    is_new = item.claimed_by_id != actor.pk
    mine, since = Q(pk=item.pk), Now() if is_new else Coalesce("claimed_at", Now())
    if not is_new:
        mine |= Q(run=item.run_id, state=ItemState.WAITING, claimed_by=actor, claimed_until__gt=Now())
    QueueItem.objects.filter(mine).update(
        claimed_by=actor,
        claimed_until=Now() + CLAIM_LEASE,
        claimed_at=Case(When(pk=item.pk, then=since), default=F("claimed_at")),
    )
    item.claimed_by = actor
    # The database's clock: read by who asks for the times, which the way to the next card does not.
    del item.claimed_until, item.claimed_at
    if is_new:
        audit_record(
            actor=actor,
            action=Action.QUEUE_CLAIMED,
            obj=item,
            after={"run": item.run_id},
        )


def queue_release(*, actor: User, item: QueueItem) -> None:
    """Releases the item. Only its holder, its assignee or an admin of the collection can do so."""
    with transaction.atomic():
        locked = (
            QueueItem.objects.select_for_update(of=("self",)).select_related("collection").get(pk=item.pk)
        )
        is_admin = has_permission(actor, locked.collection, Permission.MANAGE)
        theirs = actor.pk in {locked.claimed_by_id, locked.assigned_to_id}
        nobodys = locked.claimed_by_id is None and locked.assigned_to_id is None
        if not (theirs or nobodys or is_admin):
            raise NotAllowed(_("Somebody else is working on this card."))
        _free(actor=actor, item=locked, kept_for=None)


def _free(*, actor: User, item: QueueItem, kept_for: int | None) -> None:
    """Ends any claim on the item, and assigns it to the person with that key, or to nobody."""
    QueueItem.objects.filter(pk=item.pk).update(
        claimed_by=None, claimed_until=None, claimed_at=None, assigned_to=kept_for
    )
    audit_record(
        actor=actor,
        action=Action.QUEUE_RELEASED,
        obj=item,
        before={"claimed_by": item.claimed_by_id, "assigned_to": item.assigned_to_id},
        after={"claimed_by": None, "assigned_to": kept_for},
    )


def queue_hand_over(*, actor: User, item: QueueItem, to: User, note: str = "") -> QueueItem:
    """Assigns the item to another reviewer, who is notified. Its holder can do so, any reviewer if nobody holds it, and
    an admin of the collection."""
    with transaction.atomic():
        locked = (
            QueueItem.objects.select_for_update(of=("self",))
            .select_related("collection", "run")
            .get(pk=item.pk)
        )
        is_admin = has_permission(actor, locked.collection, Permission.MANAGE)
        if not is_admin:
            require_review_right(actor=actor, run=locked.run)
            refuse_foreign_claim(actor=actor, item=locked)
        _refuse_decided(locked)
        if not reviewers_of(item=locked).filter(pk=to.pk).exists():
            raise WorkbenchError(
                _("%(name)s cannot decide this card. Choose another reviewer of the collection.")
                % {"name": to},
                code="not_a_reviewer",
            )
        QueueItem.objects.filter(pk=locked.pk).update(
            assigned_to=to, claimed_by=None, claimed_until=None, claimed_at=None
        )
        audit_record(
            actor=actor,
            action=Action.QUEUE_HANDED_OVER,
            obj=locked,
            before={"assigned_to": locked.assigned_to_id, "claimed_by": locked.claimed_by_id},
            after={"assigned_to": to.pk, "run": locked.run_id},
            reason=note[:300],
        )
        notify(
            users=[to],
            kind=NotificationKind.HANDED_OVER,
            actor=actor,
            run=locked.run,
            candidate=locked.candidate,
        )
    locked.refresh_from_db()
    return locked


def reviewers_of(*, item: QueueItem) -> QuerySet[User]:
    """The people who can decide this item: reviewers of its collection, except those it concerns."""
    members = Membership.objects.filter(
        collection=item.collection_id, role__in=roles_with(Permission.REVIEW)
    ).values("user_id")
    people = User.objects.filter(pk__in=members, is_active=True)
    if item.stage != ItemStage.FIRST:
        people = people.exclude(pk=item.first_reviewer_id)
    if item.stage == ItemStage.ADJUDICATION:
        people = people.exclude(pk=item.second_reviewer_id)
    return people.order_by("name", "pk")
