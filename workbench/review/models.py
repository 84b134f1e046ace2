"""People's words on candidates and on not-found results, and who is working on what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from workbench.accounts.permissions import Permission, member_condition
from workbench.documents.models import Collection, Document
from workbench.questions.models import Candidate, RoleChoice, Run

if TYPE_CHECKING:
    from workbench.accounts.models import User


class ReviewAction(models.TextChoices):
    """What a person did."""

    APPROVE = "approve", _("approved")
    OVERRIDE = "override", _("overridden")
    UNSURE = "unsure", _("can't tell")
    CONFIRM_NOT_FOUND = "confirm_not_found", _("not found confirmed")
    REFUTE_NOT_FOUND = "refute_not_found", _("not found refuted")


class ReasonCode(models.TextChoices):
    """Why a verdict was overridden, so that reasons can be counted."""

    WRONG_ROLE = "wrong_role", _("wrong role")
    WRONG_PASSAGE = "wrong_passage", _("wrong passage")
    MISSED_CONTEXT = "missed_context", _("missed context")
    QUOTE_NOT_IN_SOURCE = "quote_not_in_source", _("quote not in source")
    DUPLICATE = "duplicate", _("duplicate")
    POLICY_EXCEPTION = "policy_exception", _("policy exception")
    OTHER = "other", _("other")


class Review(models.Model):
    """One decision of one person. Never edited: a change of mind is a new row that supersedes the old."""

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
                condition=~Q(action=ReviewAction.OVERRIDE) | (Q(role__isnull=False) & ~Q(reason_code="")),
                name="override_has_role_and_reason",
            ),
            models.CheckConstraint(
                condition=~Q(action=ReviewAction.APPROVE) | Q(role__isnull=False), name="approval_has_a_role"
            ),
            models.CheckConstraint(
                condition=Q(candidate__isnull=False)
                | Q(action__in=[ReviewAction.CONFIRM_NOT_FOUND, ReviewAction.REFUTE_NOT_FOUND]),
                name="review_has_a_subject",
            ),
            # One current word per candidate and per not-found: the next one must name what it supersedes.
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
    """Where a queue item is."""

    WAITING = "waiting", _("waiting")
    DECIDED = "decided", _("decided")
    WITHDRAWN = "withdrawn", _("withdrawn")


class QueueItemQuerySet(models.QuerySet["QueueItem"]):
    """Queue items, filtered by what a user may do."""

    def visible_to(self, user: User, permission: Permission = Permission.REVIEW) -> QueueItemQuerySet:
        """Those in collections where the user holds the permission."""
        return self.filter(member_condition(user, permission, prefix="collection"))


class QueueItem(models.Model):
    """Something that waits for a person: a candidate's verdict, or a not-found (candidate empty)."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="queue_items")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="queue_items")
    candidate = models.OneToOneField(
        Candidate, on_delete=models.CASCADE, null=True, blank=True, related_name="queue_item"
    )
    state = models.CharField(max_length=12, choices=ItemState.choices, default=ItemState.WAITING)
    is_required = models.BooleanField(default=False)
    priority = models.FloatField(default=0)
    why = models.JSONField(default=list)  # codes that say why this is in the queue
    claimed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    claimed_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    decided_at = models.DateTimeField(null=True, blank=True)

    objects = QueueItemQuerySet.as_manager()

    class Meta:
        ordering = ["-priority", "id"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=ItemState.values), name="item_state_is_known"),
            models.CheckConstraint(
                condition=Q(claimed_by__isnull=True) | Q(claimed_until__isnull=False),
                name="claim_has_an_end",
            ),
            models.UniqueConstraint(
                fields=["run"], condition=Q(candidate__isnull=True), name="one_not_found_item_per_run"
            ),
        ]
        indexes = [
            models.Index(
                fields=["collection", "-priority", "id"], condition=Q(state="waiting"), name="waiting_items"
            ),
        ]


class CarriedState(models.TextChoices):
    """What became of a decided anchor in the next version of its document."""

    CARRIED = "carried", _("carried over")
    CHANGED = "changed", _("changed")
    GONE = "gone", _("gone")


class CarriedAnchor(models.Model):
    """A decided anchor of one version and its place in the next.

    ``review`` is the decision that counted when the version was accepted. Unchanged text carries it over; changed or
    missing text reopened the candidate in the queue. Texts are named by their hashes (``arbitration.versions``).
    """

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


class SignatureMeaning(models.TextChoices):
    """What a signature says, as the signer chose it."""

    REVIEWED = "reviewed", _("I have reviewed these verdicts")
    APPROVED = "approved", _("I approve this result")
    RESPONSIBLE = "responsible", _("I take responsibility for this result")


class Signature(models.Model):
    """A person's signature under a run: name, time and meaning, bound to the hash of the record (``record.py``).

    Append-only (``protection.py``). ``record`` is what was signed: ids, hashes and decisions, no document text, so
    that it outlives the text. A reopened signature keeps its row; see :class:`Reopening`.
    """

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="signatures")
    signer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="signatures")
    # A copy: the name as it was then.
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
    """A signature set aside, with the reason; the run can be decided again. Append-only."""

    signature = models.OneToOneField(Signature, on_delete=models.PROTECT, related_name="reopening")
    reopened_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField()
    reopened_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["id"]
        constraints = [models.CheckConstraint(condition=~Q(reason=""), name="reopening_says_why")]

    def __str__(self) -> str:
        return self.reason
