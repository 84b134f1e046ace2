"""What waits for review, who works on it, and how much of it is decided blind or twice."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import F, Q, Subquery
from django.db.models.functions import Extract, Greatest, Ln, Now
from django.utils.translation import gettext_lazy as _

from workbench.accounts.permissions import Permission, member_condition
from workbench.documents.models import Collection
from workbench.runs.models import Candidate, Run
from workbench.runs.restrictions import runs_open_to

if TYPE_CHECKING:
    from workbench.accounts.models import User


class ItemState(models.TextChoices):
    WAITING = "waiting", _("waiting")
    DECIDED = "decided", _("decided")
    WITHDRAWN = "withdrawn", _("withdrawn")


class ItemStage(models.TextChoices):
    FIRST = "first", _("first review")
    SECOND = "second", _("second review")
    ADJUDICATION = "adjudication", _("adjudication")


class QueueItemQuerySet(models.QuerySet["QueueItem"]):
    def visible_to(self, user: User, *permissions: Permission) -> QueueItemQuerySet:
        """Items in collections where the user has one of the permissions, of runs that the user can see."""
        held = reduce(or_, (member_condition(user, each, prefix="collection") for each in permissions))
        return self.filter(held, runs_open_to(user, "run"))

    def not_ones_own(self, user: User) -> QueueItemQuerySet:
        """Leaves out second reviews of the user's own decisions, and adjudications of disputes the user is part of."""
        mine = Q(stage=ItemStage.SECOND, first_reviewer=user) | Q(
            Q(first_reviewer=user) | Q(second_reviewer=user), stage=ItemStage.ADJUDICATION
        )
        return self.exclude(mine)

    def ordered(self, order: str) -> QueueItemQuerySet:
        """Sorts by an order of :class:`QueueOrder`. An unknown order sorts by risk."""
        return self.order_by(*_PLACES.get(order, _PLACES[QueueOrder.RISK]))

    def behind(self, key: int, order: str = "risk") -> QueueItemQuerySet:
        """The items after the given one in this order, even if it has left the queue. None without an item."""
        if order == QueueOrder.AGE:
            place = _of(key, "entered")
            return self.filter(Q(entered__gt=place) | Q(entered=place, pk__gt=key), entered__gte=place)
        place = _of(key, "urgency")
        # The redundant "at most" lets the database use an index.
        if order != QueueOrder.COLLECTION:
            return self.filter(Q(urgency__lt=place) | Q(urgency=place, pk__gt=key), urgency__lte=place)
        here = _of(key, "collection_id")
        later = Q(urgency__lt=place) | Q(urgency=place, pk__gt=key)
        return self.filter(
            Q(collection_id__gt=here) | (Q(collection_id=here) & later), collection_id__gte=here
        )


def _of(key: int, column: str) -> Subquery:
    return Subquery(QueueItem.objects.filter(pk=key).order_by().values(column))


class QueueOrder(models.TextChoices):
    """The orders of the queue. Each has an index."""

    RISK = "risk", _("Risk")  # grown by age
    AGE = "age", _("Age")
    COLLECTION = "collection", _("Collection")


_PLACES: dict[str, tuple[str, ...]] = {
    QueueOrder.RISK: ("-urgency", "id"),
    QueueOrder.AGE: ("entered", "id"),
    QueueOrder.COLLECTION: ("collection_id", "-urgency", "id"),
}


#: Days in which the weight of a waiting item grows by the factor e.
AGE_DAYS = 7
_LEAST_PRIORITY = 0.0001


class QueueItem(models.Model):
    """An item that needs review: a candidate's verdict, or a not-found result (candidate empty)."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="queue_items")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="queue_items")
    candidate = models.OneToOneField(
        Candidate, on_delete=models.CASCADE, null=True, blank=True, related_name="queue_item"
    )
    state = models.CharField(max_length=12, choices=ItemState.choices, default=ItemState.WAITING)
    is_required = models.BooleanField(default=False)
    stage = models.CharField(max_length=12, choices=ItemStage.choices, default=ItemStage.FIRST)
    # The machine's role is hidden until the first decision.
    is_blind = models.BooleanField(default=False)
    # Probability with which it was drawn to be blind, whatever the outcome; null without a draw.
    blind_chance = models.FloatField(null=True)
    needs_second = models.BooleanField(default=False)
    first_reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    second_reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    # Assigned to this person until they release it.
    assigned_to = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    priority = models.FloatField(default=0)
    entered = models.FloatField(
        db_default=Extract(Now(), "epoch"), help_text="Seconds since 1970: since when it waits."
    )
    # ln(priority) - entered / tau sorts like priority * exp(age / tau), and never needs updating.
    urgency = models.GeneratedField(
        expression=Ln(Greatest(F("priority"), _LEAST_PRIORITY)) - F("entered") / (AGE_DAYS * 86400.0),
        output_field=models.FloatField(),
        db_persist=True,
    )
    why = models.JSONField(default=list)  # machine-readable reasons for the review
    claimed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    claimed_until = models.DateTimeField(null=True, blank=True)
    claimed_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    decided_at = models.DateTimeField(null=True, blank=True)

    objects = QueueItemQuerySet.as_manager()

    class Meta:
        ordering = ["-urgency", "id"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=ItemState.values), name="item_state_is_known"),
            models.CheckConstraint(condition=Q(stage__in=ItemStage.values), name="item_stage_is_known"),
            models.CheckConstraint(
                condition=Q(blind_chance__isnull=True) | Q(blind_chance__gt=0, blind_chance__lte=1),
                name="blind_chance_is_one",
            ),
            models.CheckConstraint(
                condition=Q(stage=ItemStage.FIRST) | Q(first_reviewer__isnull=False),
                name="later_stage_names_the_first",
            ),
            models.CheckConstraint(
                condition=~Q(stage=ItemStage.ADJUDICATION) | Q(second_reviewer__isnull=False),
                name="dispute_names_the_second",
            ),
            models.CheckConstraint(
                condition=Q(claimed_by__isnull=True) | Q(claimed_until__isnull=False),
                name="claim_has_an_end",
            ),
            models.UniqueConstraint(
                fields=["run"], condition=Q(candidate__isnull=True), name="one_not_found_item_per_run"
            ),
        ]
        indexes = [
            # Required and open items can be listed and counted from these indexes alone.
            models.Index(
                fields=["collection", "-urgency", "id"],
                include=["run", "stage", "first_reviewer", "second_reviewer"],
                condition=Q(state="waiting", is_required=True),
                name="required_items_covered",
            ),
            models.Index(
                fields=["collection", "-urgency", "id"],
                include=["run", "stage", "first_reviewer", "second_reviewer"],
                condition=Q(state="waiting"),
                name="waiting_items_covered",
            ),
            models.Index(
                fields=["collection", "entered", "id"],
                include=["run", "is_required", "stage", "first_reviewer", "second_reviewer"],
                condition=Q(state="waiting"),
                name="waiting_items_by_age",
            ),
            # The same orders over all collections: whoever reviews several would else have all that waits sorted.
            models.Index(
                fields=["-urgency", "id"],
                include=["collection", "run", "is_required", "stage", "first_reviewer", "second_reviewer"],
                condition=Q(state="waiting"),
                name="waiting_items_of_all",
            ),
            models.Index(
                fields=["entered", "id"],
                include=["collection", "run", "is_required", "stage", "first_reviewer", "second_reviewer"],
                condition=Q(state="waiting"),
                name="waiting_items_of_all_by_age",
            ),
        ]


def default_blind_share() -> float:
    return float(settings.BLIND_SHARE)


#: Default share of a bulk approval that is decided one by one.
CHECK_SHARE = 0.1


class ReviewPolicy(models.Model):
    """The shares of a collection's verdicts that are decided blind and by two people. Applies to new runs. A collection
    without a row uses the defaults."""

    collection = models.OneToOneField(Collection, on_delete=models.CASCADE, related_name="review_policy")
    blind_share = models.FloatField(_("share decided blind"), default=default_blind_share)
    second_share = models.FloatField(_("share decided by two people"), default=0)
    check_share = models.FloatField(
        _("share of a bulk approval checked one by one first"),
        default=CHECK_SHARE,
        db_default=CHECK_SHARE,
        help_text=_("At least one card of each bulk approval, whatever the share."),
    )
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(blind_share__gte=0, blind_share__lte=1, second_share__gte=0, second_share__lte=1),
                name="review_shares_are_shares",
            ),
            models.CheckConstraint(
                condition=Q(check_share__gte=0, check_share__lte=1), name="check_share_is_a_share"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.blind_share} blind, {self.second_share} twice"


class BulkState(models.TextChoices):
    """The status of a bulk approval. The last two are final."""

    CHECKING = "checking", _("being checked")
    DONE = "done", _("approved")
    STOPPED = "stopped", _("stopped")


class BulkApproval(models.Model):
    """A bulk approval. A random sample of its cards is decided one by one first. The rest is approved if each of those
    was approved."""

    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="bulk_approvals"
    )
    query = models.CharField(max_length=500, blank=True)  # the filter used to select the cards
    reason = models.TextField()
    items = models.JSONField()  # IDs of queue items, including those to check
    checks = models.JSONField()
    state = models.CharField(max_length=8, choices=BulkState.choices, default=BulkState.CHECKING)
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=BulkState.values), name="bulk_state_is_known"),
            models.CheckConstraint(condition=~Q(reason=""), name="bulk_approval_says_why"),
        ]

    def __str__(self) -> str:
        return f"{len(self.items)} cards, {self.state}"


class SavedView(models.Model):
    """A saved filter of the queue: a name and a query string."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["user", "name"], name="one_view_per_name"),
            models.CheckConstraint(condition=~Q(name=""), name="view_has_a_name"),
        ]

    def __str__(self) -> str:
        return self.name
