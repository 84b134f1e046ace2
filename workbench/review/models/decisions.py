"""People's decisions on candidates and not-found results, and what follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from workbench.documents.models import Document
from workbench.infra.leases import Retried
from workbench.runs.models import Answer, Candidate, RoleChoice, Run

if TYPE_CHECKING:
    pass


class ReviewAction(models.TextChoices):
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


class RegenerationState(models.TextChoices):
    """The status of a new version of an answer. The last two are final."""

    WAITING = "waiting", _("waiting")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")


class Regeneration(Retried):
    """A request for a new version of an answer, written from the evidence after review."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="regenerations")
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(
        max_length=8, choices=RegenerationState.choices, default=RegenerationState.WAITING
    )
    failure = models.TextField(blank=True)
    answer = models.OneToOneField(Answer, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
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
