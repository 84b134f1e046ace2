"""What pages read about decisions and the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models import Exists, OuterRef, Prefetch
from django.db.models.functions import Now
from django.urls import reverse

from workbench.questions.models import Candidate, ReviewState, Run, RunStatus

from .models import ItemState, QueueItem, QueueItemQuerySet, Review, ReviewAction

if TYPE_CHECKING:
    from workbench.accounts.models import User

#: Prefetch of a candidate's decisions, oldest first; the last one counts.
REVIEWS = Prefetch("reviews", queryset=Review.objects.select_related("reviewer").order_by("id"))


def current_review(candidate: Candidate) -> Review | None:
    """The person's word that counts now; None when nobody decided."""
    reviews = list(candidate.reviews.all())
    superseded = {review.supersedes_id for review in reviews}
    standing = [review for review in reviews if review.pk not in superseded]
    return max(standing, key=lambda review: review.pk, default=None)


def effective_role(*, machine_role: str | None, review: Review | None) -> str | None:
    """The person's role, else the machine's."""
    if review is None or review.action == ReviewAction.UNSURE or review.role is None:
        return machine_role
    return review.role


def queue_open(
    *, user: User, collection_id: int | None = None, required_only: bool = False
) -> QueueItemQuerySet:
    """Waiting items the user may decide, most urgent first."""
    items = QueueItem.objects.visible_to(user).filter(state=ItemState.WAITING)
    items = items.exclude(run__review_state=ReviewState.SIGNED)  # closed until somebody reopens it
    if collection_id is not None:
        items = items.filter(collection_id=collection_id)
    if required_only:
        items = items.filter(is_required=True)
    return items.order_by("-priority", "id")


def queue_free(*, user: User, collection_id: int | None = None) -> QueueItemQuerySet:
    """Waiting items that nobody holds, without those of which this person said that they cannot tell."""
    passed = Review.objects.filter(
        candidate=OuterRef("candidate"),
        reviewer=user,
        action=ReviewAction.UNSURE,
        superseded_by__isnull=True,
    )
    return (
        queue_open(user=user, collection_id=collection_id)
        .exclude(claimed_until__gt=Now())
        .exclude(Exists(passed))
    )


def signing_of(*, run: Run) -> dict[str, Any]:
    """What the run page says of signing: the standing signature, and where it is given or looked at."""
    standing = run.signatures.filter(reopening__isnull=True).last() if run.status == RunStatus.DONE else None
    return {"signature": standing, "sign_url": reverse("review:sign", args=[run.pk])}
