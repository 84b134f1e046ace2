"""Exports: files that carry the record of runs out of the product, made by a worker, kept for a while; and links by
which an outsider reads the report of one signed run."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from workbench.accounts.permissions import Permission, member_condition
from workbench.documents.models import Collection
from workbench.documents.restrictions import collection_open_to
from workbench.infra.leases import Retried
from workbench.review.models import Signature
from workbench.runs.models import Run
from workbench.runs.restrictions import runs_open_to

if TYPE_CHECKING:
    from workbench.accounts.models import User


class ExportState(models.TextChoices):
    """Where an export is; the last three are ends."""

    WAITING = "waiting", _("waiting")
    READY = "ready", _("ready")
    FAILED = "failed", _("failed")
    REMOVED = "removed", _("removed")


class ExportKind(models.TextChoices):
    """What an export is: the record of a run or a period, a period's report, or what a link for an outsider shows."""

    RECORD = "record", _("record")
    REPORT = "report", _("period report")
    LINK = "link", _("report behind a link")


class ExportQuerySet(models.QuerySet["Export"]):
    def visible_to(self, user: User) -> ExportQuerySet:
        """A person's own, where they may still read the collection, and all in collections that they audit; of runs
        that are open to them, and of periods where no document is restricted to others, as a period is told whole."""
        own = Q(requested_by=user) & member_condition(user, Permission.VIEW, prefix="collection")
        # What tells of a period tells of the trail: only those who may read it.
        own &= Q(run__isnull=False) | member_condition(user, Permission.AUDIT, prefix="collection")
        whole = Q(run__isnull=False) | collection_open_to(user, "collection")
        mine = own | member_condition(user, Permission.AUDIT, prefix="collection")
        return self.filter(mine, whole, runs_open_to(user, "run"))

    def listed(self) -> ExportQuerySet:
        """Without what links show: those have a page of their own."""
        return self.exclude(kind=ExportKind.LINK)


class Export(Retried):
    """One run, or the runs and the trail of a collection in a period (``until`` excluded), as files."""

    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="exports")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, null=True, blank=True, related_name="exports")
    kind = models.CharField(
        max_length=8, choices=ExportKind.choices, default=ExportKind.RECORD, db_default=ExportKind.RECORD
    )
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
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = ExportQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=ExportState.values), name="export_state_is_known"),
            models.CheckConstraint(condition=Q(kind__in=ExportKind.values), name="export_kind_is_known"),
            models.CheckConstraint(
                condition=~Q(kind=ExportKind.LINK) | Q(run__isnull=False), name="link_shows_a_run"
            ),
            models.CheckConstraint(
                condition=~Q(kind=ExportKind.REPORT) | Q(run__isnull=True), name="report_is_of_a_period"
            ),
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


#: Who sees the links of a collection's runs.
LINK_READERS = (Permission.REVIEW, Permission.MANAGE, Permission.AUDIT)


class ReportLinkQuerySet(models.QuerySet["ReportLink"]):
    def visible_to(self, user: User) -> ReportLinkQuerySet:
        """Those of runs that are open to the person, in collections that they review, administer or audit."""
        seen = (member_condition(user, permission, prefix="collection") for permission in LINK_READERS)
        return self.filter(reduce(or_, seen), runs_open_to(user, "run"))


class ReportLink(models.Model):
    """A way for somebody without an account to the report of one signed run. Of its token only the SHA-256 is kept."""

    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="report_links")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="report_links")
    # What was signed when the link was made: once that is set aside, the link opens nothing.
    signature = models.ForeignKey(Signature, on_delete=models.PROTECT, related_name="+")
    export = models.OneToOneField(Export, on_delete=models.PROTECT, related_name="link")
    reason = models.TextField()
    token_hash = models.CharField(max_length=64, unique=True)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    revoked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )

    objects = ReportLinkQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=~Q(reason=""), name="link_says_why"),
            models.CheckConstraint(
                condition=Q(expires_at__gt=F("created_at")), name="link_expires_after_it_is_made"
            ),
            models.CheckConstraint(
                condition=Q(revoked_at__isnull=True, revoked_by__isnull=True)
                | Q(revoked_at__isnull=False, revoked_by__isnull=False),
                name="who_revoked_a_link_is_known",
            ),
        ]

    def __str__(self) -> str:
        return f"link {self.pk} to run {self.run_id}"
