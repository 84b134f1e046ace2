"""Signatures of runs, and what happens to a signed run afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from workbench.documents.models import Document
from workbench.runs.models import Candidate, Run

if TYPE_CHECKING:
    pass

from .decisions import CarriedState


class SignatureMeaning(models.TextChoices):
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
