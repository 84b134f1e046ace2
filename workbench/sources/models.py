"""Sources of a collection, and each file that came from one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings as installation
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from workbench.accounts.permissions import Permission, member_condition
from workbench.documents.models import Collection, Document
from workbench.infra.leases import Leased

if TYPE_CHECKING:
    from workbench.accounts.models import User


class SourceState(models.TextChoices):
    """Only an active source is looked at."""

    ACTIVE = "active", _("active")
    PAUSED = "paused", _("paused")
    REMOVED = "removed", _("removed")


class SourceQuerySet(models.QuerySet["Source"]):
    """Sources, filtered by what a user may do."""

    def visible_to(self, user: User, permission: Permission = Permission.MANAGE) -> SourceQuerySet:
        """Those in collections that the user manages; removed ones are gone for everybody."""
        rows = self.filter(member_condition(user, permission, prefix="collection"))
        return rows.exclude(state=SourceState.REMOVED)


class Source(Leased):
    """A place that documents of a collection come from by themselves. ``secret`` is encrypted (``secrets.py``)."""

    collection = models.ForeignKey(Collection, on_delete=models.PROTECT, related_name="sources")
    kind = models.CharField(max_length=20)
    name = models.CharField(_("name"), max_length=120)
    settings = models.JSONField(default=dict)
    secret = models.TextField(blank=True)
    state = models.CharField(max_length=8, choices=SourceState.choices, default=SourceState.ACTIVE)
    #: Where the next look begins; written with the rows of what was listed before it.
    cursor = models.JSONField(default=dict)
    last_looked_at = models.DateTimeField(null=True, blank=True)
    next_look_at = models.DateTimeField(db_default=Now())
    #: Why the last look failed; empty after one that did not.
    error = models.CharField(max_length=500, blank=True)
    failures = models.PositiveSmallIntegerField(default=0)
    #: Since a look began, until it ends; one that ended its worker leaves it so.
    is_unfinished = models.BooleanField(default=False, db_default=False)
    created_by = models.ForeignKey(installation.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    objects = SourceQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=SourceState.values), name="source_state_is_known"),
            models.CheckConstraint(condition=~Q(kind="") & ~Q(name=""), name="source_has_kind_and_name"),
            models.CheckConstraint(
                condition=~Q(state=SourceState.REMOVED) | Q(secret=""), name="removed_source_keeps_no_secret"
            ),
            models.CheckConstraint(condition=Q(failures=0) | ~Q(error=""), name="failing_source_says_why"),
        ]
        indexes = [
            models.Index(fields=["next_look_at"], condition=Q(state=SourceState.ACTIVE), name="source_due")
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """Its page, with what came in."""
        return reverse("sources:source", args=[self.pk])


class FileState(models.TextChoices):
    """Where a file of a source is."""

    WAITING = "waiting", _("being written")
    TAKEN = "taken", _("imported")
    FAILED = "failed", _("failed")
    AGAIN = "again", _("tried again soon")


class SourceFileQuerySet(models.QuerySet["SourceFile"]):
    """Files of sources, filtered by what a user may do."""

    def visible_to(self, user: User, permission: Permission = Permission.MANAGE) -> SourceFileQuerySet:
        """Those of sources that the user manages."""
        return self.filter(source__in=Source.objects.visible_to(user, permission).order_by().values("pk"))


class SourceFile(models.Model):
    """One state of one file in a source: its document, or why there is none. It comes in once.

    ``key``, ``name`` and ``facts`` go when the document is erased; ``key_sha256`` stays, so that the file does not
    come in again.
    """

    source = models.ForeignKey(Source, on_delete=models.PROTECT, related_name="files")
    key = models.TextField(blank=True)
    key_sha256 = models.CharField(max_length=64)
    fingerprint = models.CharField(max_length=200)
    #: 0 for the file itself, else which of several in it.
    part = models.PositiveIntegerField(default=0)
    name = models.CharField(max_length=255, blank=True)
    facts = models.JSONField(default=dict)
    state = models.CharField(max_length=8, choices=FileState.choices)
    document = models.ForeignKey(
        Document, on_delete=models.PROTECT, null=True, blank=True, related_name="source_files"
    )
    #: The bytes were in the collection already.
    is_duplicate = models.BooleanField(default=False)
    error = models.CharField(max_length=500, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    #: Fetches that began since the last one that came to an end. They may have ended their worker.
    begun = models.PositiveSmallIntegerField(default=0, db_default=0)
    at = models.DateTimeField(db_default=Now())

    objects = SourceFileQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["source", "key_sha256", "fingerprint", "part"], name="source_file_comes_once"
            ),
            models.CheckConstraint(
                condition=Q(state__in=FileState.values), name="source_file_state_is_known"
            ),
            models.CheckConstraint(
                condition=Q(state=FileState.TAKEN) ^ Q(document__isnull=True),
                name="taken_file_is_a_document",
            ),
            models.CheckConstraint(
                condition=~Q(state=FileState.FAILED) | ~Q(error=""), name="failed_file_says_why"
            ),
        ]
        indexes = [models.Index(fields=["source", "-at"], name="source_file_log")]

    def __str__(self) -> str:
        return self.name or f"file {self.pk}"
