"""Work on the whole installation that somebody asked for on a page; a worker does it."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from workbench.infra.leases import Retried


class JobKind(models.TextChoices):
    TRAIL = "trail", _("Verify the whole audit trail")
    VECTORS = "vectors", _("Compute missing vectors")


class JobState(models.TextChoices):
    WAITING = "waiting", _("waiting")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")


class Job(Retried):
    """One request. Of each kind one is under way at a time: the same request again is that one."""

    kind = models.CharField(max_length=8, choices=JobKind.choices)
    state = models.CharField(max_length=8, choices=JobState.choices, default=JobState.WAITING)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    # Of a verification: links kept outside, position to hash.
    given = models.JSONField(default=dict, blank=True)
    done = models.PositiveBigIntegerField(default=0)
    total = models.PositiveBigIntegerField(default=0)
    result = models.JSONField(default=dict, blank=True)
    failure = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["kind"], condition=models.Q(state="waiting"), name="one_job_of_a_kind_under_way"
            ),
            models.CheckConstraint(condition=models.Q(kind__in=JobKind.values), name="job_kind_is_known"),
            models.CheckConstraint(condition=models.Q(state__in=JobState.values), name="job_state_is_known"),
            models.CheckConstraint(
                condition=~models.Q(state=JobState.FAILED) | ~models.Q(failure=""), name="failed_job_says_why"
            ),
            models.CheckConstraint(
                condition=models.Q(state=JobState.WAITING, finished_at__isnull=True)
                | ~models.Q(state=JobState.WAITING) & models.Q(finished_at__isnull=False),
                name="an_ended_job_says_when",
            ),
        ]

    def __str__(self) -> str:
        return str(self.get_kind_display())
