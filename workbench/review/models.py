"""People's decisions on candidates and not-found results, and who is working on what."""

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
from workbench.documents.models import Collection, Document
from workbench.runs.models import Answer, Candidate, RoleChoice, Run
from workbench.runs.restrictions import runs_open_to

if TYPE_CHECKING:
    from workbench.accounts.models import User


class ReviewAction(models.TextChoices):
    """The action of a person."""

    APPROVE = "approve", _("approved")
    OVERRIDE = "override", _("overridden")
    UNSURE = "unsure", _("can't tell")
    CONFIRM_NOT_FOUND = "confirm_not_found", _("not found confirmed")
    REFUTE_NOT_FOUND = "refute_not_found", _("not found refuted")
    UNDO = "undo", _("undone")


class ReasonCode(models.TextChoices):
    """The kind of reason for an override, so that reasons can be counted."""

    WRONG_ROLE = "wrong_role", _("wrong role")
    WRONG_PASSAGE = "wrong_passage", _("wrong passage")
    MISSED_CONTEXT = "missed_context", _("missed context")
    QUOTE_NOT_IN_SOURCE = "quote_not_in_source", _("quote not in source")
    DUPLICATE = "duplicate", _("duplicate")
    POLICY_EXCEPTION = "policy_exception", _("policy exception")
    OTHER = "other", _("other")


class Review(models.Model):
    """A decision of a person. Never edited: a change of mind is a new row that supersedes the old one. An undo is also
    a row. It supersedes the decision it undoes, and its ``role`` is the person's role that counted before that decision
    (null: the machine's counts again)."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="reviews")
    candidate = models.ForeignKey(
        Candidate, on_delete=models.PROTECT, null=True, blank=True, related_name="reviews"
    )
    reviewer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="reviews")
    action = models.CharField(max_length=20, choices=ReviewAction.choices)
    role = models.CharField(max_length=12, choices=RoleChoice.choices, null=True)
    machine_role = models.CharField(max_length=12, choices=RoleChoice.choices, null=True)
    reason_code = models.CharField(max_length=24, choices=ReasonCode.choices, blank=True)
    comment = models.TextField(blank=True)
    blind = models.BooleanField(default=False)
    # Probability with which the card was drawn to be blind; null on others, and on rows older than this column.
    blind_chance = models.FloatField(null=True)
    seconds_on_card = models.FloatField(null=True)
    supersedes = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="superseded_by"
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(action__in=ReviewAction.values), name="review_action_is_known"
            ),
            models.CheckConstraint(
                # Reviewers who did not see the machine's role cannot say what was wrong with it.
                condition=~Q(action=ReviewAction.OVERRIDE)
                | (Q(role__isnull=False) & (~Q(reason_code="") | Q(blind=True))),
                name="override_has_role_and_reason",
            ),
            models.CheckConstraint(
                condition=Q(blind_chance__isnull=True)
                | Q(blind=True, blind_chance__gt=0, blind_chance__lte=1),
                name="drawn_review_is_blind",
            ),
            models.CheckConstraint(
                condition=~Q(action=ReviewAction.APPROVE) | Q(role__isnull=False), name="approval_has_a_role"
            ),
            models.CheckConstraint(
                condition=Q(candidate__isnull=False)
                | Q(
                    action__in=[
                        ReviewAction.CONFIRM_NOT_FOUND,
                        ReviewAction.REFUTE_NOT_FOUND,
                        ReviewAction.UNDO,
                    ]
                ),
                name="review_has_a_subject",
            ),
            models.CheckConstraint(
                condition=~Q(action=ReviewAction.UNDO) | Q(supersedes__isnull=False),
                name="undo_names_what_it_undoes",
            ),
            # One current decision per candidate and per not-found result: the next one must name what it supersedes.
            models.UniqueConstraint(
                fields=["candidate"],
                condition=Q(supersedes__isnull=True, candidate__isnull=False),
                name="one_first_review_per_candidate",
            ),
            models.UniqueConstraint(
                fields=["run"],
                condition=Q(supersedes__isnull=True, candidate__isnull=True),
                name="one_first_review_per_not_found",
            ),
        ]
        indexes = [models.Index(fields=["run", "id"])]


class ItemState(models.TextChoices):
    """The state of a queue item."""

    WAITING = "waiting", _("waiting")
    DECIDED = "decided", _("decided")
    WITHDRAWN = "withdrawn", _("withdrawn")


class ItemStage(models.TextChoices):
    """The kind of decision that is due."""

    FIRST = "first", _("first review")
    SECOND = "second", _("second review")
    ADJUDICATION = "adjudication", _("adjudication")


class QueueItemQuerySet(models.QuerySet["QueueItem"]):
    """Queue items, filtered by what a user may do."""

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


class CarriedState(models.TextChoices):
    """What happened to a decided anchor in the next version of its document."""

    CARRIED = "carried", _("carried over")
    CHANGED = "changed", _("changed")
    GONE = "gone", _("gone")


class CarriedAnchor(models.Model):
    """A decided anchor in one version and its location in the next. ``review`` is the decision that counted when the
    version was accepted. Unchanged text carries it over. Changed or missing text reopens the candidate in the queue.
    Texts are identified by their hashes (``arbitration.versions``)."""

    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="carried_anchors")
    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="carried_anchors")
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="carried_anchors")
    state = models.CharField(max_length=12, choices=CarriedState.choices)
    page_start = models.PositiveIntegerField(null=True)
    line_start = models.PositiveIntegerField(null=True)
    page_end = models.PositiveIntegerField(null=True)
    line_end = models.PositiveIntegerField(null=True)
    similarity = models.FloatField()
    text_hash = models.CharField(max_length=64)
    matched_hash = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["candidate", "document"], name="anchor_carried_once"),
            models.CheckConstraint(condition=Q(state__in=CarriedState.values), name="carried_state_is_known"),
            models.CheckConstraint(
                condition=Q(state=CarriedState.GONE, page_start__isnull=True, matched_hash="")
                | (~Q(state=CarriedState.GONE) & Q(page_start__isnull=False) & ~Q(matched_hash="")),
                name="carried_anchor_has_a_place",
            ),
            models.CheckConstraint(
                condition=~Q(state=CarriedState.CARRIED) | Q(similarity=1), name="carried_text_is_the_same"
            ),
        ]


class TextChange(models.Model):
    """A passage of a signed run that a new version of its document changed or dropped. The signature keeps covering
    what was signed. Without a candidate, the row is about a not-found result, which covers the whole document."""

    signature = models.ForeignKey("Signature", on_delete=models.CASCADE, related_name="text_changes")
    candidate = models.ForeignKey(
        Candidate, on_delete=models.CASCADE, null=True, blank=True, related_name="text_changes"
    )
    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="text_changes")
    state = models.CharField(max_length=12, choices=CarriedState.choices)
    matched_hash = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["signature", "candidate", "document"],
                nulls_distinct=False,
                name="text_change_told_once",
            ),
            models.CheckConstraint(
                condition=Q(state__in=[CarriedState.CHANGED, CarriedState.GONE]),
                name="text_change_is_one",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.signature_id} {self.state}"


class SignatureMeaning(models.TextChoices):
    """The meaning of a signature, chosen by the signer."""

    REVIEWED = "reviewed", _("I have reviewed these verdicts")
    APPROVED = "approved", _("I approve this result")
    RESPONSIBLE = "responsible", _("I take responsibility for this result")


class Signature(models.Model):
    """A person's signature of a run: name, time and meaning, bound to the hash of the record (``record.py``).
    Append-only (``protection.py``).

    ``record`` is what was signed: IDs, hashes and decisions, but no document text, so that it outlives the text. A
    reopened signature keeps its row; see :class:`Reopening`.
    """

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="signatures")
    signer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="signatures")
    # A copy of the name at that time.
    signer_name = models.CharField(max_length=254)
    meaning = models.CharField(max_length=12, choices=SignatureMeaning.choices)
    record_sha256 = models.CharField(max_length=64)
    record = models.JSONField()
    signed_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(meaning__in=SignatureMeaning.values), name="signature_meaning_is_known"
            ),
            models.CheckConstraint(
                condition=Q(record_sha256__regex="^[0-9a-f]{64}$"), name="signature_names_a_record"
            ),
            models.CheckConstraint(condition=~Q(signer_name=""), name="signature_names_its_signer"),
        ]

    def __str__(self) -> str:
        return f"{self.signer_name} {self.record_sha256[:12]}"


class Reopening(models.Model):
    """The reopening of a signed run, with the reason. The run can be decided again. Append-only."""

    signature = models.OneToOneField(Signature, on_delete=models.PROTECT, related_name="reopening")
    reopened_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField()
    reopened_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        constraints = [models.CheckConstraint(condition=~Q(reason=""), name="reopening_says_why")]

    def __str__(self) -> str:
        return self.reason


class RegenerationState(models.TextChoices):
    """The status of a new version of an answer. The last two are final."""

    WAITING = "waiting", _("waiting")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")


class Regeneration(models.Model):
    """A request for a new version of an answer, written from the evidence after review."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="regenerations")
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(
        max_length=8, choices=RegenerationState.choices, default=RegenerationState.WAITING
    )
    failure = models.TextField(blank=True)
    answer = models.OneToOneField(Answer, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    attempts = models.PositiveSmallIntegerField(default=0)
    lease_owner = models.CharField(max_length=80, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=RegenerationState.values), name="regeneration_state_is_known"
            ),
            models.CheckConstraint(
                condition=~Q(state=RegenerationState.FAILED) | ~Q(failure=""), name="failed_answer_says_why"
            ),
            models.CheckConstraint(
                condition=~Q(state=RegenerationState.DONE) | Q(answer__isnull=False),
                name="new_answer_is_there",
            ),
            models.UniqueConstraint(
                fields=["run"], condition=Q(state=RegenerationState.WAITING), name="one_new_answer_at_a_time"
            ),
        ]

    def __str__(self) -> str:
        return f"answer of run {self.run_id}: {self.state}"


class SecondReview(models.Model):
    """A second person's review of a decision, made without seeing it. Append-only. ``agrees`` says whether both roles
    are the same. A second review that disagrees goes to adjudication."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="second_reviews")
    candidate = models.ForeignKey(Candidate, on_delete=models.PROTECT, related_name="second_reviews")
    review = models.OneToOneField(Review, on_delete=models.PROTECT, related_name="second_review")
    # A copy of the decision's reviewer for a database constraint; a trigger checks that they match.
    first_reviewer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="second_reviews"
    )
    role = models.CharField(max_length=12, choices=RoleChoice.choices)
    agrees = models.BooleanField()
    comment = models.TextField(blank=True)
    seconds_on_card = models.FloatField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=~Q(reviewer=F("first_reviewer")), name="second_review_by_another_person"
            ),
            models.CheckConstraint(condition=Q(role__in=RoleChoice.values), name="second_role_is_known"),
        ]

    def __str__(self) -> str:
        return f"{self.role} ({self.reviewer_id})"


class Adjudication(models.Model):
    """A third person's decision between two reviewers; ``review`` is the row that counts from then on. Append-only."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="adjudications")
    second_review = models.OneToOneField(SecondReview, on_delete=models.PROTECT, related_name="adjudication")
    review = models.OneToOneField(Review, on_delete=models.PROTECT, related_name="adjudication")
    adjudicator = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="adjudications"
    )
    reason = models.TextField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        constraints = [models.CheckConstraint(condition=~Q(reason=""), name="adjudication_says_why")]

    def __str__(self) -> str:
        return self.reason


def default_blind_share() -> float:
    """The default share of blind decisions."""
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


class Comment(models.Model):
    """A comment on a run or one of its candidates. Append-only. ``@name`` notifies a person."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="comments")
    candidate = models.ForeignKey(
        Candidate, on_delete=models.CASCADE, null=True, blank=True, related_name="comments"
    )
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="comments")
    body = models.TextField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        constraints = [models.CheckConstraint(condition=~Q(body=""), name="comment_says_something")]

    def __str__(self) -> str:
        return self.body[:60]


class NotificationKind(models.TextChoices):
    """The kind of a notification."""

    MENTION = "mention", _("mentions you in a comment")
    HANDED_OVER = "handed_over", _("handed a card over to you")
    DISPUTE = "dispute", _("gave another role than you in a second review")
    ADJUDICATED = "adjudicated", _("decided between you and another reviewer")
    REOPENED = "reopened", _("reopened a run that you signed")
    TEXT_CHANGED = "text_changed", _("accepted a new version that changes the text of a run that you signed")


class NotificationQuerySet(models.QuerySet["Notification"]):
    """Notifications, filtered by who they are for."""

    def visible_to(self, user: User) -> NotificationQuerySet:
        """The person's own notifications, of their current collections and of runs they can see."""
        mine = self.filter(member_condition(user, Permission.VIEW, prefix="collection"), user=user)
        return mine.filter(runs_open_to(user, "run"))


class Notification(models.Model):
    """A notification in the app and, if the person wants it, by e-mail. Contains no document text."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notifications")
    kind = models.CharField(max_length=16, choices=NotificationKind.choices)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="+")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    candidate = models.ForeignKey(
        Candidate, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    comment = models.ForeignKey(Comment, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    read_at = models.DateTimeField(null=True, blank=True)
    emailed_at = models.DateTimeField(null=True, blank=True)

    objects = NotificationQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=NotificationKind.values), name="notification_kind_is_known"
            ),
            models.UniqueConstraint(
                fields=["user", "comment"], condition=Q(comment__isnull=False), name="one_mention_per_comment"
            ),
        ]
        indexes = [
            models.Index(
                fields=["user", "-id"], condition=Q(read_at__isnull=True), name="unread_of_a_person"
            ),
            models.Index(fields=["user", "id"], condition=Q(emailed_at__isnull=True), name="unsent_mail"),
        ]

    def __str__(self) -> str:
        return f"{self.actor_id} {self.kind}"


class EmailWish(models.TextChoices):
    """When a person is notified by e-mail."""

    EACH = "each", _("at once, for each")
    DAILY = "daily", _("once a day, if there is anything")
    NONE = "none", _("never")


class NotificationWish(models.Model):
    """How a person wants to be notified by e-mail. Without a row: once a day."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notification_wish", primary_key=True
    )
    email = models.CharField(_("E-mail"), max_length=8, choices=EmailWish.choices, default=EmailWish.DAILY)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(email__in=EmailWish.values), name="email_wish_is_known")
        ]

    def __str__(self) -> str:
        return self.email
