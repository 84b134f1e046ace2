"""Thresholds per collection, and proposals for them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from arbitration.triage import GateProfile
from workbench.documents.models import Collection

#: The thresholds of a profile, in the order they are shown.
THRESHOLDS = ("minimum", "verify", "accept", "gap", "keyword", "query", "alias", "confident")


def _unit(name: str) -> Q:
    return Q(**{f"{name}__gte": 0, f"{name}__lte": 1})


class GateFields(models.Model):
    """A :class:`arbitration.triage.GateProfile` as columns; the database keeps its rules as well."""

    space = models.CharField(max_length=160, help_text="Embedding space on whose cosine scale they lie.")
    name = models.CharField(max_length=120)
    minimum = models.FloatField()
    verify = models.FloatField()
    accept = models.FloatField()
    gap = models.FloatField()
    keyword = models.FloatField()
    query = models.FloatField()
    alias = models.FloatField()
    confident = models.FloatField()
    bias = models.JSONField(default=dict, blank=True)
    evidence_lost = models.FloatField(null=True, blank=True)

    class Meta:
        abstract = True
        constraints = [
            *(
                models.CheckConstraint(condition=_unit(name), name=f"%(class)s_{name}_in_unit_interval")
                for name in THRESHOLDS
            ),
            models.CheckConstraint(
                condition=Q(minimum__lte=F("accept")), name="%(class)s_minimum_not_above_accept"
            ),
            models.CheckConstraint(
                condition=Q(verify__lte=F("accept")), name="%(class)s_verify_not_above_accept"
            ),
            models.CheckConstraint(
                condition=Q(evidence_lost__isnull=True) | _unit("evidence_lost"),
                name="%(class)s_evidence_lost_is_a_share",
            ),
        ]

    @property
    def profile(self) -> GateProfile:
        """The profile as the engine takes it."""
        thresholds = {name: getattr(self, name) for name in THRESHOLDS}
        return GateProfile(
            name=self.name,
            embedding_space=self.space,
            bias=self.bias,
            evidence_lost=self.evidence_lost,
            **thresholds,
        )


class GateProposal(GateFields):
    """Thresholds that calibration found in labels, with what they would lose. Never changed; applying one is an act
    of its own. ``collection`` None: from labels of elsewhere, offered to every collection."""

    collection = models.ForeignKey(
        Collection, on_delete=models.CASCADE, null=True, blank=True, related_name="gate_proposals"
    )
    source = models.CharField(max_length=200)
    questions = models.PositiveIntegerField()
    evidence = models.PositiveIntegerField()
    rejected_share = models.FloatField()
    accepted_share = models.FloatField()
    accepted_precision = models.FloatField(null=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    class Meta(GateFields.Meta):
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.source})"


class CollectionGates(GateFields):
    """The thresholds in use in a collection, one row per embedding space. ``revision`` goes up with each change, so
    that two admins do not overwrite each other unseen."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="applied_gates")
    proposal = models.ForeignKey(GateProposal, on_delete=models.SET_NULL, null=True, blank=True)
    revision = models.PositiveIntegerField(default=1)
    applied_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    applied_at = models.DateTimeField(db_default=Now())

    class Meta(GateFields.Meta):
        constraints = [
            *GateFields.Meta.constraints,
            models.UniqueConstraint(fields=["collection", "space"], name="gates_once_per_space"),
        ]

    def __str__(self) -> str:
        return self.name
