"""Archives on their way: a worker writes one for people to fetch, or checks and takes in one that was sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from workbench.accounts.permissions import Permission, member_condition
from workbench.documents.models import Collection
from workbench.infra.leases import Retried

if TYPE_CHECKING:
    from workbench.accounts.models import User


class Direction(models.TextChoices):
    """Whether a collection leaves or arrives."""

    OUT = "out", _("out")
    IN = "in", _("in")


class TransferState(models.TextChoices):
    """Where an archive is. A worker has it in the first three; the last three are ends."""

    WRITING = "writing", _("being written")
    CHECKING = "checking", _("being checked")
    TAKING_IN = "taking_in", _("being imported")
    CHECKED = "checked", _("checked")
    READY = "ready", _("ready")
    TAKEN_IN = "taken_in", _("imported")
    FAILED = "failed", _("failed")
    REMOVED = "removed", _("removed")


#: What waits for a worker.
AT_WORK = frozenset({TransferState.WRITING, TransferState.CHECKING, TransferState.TAKING_IN})
#: What only an archive that leaves, or only one that arrives, may be.
_OUTWARD = (TransferState.WRITING, TransferState.READY)
_INWARD = (
    TransferState.CHECKING,
    TransferState.CHECKED,
    TransferState.TAKING_IN,
    TransferState.TAKEN_IN,
)


class TransferQuerySet(models.QuerySet["Transfer"]):
    """Archives, filtered by what a user may do."""

    def visible_to(self, user: User) -> TransferQuerySet:
        """What leaves is for those who manage the collection, what arrives for who sent it."""
        leaves = Q(direction=Direction.OUT) & member_condition(user, Permission.MANAGE, prefix="collection")
        return self.filter(leaves | Q(direction=Direction.IN, requested_by=user))


class Transfer(Retried):
    """One archive on its way; ``collection`` is the one that leaves, or the one that was made of what arrived."""

    direction = models.CharField(max_length=3, choices=Direction.choices)
    collection = models.ForeignKey(
        Collection, on_delete=models.PROTECT, null=True, blank=True, related_name="transfers"
    )
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=9, choices=TransferState.choices)
    language = models.CharField(max_length=8, default="en")
    slug = models.CharField(max_length=80, blank=True, help_text="Short name of the collection to be made.")
    file_name = models.CharField(max_length=160)
    path = models.CharField(max_length=300, blank=True)
    size = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True, help_text="Of the file.")
    #: :class:`workbench.archives.services.ArchiveFigures`, once they are known.
    figures = models.JSONField(null=True, blank=True)
    failure = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now())
    changed_at = models.DateTimeField(db_default=Now(), help_text="When the state changed last.")

    objects = TransferQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=TransferState.values), name="transfer_state_is_known"
            ),
            models.CheckConstraint(
                condition=Q(direction=Direction.OUT, collection__isnull=False) & ~Q(state__in=_INWARD)
                | Q(direction=Direction.IN) & ~Q(state__in=_OUTWARD),
                name="transfer_state_fits_its_direction",
            ),
            models.CheckConstraint(
                condition=~Q(state=TransferState.FAILED) | ~Q(failure=""), name="failed_transfer_says_why"
            ),
            models.CheckConstraint(
                condition=~Q(state=TransferState.TAKEN_IN) | Q(collection__isnull=False),
                name="taken_in_transfer_names_its_collection",
            ),
        ]

    def __str__(self) -> str:
        return self.file_name

    def get_absolute_url(self) -> str:
        """Its page."""
        return reverse("archives:archive", args=[self.pk])

    @property
    def folder(self) -> str:
        """Where its file lies in the store, and nothing else."""
        return f"archives/{self.pk}"
