"""Who works on what: claims with a lease, giving back, handing over. Two people never hold the same item."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext as _

from workbench.accounts.models import Membership, User
from workbench.accounts.permissions import Permission, has_permission, roles_with
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.errors import Conflict, NotAllowed, WorkbenchError

from .filters import QueueFilter
from .models import ItemStage, ItemState, NotificationKind, QueueItem, QueueItemQuerySet
from .notifications import notify
from .selectors import queue_free, queue_open
from .services import is_held_by_another, refuse_foreign_claim, require_review_right

#: How long a claimed item stays with its reviewer without a sign of life.
CLAIM_LEASE = timedelta(minutes=5)


def queue_claim_next(
    *,
    actor: User,
    collection_id: int | None = None,
    filters: QueueFilter | None = None,
    past: int | None = None,
) -> QueueItem | None:
    """The most urgent waiting item becomes this person's for a while; None when nothing waits.

    An item they hold already comes first, then what was handed to them. Two people never get the same one: the row
    is locked while it is taken, and rows that others are taking are skipped. ``past`` is an item that they hold and
    pass over: it is free again, and what stands behind it in the order comes first.
    """
    with transaction.atomic():
        free = queue_free(user=actor, collection_id=collection_id)
        if filters is not None:
            free = filters.apply(free, user=actor)
        item = None
        if past is not None:
            _let_go(actor=actor, key=past)
            item = _unlocked(free.behind(past)).first() or _unlocked(free).first()
        elif _has_some(actor):
            held = queue_open(user=actor, collection_id=collection_id).filter(
                claimed_by=actor, claimed_until__gt=Now()
            )
            if filters is not None:
                held = filters.apply(held, user=actor)
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


def _let_go(*, actor: User, key: int) -> None:
    """Their hold on the item ends; it stays kept for whom it is kept."""
    held = QueueItem.objects.select_for_update(of=("self",)).filter(pk=key, claimed_by=actor).first()
    if held is None:
        return
    _free(actor=actor, item=held, kept_for=held.assigned_to_id)


def _has_some(actor: User) -> bool:
    """Whether anything was claimed by this person or handed to them: mostly not, and the two questions what of it is
    theirs to decide now are dear."""
    theirs = Q(claimed_by=actor) | Q(assigned_to=actor)
    return QueueItem.objects.filter(theirs, state=ItemState.WAITING).order_by().exists()


def _unlocked(items: QueueItemQuerySet) -> QueueItemQuerySet:
    """The items, locked as they are read, without those that others are taking just now."""
    return items.select_for_update(of=("self",), skip_locked=True)


def queue_claim(*, actor: User, item: QueueItem) -> QueueItem:
    """This item becomes this person's, or stays it for another while; Conflict when somebody else holds it, or when it
    is decided."""
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
    """An item that this person passed over becomes theirs again, and ``left``, if they hold it, is free. Conflict when
    somebody else has it by now; then they keep what they hold."""
    with transaction.atomic():
        # Both at once and in one order: two people may go back to each other's item.
        pair = QueueItem.objects.select_for_update().filter(pk__in={item.pk, left} - {None})
        passed = next((one for one in pair.order_by("pk") if one.pk == item.pk), item)
        if (other := _who_has(passed, besides=actor)) is not None:
            raise Conflict(
                _("%(name)s has the card that you passed over by now. You are where you were.")
                % {"name": other},
                code="claimed",
            )
        claimed = queue_claim(actor=actor, item=passed)
        if left is not None and left != passed.pk:
            _let_go(actor=actor, key=left)
    return claimed


def _who_has(item: QueueItem, *, besides: User) -> User | None:
    """Who else holds the item, or for whom it is kept."""
    if is_held_by_another(actor=besides, item=item):
        return item.claimed_by
    return item.assigned_to if item.assigned_to_id != besides.pk else None


def _refuse_decided(item: QueueItem) -> None:
    if item.state != ItemState.WAITING:
        raise Conflict(_("This card is decided already."), code="decided")


def _refuse_own(actor: User, item: QueueItem) -> None:
    """Nobody reviews or adjudicates their own decision."""
    if item.stage == ItemStage.FIRST:
        return
    if not QueueItem.objects.filter(pk=item.pk).not_ones_own(actor).exists():
        raise Conflict(_("This is about your own decision; it waits for somebody else."), code="own_decision")


def _claim(*, actor: User, item: QueueItem) -> None:
    is_new = item.claimed_by_id != actor.pk
    QueueItem.objects.filter(pk=item.pk).update(
        claimed_by=actor,
        claimed_until=Now() + CLAIM_LEASE,
        claimed_at=Now() if is_new else Coalesce("claimed_at", Now()),
    )
    item.claimed_by = actor
    # The database's clock: read by who asks for the times, which the way to the next card does not.
    del item.claimed_until, item.claimed_at
    if is_new:
        audit_record(
            actor=actor,
            action=Action.QUEUE_CLAIMED,
            obj=item,
            collection_id=item.collection_id,
            after={"run": item.run_id},
        )


def queue_release(*, actor: User, item: QueueItem) -> None:
    """Gives the item back to everybody. Only its holder or the person it is kept for may, or an admin of the
    collection."""
    with transaction.atomic():
        locked = (
            QueueItem.objects.select_for_update(of=("self",)).select_related("collection").get(pk=item.pk)
        )
        is_admin = has_permission(actor, locked.collection, Permission.MANAGE)
        theirs = actor.pk in {locked.claimed_by_id, locked.assigned_to_id}
        nobodys = locked.claimed_by_id is None and locked.assigned_to_id is None
        if not (theirs or nobodys or is_admin):
            raise NotAllowed(_("Somebody else holds this item."))
        _free(actor=actor, item=locked, kept_for=None)


def _free(*, actor: User, item: QueueItem, kept_for: int | None) -> None:
    """Nobody holds the item from now on; it is kept for the person with that key, or for nobody."""
    QueueItem.objects.filter(pk=item.pk).update(
        claimed_by=None, claimed_until=None, claimed_at=None, assigned_to=kept_for
    )
    audit_record(
        actor=actor,
        action=Action.QUEUE_RELEASED,
        obj=item,
        collection_id=item.collection_id,
        before={"claimed_by": item.claimed_by_id, "assigned_to": item.assigned_to_id},
        after={"claimed_by": None, "assigned_to": kept_for},
    )


def queue_hand_over(*, actor: User, item: QueueItem, to: User, note: str = "") -> QueueItem:
    """Keeps the item for another reviewer, who is told. The holder may, any reviewer for an item that nobody holds,
    and an admin of the collection."""
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
            collection_id=locked.collection_id,
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
    """The people who may decide this item: reviewers of its collection, without those it is about."""
    members = Membership.objects.filter(
        collection=item.collection_id, role__in=roles_with(Permission.REVIEW)
    ).values("user_id")
    people = User.objects.filter(pk__in=members, is_active=True)
    if item.stage != ItemStage.FIRST:
        people = people.exclude(pk=item.first_reviewer_id)
    if item.stage == ItemStage.ADJUDICATION:
        people = people.exclude(pk=item.second_reviewer_id)
    return people.order_by("name", "pk")
