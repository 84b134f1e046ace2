"""Approving a filtered part of the queue at once, after a look at what that is."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.documents.models import Collection
from workbench.errors import Conflict, WorkbenchError
from workbench.runs.models import ReviewState, RunStatus

from .blindness import waits_blind
from .filters import QueueFilter, queue_filtered
from .models import ItemStage, QueueItem, Review
from .services import candidate_approve

#: At most so many are approved at once: a person must be able to look through the preview.
MOST_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class BulkPreview:
    """What would be approved, what is left out and why, and the digest that the approval must name."""

    items: list[QueueItem]
    left_out: dict[str, int]
    digest: str
    total: int = 0


@dataclass(slots=True)
class BulkOutcome:
    """What became of it; refusals in words, counted."""

    approved: int = 0
    refused: Counter[str] = field(default_factory=Counter)


def bulk_preview(*, actor: User, filters: QueueFilter) -> BulkPreview:
    """The part of the queue the person may approve at once, most urgent first.

    Left out: not-founds, verdicts without a role, blind cards, second reviews and adjudications, what somebody else
    holds or was handed, and cards that somebody decided or left open. Signed runs are never in the queue.
    """
    # A signed run waits for somebody who reopens it, with a reason.
    open_ones = queue_filtered(user=actor, filters=filters).exclude(run__review_state=ReviewState.SIGNED)
    found = open_ones.annotate(is_known=Exists(Review.objects.filter(candidate=OuterRef("candidate"))))
    rows = found.select_related(
        "run__question__document", "candidate__verdict", "candidate__document", "collection"
    )
    items: list[QueueItem] = []
    left_out: Counter[str] = Counter()
    now_held = set(
        found.filter(claimed_until__gt=Now()).exclude(claimed_by=actor).values_list("pk", flat=True)
    )
    for item in rows[: 5 * MOST_AT_ONCE]:
        why = _left_out(item, actor=actor, is_held=item.pk in now_held)
        if why:
            left_out[why] += 1
        elif len(items) < MOST_AT_ONCE:
            items.append(item)
        else:
            left_out[_("more than %(limit)d at once") % {"limit": MOST_AT_ONCE}] += 1
    return BulkPreview(items, dict(left_out), _digest(items, filters), total=found.count())


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
    if is_held or item.assigned_to_id not in {None, actor.pk}:
        return _("somebody else has it")
    if getattr(item, "is_known", False):
        return _("somebody has said something on it")
    return "" if item.run.status == RunStatus.DONE else _("its run has not finished")


def _digest(items: list[QueueItem], filters: QueueFilter) -> str:
    text = f"{filters.query}|{','.join(str(item.pk) for item in items)}"
    return hashlib.sha256(text.encode()).hexdigest()


def bulk_approve(*, actor: User, filters: QueueFilter, digest: str, comment: str = "") -> BulkOutcome:
    """Approves what the preview with this ``digest`` showed, one decision each, by the rules of every decision.

    A card that cannot be approved any more is left and counted. Raises :class:`Conflict` when the preview is not
    true any more, :class:`WorkbenchError` when it is empty.
    """
    preview = bulk_preview(actor=actor, filters=filters)
    if not preview.items:
        raise WorkbenchError(_("Nothing here can be approved at once."), code="nothing")
    if preview.digest != digest:
        raise Conflict(
            _("The queue changed meanwhile. Look at it again, then approve."), code="preview_changed"
        )
    outcome = BulkOutcome()
    approved: list[QueueItem] = []
    for item in preview.items:
        try:
            assert item.candidate is not None
            candidate_approve(actor=actor, candidate=item.candidate, comment=comment)
        except WorkbenchError as refused:
            outcome.refused[refused.message] += 1
        else:
            outcome.approved += 1
            approved.append(item)
    _record(actor, approved, filters)
    return outcome


def _record(actor: User, approved: list[QueueItem], filters: QueueFilter) -> None:
    """One event a collection, so that each collection's trail tells of its own cards."""
    by_collection: dict[int, list[QueueItem]] = {}
    for item in approved:
        by_collection.setdefault(item.collection_id, []).append(item)
    with transaction.atomic():
        for collection in Collection.objects.filter(pk__in=by_collection):
            items = by_collection[collection.pk]
            audit_record(
                actor=actor,
                action=Action.QUEUE_BULK_APPROVED,
                obj=collection,
                collection_id=collection.pk,
                after={"filter": filters.query, "count": len(items), "items": [item.pk for item in items]},
            )
