"""Bulk approval of a filtered part of the queue: after a preview, and after a random sample was decided one by one. If
a person does not approve a sampled card, nothing else is approved."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from math import ceil

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.documents.models import Collection as Folder
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.runs.models import ReviewState, RunStatus
from workbench.runs.restrictions import runs_open_to

from .blindness import waits_blind
from .enqueue import uncertainty
from .filters import QueueFilter, queue_filtered
from .models import (
    CHECK_SHARE,
    BulkApproval,
    BulkState,
    ItemStage,
    ItemState,
    QueueItem,
    QueueItemQuerySet,
    Review,
    ReviewAction,
    ReviewPolicy,
)
from .selectors import queue_open, standing_review
from .services import candidate_approve

#: At most so many are approved at once: a person must be able to look through the preview.
MOST_AT_ONCE = 50
#: A score nearer to the middle than this is no approval at a glance.
_UNSURE = 0.6


@dataclass(frozen=True, slots=True)
class BulkPreview:
    """What would be approved, what is left out and why, and the digest that the approval must name."""

    items: list[QueueItem]
    left_out: dict[str, int]
    digest: str
    total: int = 0


@dataclass(frozen=True, slots=True)
class BulkChecks:
    """The sampled cards of a bulk approval: which are open, and which were not approved."""

    items: list[QueueItem]
    waiting: list[QueueItem]
    not_approved: list[QueueItem]


@dataclass(slots=True)
class BulkOutcome:
    """The result of a bulk approval, with refusals in words and their counts."""

    approved: int = 0
    refused: Counter[str] = field(default_factory=Counter)


def bulk_preview(*, actor: User, filters: QueueFilter) -> BulkPreview:
    """The part of the queue that the person can bulk approve, most urgent first.

    Left out are not-found results, verdicts without a role or with low confidence, blind cards, second reviews and
    adjudications, cards reserved by or assigned to others, and cards that somebody decided or left open. Signed runs
    are never in the queue.
    """
    found = _known(queue_filtered(user=actor, filters=filters))
    items: list[QueueItem] = []
    left_out: Counter[str] = Counter()
    now_held = _held_by_others(found, actor)
    for item in found.select_related(*_SHOWN)[: _LOOKED_THROUGH * MOST_AT_ONCE]:
        why = _left_out(item, actor=actor, is_held=item.pk in now_held)
        if why:
            left_out[why] += 1
        elif len(items) < MOST_AT_ONCE:
            items.append(item)
        else:
            left_out[_("more than %(limit)d at once") % {"limit": MOST_AT_ONCE}] += 1
    return BulkPreview(items, dict(left_out), _digest(items, filters), total=found.count())


#: What a row of the preview shows.
_SHOWN = (
    *("run__question__document", "collection"),
    *("candidate__verdict", "candidate__document", "candidate__text"),
)
#: So many times the cards that fit are looked through.
_LOOKED_THROUGH = 5


def _known(items: QueueItemQuerySet) -> QueueItemQuerySet:
    """The items, each with whether somebody has decided it before."""
    # A signed run waits for somebody who reopens it, with a reason.
    open_ones = items.exclude(run__review_state=ReviewState.SIGNED)
    return open_ones.annotate(is_known=Exists(Review.objects.filter(candidate=OuterRef("candidate"))))


def _held_by_others(items: QueueItemQuerySet, actor: User) -> set[int]:
    return set(items.filter(claimed_until__gt=Now()).exclude(claimed_by=actor).values_list("pk", flat=True))


def _left_out(item: QueueItem, *, actor: User, is_held: bool) -> str:
    verdict = getattr(item.candidate, "verdict", None) if item.candidate else None
    if item.candidate is None:
        return _("a not-found is decided by itself")
    if item.stage != ItemStage.FIRST:
        return _("second reviews and disputes are decided one by one")
    if waits_blind(item):
        return _("blind cards are decided one by one")
    if verdict is None or verdict.role is None:
        return _("the machine gave no role to approve")
    if verdict.injection_suspected:
        return _("possible prompt injection: look at it")
    unsure = verdict.probability is not None and uncertainty(verdict.probability) > _UNSURE
    if verdict.needs_person or unsure:
        return _("the machine is unsure")
    if is_held or item.assigned_to_id not in {None, actor.pk}:
        return _("somebody else has it")
    if getattr(item, "is_known", False):
        return _("somebody has said something on it")
    return "" if item.run.status == RunStatus.DONE else _("its run has not finished")


def _digest(items: list[QueueItem], filters: QueueFilter) -> str:
    text = f"{filters.query}|{','.join(str(item.pk) for item in items)}"
    return hashlib.sha256(text.encode()).hexdigest()


def bulk_start(
    *,
    actor: User,
    filters: QueueFilter,
    digest: str,
    reason: str,
    chosen: Collection[int] | None = None,
) -> BulkApproval:
    """Starts a bulk approval of the preview with this ``digest``, or of its ``chosen`` items, and draws the sample to
    decide one by one. Raises :class:`Conflict` if the preview is outdated, :class:`WorkbenchError` if nothing is left
    or no reason is given."""
    preview = bulk_preview(actor=actor, filters=filters)
    if not preview.items:
        raise WorkbenchError(_("None of these cards can be bulk approved."), code="nothing")
    if not reason.strip():
        raise WorkbenchError(_("Say why these can be bulk approved."), code="reason_missing")
    shown = {item.pk for item in preview.items}
    if preview.digest != digest or not shown.issuperset(chosen or ()):
        raise Conflict(
            _("The queue changed meanwhile. Look at it again, then approve."), code="preview_changed"
        )
    items = [item for item in preview.items if chosen is None or item.pk in chosen]
    if not items:
        raise WorkbenchError(_("Choose at least one card."), code="nothing")
    with transaction.atomic():
        bulk = BulkApproval.objects.create(
            actor=actor,
            query=filters.query[:500],
            reason=reason.strip(),
            items=[item.pk for item in items],
            checks=[item.pk for item in drawn(items)],
        )
        _record(Action.QUEUE_BULK_STARTED, bulk, items)
    return bulk


def drawn(items: list[QueueItem]) -> list[QueueItem]:
    """Draws the sample to decide one by one: each collection's share, at least one card. The draw depends only on the
    cards, so that nobody can redraw until it suits."""
    by_collection: dict[int, list[QueueItem]] = {}
    for item in items:
        by_collection.setdefault(item.collection_id, []).append(item)
    policies = ReviewPolicy.objects.filter(collection__in=by_collection)
    shares = dict(policies.values_list("collection_id", "check_share"))
    checks: set[int] = set()
    for collection_id, members in by_collection.items():
        number = max(1, ceil(shares.get(collection_id, CHECK_SHARE) * len(members)))
        checks.update(item.pk for item in sorted(members, key=_lot)[:number])
    return [item for item in items if item.pk in checks]


def _lot(item: QueueItem) -> bytes:
    return hashlib.sha256(f"bulk check:{item.pk}:{item.candidate_id}".encode()).digest()


def bulk_for(*, user: User, pk: int) -> BulkApproval:
    """The person's own bulk approval, while they may decide all its cards; else 404."""
    found = get_object_or_404(BulkApproval, pk=pk, actor=user)
    if _out_of_reach(found, user):
        raise Http404
    return found


def _out_of_reach(bulk: BulkApproval, user: User) -> bool:
    """Whether the person lost the right to decide a card of it since they drew the sample. Roles are read anew."""
    items = QueueItem.objects.filter(pk__in=bulk.items)
    collections = Folder.objects.filter(pk__in=items.order_by().values("collection"))
    if not all(has_permission(user, collection, Permission.REVIEW) for collection in collections):
        return True
    return items.exclude(runs_open_to(user, "run")).exists()


def checks_of(bulk: BulkApproval) -> BulkChecks:
    """The progress of the sample. A card decided by another person, or with "cannot tell", does not count as
    approved."""
    rows = QueueItem.objects.filter(pk__in=bulk.checks).select_related(*_SHOWN)
    found = list(rows.prefetch_related("candidate__reviews").order_by("pk"))
    waiting, not_approved = [], []
    for item in found:
        review = standing_review(item.candidate.reviews.all()) if item.candidate else None
        if review is None and item.state == ItemState.WAITING:
            waiting.append(item)
        elif review is None or review.action != ReviewAction.APPROVE or review.reviewer_id != bulk.actor_id:
            not_approved.append(item)
    return BulkChecks(found, waiting, not_approved)


def bulk_finish(*, actor: User, bulk: BulkApproval) -> BulkOutcome:
    """Approves the rest with one decision each, under the usual rules; nothing if a sampled card was not approved. A
    card that can no longer be approved is skipped and counted. Raises :class:`Conflict` while a sampled card is open,
    and if it is finished already; :class:`NotAllowed` if the person may not decide one of the cards any more."""
    with transaction.atomic():
        locked = BulkApproval.objects.select_for_update().get(pk=bulk.pk, actor=actor)
        if _out_of_reach(locked, actor):
            raise NotAllowed(_("You may not decide all of these cards any more."))
        if locked.state != BulkState.CHECKING:
            raise Conflict(_("This bulk approval is finished."), code="finished")
        checks = checks_of(locked)
        if checks.waiting:
            raise Conflict(_("Decide the cards to check first."), code="checks_wait")
        outcome = BulkOutcome()
        if checks.not_approved:
            _end(locked, BulkState.STOPPED)
            _record(Action.QUEUE_BULK_STOPPED, locked, checks.not_approved)
            return outcome
        approved = _approve_rest(locked, outcome)
        _end(locked, BulkState.DONE)
        _record(Action.QUEUE_BULK_APPROVED, locked, approved)
    return outcome


def _end(bulk: BulkApproval, state: BulkState) -> None:
    BulkApproval.objects.filter(pk=bulk.pk).update(state=state, finished_at=Now())


def _approve_rest(bulk: BulkApproval, outcome: BulkOutcome) -> list[QueueItem]:
    rest = set(bulk.items) - set(bulk.checks)
    found = _known(queue_open(user=bulk.actor).filter(pk__in=rest))
    now_held = _held_by_others(found, bulk.actor)
    rows = {item.pk: item for item in found.select_related(*_SHOWN)}
    approved: list[QueueItem] = []
    for key in (key for key in bulk.items if key in rest):
        item = rows.get(key)
        why = _left_out(item, actor=bulk.actor, is_held=key in now_held) if item else _("decided meanwhile")
        if why or item is None or item.candidate is None:
            outcome.refused[why] += 1
            continue
        try:
            candidate_approve(actor=bulk.actor, candidate=item.candidate, comment=bulk.reason)
        except WorkbenchError as refused:
            outcome.refused[refused.message] += 1
        else:
            outcome.approved += 1
            approved.append(item)
    return approved


def _record(action: Action, bulk: BulkApproval, items: list[QueueItem]) -> None:
    """Records one event per collection, so that each collection's trail covers its own cards."""
    checks = dict(QueueItem.objects.filter(pk__in=bulk.checks).values_list("pk", "collection_id"))
    by_collection: dict[int, list[int]] = {key: [] for key in checks.values()}
    for item in items:
        by_collection.setdefault(item.collection_id, []).append(item.pk)
    for collection in Folder.objects.filter(pk__in=by_collection):
        keys = by_collection[collection.pk]
        audit_record(
            actor=bulk.actor,
            action=action,
            obj=collection,
            after={
                "bulk": bulk.pk,
                "filter": bulk.query,
                "count": len(keys),
                "items": keys,
                "checked": [key for key, of in checks.items() if of == collection.pk],
            },
            reason=bulk.reason[:300],
        )
