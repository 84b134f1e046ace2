"""Thresholds per collection, and proposals for them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from arbitration.triage import GateProfile
from workbench.documents.models import Collection
from workbench.infra.leases import Retried

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


class BarDecides(models.TextChoices):
    """What a bar decides without a person; as ``training.bars.Decides``."""

    DISCARD = "discard", _("discarding")
    ACCEPT = "accept", _("accepting")


class BarMeasure(models.TextChoices):
    """What a bar is put on; as ``training.bars.Measure``."""

    NEAREST = "nearest", _("nearest passages kept")
    ESTIMATE = "estimate", _("estimate of the rules")
    MODEL = "model", _("probability of the model")


class BarState(models.TextChoices):
    WAITING = "waiting", _("waiting")
    READY = "ready", _("ready")
    FAILED = "failed", _("failed")


class BarProposal(Retried):
    """The bar that keeps a promise, computed from the collection's own decided questions, with the effect of every bar
    that was tried. Once ready it never changes; applying it is an act of its own."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="bar_proposals")
    decides = models.CharField(max_length=8, choices=BarDecides.choices)
    promised = models.FloatField(help_text="The share that may be lost, or wrongly accepted.")
    state = models.CharField(max_length=8, choices=BarState.choices, default=BarState.WAITING)
    done = models.PositiveIntegerField(default=0, help_text="Questions replayed so far.")
    total = models.PositiveIntegerField(default=0)
    failure = models.TextField(blank=True)
    measure = models.CharField(max_length=8, choices=BarMeasure.choices, blank=True)
    space = models.CharField(max_length=160, blank=True)
    reranker = models.CharField(max_length=160, blank=True, help_text="Which model served, or the rules.")
    questions = models.PositiveIntegerField(default=0)
    groups = models.PositiveIntegerField(default=0, help_text="Questions in the same words are one.")
    needed = models.PositiveIntegerField(default=0)
    learned = models.PositiveIntegerField(
        default=0, help_text="Questions left out: the model learned from them."
    )
    bar = models.FloatField(null=True, blank=True, help_text="Null: no bar keeps the promise.")
    in_use = models.FloatField(null=True, blank=True, help_text="The bar in use when this was computed.")
    ways = models.JSONField(default=list, blank=True, help_text="Bar, as cards show it, lost, bound, cards.")
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(decides__in=BarDecides.values), name="bar_decides_is_known"),
            models.CheckConstraint(
                condition=Q(promised__gte=0.01, promised__lte=0.5), name="bar_promise_in_range"
            ),
            models.CheckConstraint(condition=Q(state__in=BarState.values), name="bar_state_is_known"),
            models.CheckConstraint(
                condition=~Q(state=BarState.READY) | Q(measure__in=BarMeasure.values),
                name="ready_bar_has_a_measure",
            ),
            models.UniqueConstraint(
                fields=["collection", "decides"],
                condition=Q(state=BarState.WAITING),
                name="one_bar_computed_at_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_decides_display()}, {self.promised:.0%}"

    @property
    def missing(self) -> int:
        """How many questions are still to be decided before anything can be promised."""
        return max(0, self.needed - self.groups)


class CollectionBar(models.Model):
    """A bar in use in a collection, on the scale of one embedding space. ``revision`` goes up with each change, so that
    two admins do not overwrite each other unseen."""

    collection = models.ForeignKey(Collection, on_delete=models.CASCADE, related_name="bars")
    decides = models.CharField(max_length=8, choices=BarDecides.choices)
    measure = models.CharField(max_length=8, choices=BarMeasure.choices)
    space = models.CharField(max_length=160)
    bar = models.FloatField()
    proposal = models.ForeignKey(BarProposal, on_delete=models.CASCADE, related_name="+")
    revision = models.PositiveIntegerField(default=1)
    applied_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    applied_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["decides", "measure"]
        constraints = [
            models.UniqueConstraint(
                fields=["collection", "space", "decides", "measure"], name="bar_once_per_space_and_measure"
            ),
            models.CheckConstraint(condition=Q(bar__gte=0), name="bar_not_negative"),
            models.CheckConstraint(
                condition=Q(measure=BarMeasure.NEAREST, decides=BarDecides.DISCARD, bar__gte=1)
                | Q(measure__in=[BarMeasure.ESTIMATE, BarMeasure.MODEL], bar__lte=1),
                name="bar_in_range_of_its_measure",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_decides_display()}: {self.bar}"
