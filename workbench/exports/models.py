"""Exports: files that carry the record of runs out of the product, made by a worker, kept for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from workbench.accounts.permissions import Permission, member_condition
from workbench.documents.models import Collection
from workbench.runs.models import Run

if TYPE_CHECKING:
    from workbench.accounts.models import User


class ExportState(models.TextChoices):
    """Where an export is; the last three are ends."""

    WAITING = "waiting", _("waiting")
    READY = "ready", _("ready")
    FAILED = "failed", _("failed")
    REMOVED = "removed", _("removed")


class ExportQuerySet(models.QuerySet["Export"]):
    """Exports, filtered by what a user may do."""

    def visible_to(self, user: User) -> ExportQuerySet:
        """A person's own, where they may still read the collection, and all in collections that they audit."""
        own = Q(requested_by=user) & member_condition(user, Permission.VIEW, prefix="collection")
        # What tells of a period tells of the trail: only those who may read it.
        own &= Q(run__isnull=False) | member_condition(user, Permission.AUDIT, prefix="collection")
        return self.filter(own | member_condition(user, Permission.AUDIT, prefix="collection"))


class Export(models.Model):
    """One run, or the runs and the trail of a collection in a period (``until`` excluded), as files."""

    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="exports")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, null=True, blank=True, related_name="exports")
    since = models.DateTimeField(null=True, blank=True)
    until = models.DateTimeField(null=True, blank=True)
    language = models.CharField(max_length=8, default="en")
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=8, choices=ExportState.choices, default=ExportState.WAITING)
    done = models.PositiveIntegerField(default=0, help_text="Runs written so far.")
    total = models.PositiveIntegerField(default=0)
    failure = models.TextField(blank=True)
    signed_by = models.CharField(
        max_length=64,
        blank=True,
        db_default="",
        help_text="Key of the signature (keys.py); empty: not signed.",
    )
    attempts = models.PositiveSmallIntegerField(default=0)
    lease_owner = models.CharField(max_length=80, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = ExportQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=ExportState.values), name="export_state_is_known"),
            models.CheckConstraint(
                condition=Q(run__isnull=False) ^ Q(since__isnull=False, until__isnull=False),
                name="export_of_a_run_or_a_period",
            ),
            models.CheckConstraint(
                condition=Q(since__isnull=True) | Q(since__lt=F("until")), name="export_period_has_a_length"
            ),
            models.CheckConstraint(
                condition=~Q(state=ExportState.FAILED) | ~Q(failure=""), name="failed_export_says_why"
            ),
        ]

    def __str__(self) -> str:
        return f"export {self.pk}"

    def get_absolute_url(self) -> str:
        """Its page."""
        return reverse("exports:export", args=[self.pk])


class ExportFile(models.Model):
    """A file of an export. The row stays when the file is removed, so that its hash can be held against a copy."""

    export = models.ForeignKey(Export, on_delete=models.PROTECT, related_name="files")
    name = models.CharField(max_length=160)
    content_type = models.CharField(max_length=80)
    path = models.CharField(max_length=300)
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["export", "name"], name="one_export_file_per_name")]

    def __str__(self) -> str:
        return self.name
