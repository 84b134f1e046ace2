"""What pages read about decisions and the queue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db.models import Exists, OuterRef, Prefetch, Q
from django.db.models.functions import Now
from django.urls import reverse

from workbench.accounts.permissions import Permission, collections_with
from workbench.runs.models import Candidate, ReviewState, Run, RunStatus
from workbench.runs.restrictions import runs_open_to

from .models import ItemState, QueueItem, QueueItemQuerySet, Review, ReviewAction, TextChange

if TYPE_CHECKING:
    from workbench.accounts.models import User

#: Time in which people can undo their own decisions.
UNDO_WINDOW = timedelta(minutes=10)
#: Prefetch of a candidate's decisions, oldest first. The last one counts.
REVIEWS = Prefetch("reviews", queryset=Review.objects.select_related("reviewer").order_by("id"))

#: Permissions to see claimed items, and to release or reassign them.
SEE_WHAT_IS_HELD = (Permission.REVIEW, Permission.MANAGE)


def current_review(candidate: Candidate) -> Review | None:
    """The newest decision row of the candidate, undone or not, which the next one supersedes. Its ``role`` is the
    person's role that counts now."""
    return newest_of(list(candidate.reviews.all()))


def newest_of(reviews: Sequence[Review]) -> Review | None:
    """The newest row of a subject, superseded by no other."""
    if not reviews:
        return None
    superseded = {review.supersedes_id for review in reviews}
    standing = [review for review in reviews if review.pk not in superseded]
    return max(standing, key=lambda review: review.pk, default=None)


def standing_review(reviews: Iterable[Review]) -> Review | None:
    """The decision of a subject that counts now. If the newest is undone, the one before it."""
    by_key = {review.pk: review for review in reviews}
    superseded = {review.supersedes_id for review in by_key.values()}
    tips = [review for review in by_key.values() if review.pk not in superseded]
    return before_undo(max(tips, key=lambda review: review.pk, default=None), by_key)


def before_undo(review: Review | None, by_key: dict[int, Review]) -> Review | None:
    """The decision that a row represents: itself, or for an undo the decision before the undone one."""
    while review is not None and review.action == ReviewAction.UNDO:
        undone = by_key[review.supersedes_id]  # a constraint ensures that an undo names one
        review = by_key.get(undone.supersedes_id) if undone.supersedes_id else None
    return review


def effective_role(*, machine_role: str | None, review: Review | None) -> str | None:
    """The person's role if there is one, else the machine's."""
    if review is None or review.action == ReviewAction.UNSURE or review.role is None:
        return machine_role
    return review.role


def queue_open(
    *, user: User, collection_id: int | None = None, required_only: bool = False
) -> QueueItemQuerySet:
    """Open items that the user can decide, most urgent first, except second reviews of their own decisions."""
    items = QueueItem.objects.filter(state=ItemState.WAITING).not_ones_own(user)
    reviewed = collections_with(user=user, permission=Permission.REVIEW)
    if reviewed is not None:
        items = items.filter(runs_open_to(user, "run"), collection__in=reviewed)
    # Closed until somebody reopens it. Items that are required nevertheless came later, with a new document version.
    items = items.exclude(run__review_state=ReviewState.SIGNED, is_required=False)
    if collection_id is not None:
        items = items.filter(collection_id=collection_id)
    if required_only:
        items = items.filter(is_required=True)
    return items.order_by("-urgency", "id")


def queue_free(*, user: User, collection_id: int | None = None) -> QueueItemQuerySet:
    """Open items that nobody has claimed, that are not assigned to somebody else, and that this person has not answered
    with "can't tell"."""
    return _to_take(queue_open(user=user, collection_id=collection_id).exclude(claimed_until__gt=Now()), user)


def queue_within_reach(*, user: User) -> QueueItemQuerySet:
    """Like :func:`queue_free`, plus the items that the person has claimed."""
    others = Q(claimed_until__gt=Now()) & ~Q(claimed_by=user)
    return _to_take(queue_open(user=user).exclude(others), user)


def _to_take(items: QueueItemQuerySet, user: User) -> QueueItemQuerySet:
    passed = Review.objects.filter(
        candidate=OuterRef("candidate"),
        reviewer=user,
        action=ReviewAction.UNSURE,
        superseded_by__isnull=True,
    )
    return items.filter(Q(assigned_to__isnull=True) | Q(assigned_to=user)).exclude(Exists(passed))


def queue_passed(*, user: User, keys: Sequence[int]) -> int | None:
    """The last of these items that still needs this person's decision, whoever has claimed it now."""
    waiting = set(queue_open(user=user).filter(pk__in=keys).order_by().values_list("pk", flat=True))
    return next((key for key in reversed(keys) if key in waiting), None)


def queue_held(*, user: User) -> QueueItemQuerySet:
    """Claimed or assigned items in collections that the user reviews or administers."""
    items = QueueItem.objects.visible_to(user, *SEE_WHAT_IS_HELD).filter(state=ItemState.WAITING)
    return items.filter(Q(claimed_until__gt=Now()) | Q(assigned_to__isnull=False)).order_by(
        "claimed_until", "id"
    )


def signing_of(*, run: Run) -> dict[str, Any]:
    """The signing data of the run page: the current signature, where to sign or look at it, and later text changes."""
    standing = run.signatures.filter(reopening__isnull=True).last() if run.status == RunStatus.DONE else None
    return {
        "signature": standing,
        "sign_url": reverse("review:sign", args=[run.pk]),
        "text_changes": text_changes_of(run=run),
    }


def text_changes_of(*, run: Run) -> list[TextChange]:
    """Changes to the text of a signed run by new document versions, newest version first."""
    if run.review_state != ReviewState.SIGNED or run.text_changed_at is None:
        return []
    rows = TextChange.objects.filter(signature__run=run, signature__reopening__isnull=True)
    return list(rows.select_related("document", "candidate__document").order_by("-document_id", "id"))
