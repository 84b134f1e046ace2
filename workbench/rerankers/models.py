"""Trainings, what they read, the models they made, and which one serves.

A model belongs to the installation: it learns from the labels of every collection. Which label went into which model
is on record in both directions; pages show of it what a person may see.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from workbench.infra.leases import Retried
from workbench.labeling.models import Label
from workbench.runs.models import Candidate

#: What people call the architectures that are tried.
ARCHITECTURES = {
    "logistic": _("Logistic regression"),
    "mlp-64-32": _("Neural network (64, 32)"),
    "mlp-128-64-32": _("Neural network (128, 64, 32)"),
}


def architecture_words(name: str) -> str:
    """An architecture as people call it."""
    return str(ARCHITECTURES.get(name, name))


#: The one kind of model there is.
RERANKER = "reranker"


class FeatureRow(models.Model):
    """What the engine saw of a labelled candidate in the list it stood in: computed once per feature version.

    ``values`` are the features in the engine's order; ``estimate`` is what the rules, without a model, gave it.
    ``values`` is empty where no candidate of the list is meant: such a label trains nothing. ``pool_candidate`` is the
    one that is: several labels may mean the same.
    """

    label = models.ForeignKey(Label, on_delete=models.CASCADE, related_name="feature_rows")
    feature_version = models.PositiveIntegerField()
    embedding_space = models.CharField(max_length=160)
    candidate_list = models.CharField(max_length=80, blank=True)
    pool_candidate = models.CharField(max_length=120, blank=True, default="", db_default="")
    values = ArrayField(models.FloatField(), default=list)
    estimate = models.FloatField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["label", "feature_version", "embedding_space"], name="features_of_a_label_once"
            ),
            models.CheckConstraint(
                condition=Q(estimate__isnull=True) | Q(estimate__gte=0, estimate__lte=1),
                name="estimate_in_unit_interval",
            ),
        ]


class SnapshotKind(models.TextChoices):
    TRAINING = "training", _("training set")
    GOLD = "gold", _("gold set")


class Snapshot(models.Model):
    """Frozen labelled rows, named by their content. The rows lie in the file store under ``rows_hash``, which is empty
    for those that an earlier release froze."""

    kind = models.CharField(max_length=12, choices=SnapshotKind.choices)
    number = models.PositiveIntegerField()
    content_hash = models.CharField(max_length=64)
    rows_hash = models.CharField(max_length=64, blank=True, default="", db_default="")
    feature_version = models.PositiveIntegerField()
    embedding_space = models.CharField(max_length=160)
    rows = models.PositiveIntegerField()
    positives = models.PositiveIntegerField()
    question_count = models.PositiveIntegerField()
    held_out = models.PositiveIntegerField(
        default=0, help_text="Labels of holdout questions: they train nothing."
    )
    excluded = models.PositiveIntegerField(default=0, help_text="Labels of benchmark questions.")
    disputed = models.PositiveIntegerField(default=0, help_text="Labels that annotators disagree on.")
    without_features = models.PositiveIntegerField(default=0, help_text="Labels whose candidate is gone.")
    withheld = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Labels that their collections keep out of the model."
    )
    last_label_id = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["kind", "content_hash"], name="same_rows_are_one_snapshot"),
            models.UniqueConstraint(fields=["kind", "number"], name="snapshot_number_once"),
            models.CheckConstraint(condition=Q(kind__in=SnapshotKind.values), name="snapshot_kind_is_known"),
            models.CheckConstraint(condition=Q(positives__lte=F("rows")), name="positives_within_rows"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.number}"


class SnapshotLabel(models.Model):
    """A label in a snapshot. ``overturned_at`` says that the judgment was taken back or overruled later."""

    snapshot = models.ForeignKey(Snapshot, on_delete=models.CASCADE, related_name="labels")
    label = models.ForeignKey(Label, on_delete=models.PROTECT, related_name="snapshots")
    overturned_by = models.ForeignKey(Label, on_delete=models.PROTECT, null=True, related_name="+")
    overturned_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["snapshot", "label"], name="label_once_per_snapshot"),
            models.CheckConstraint(
                condition=Q(overturned_by__isnull=True) | Q(overturned_at__isnull=False),
                name="overturned_label_has_a_time",
            ),
        ]


class Origin(models.TextChoices):
    TRAINED = "trained", _("trained here")
    SEED = "seed", _("came with the product")


class ModelVersion(models.Model):
    """One trained model. Its blob lies in the file store under ``digest``; nothing of it ever changes.

    ``digest`` is the hash of snapshot and configuration; ``manifest`` is the artifact's own. ``report`` holds figures
    on questions the model had not seen in training. ``passed_at`` is when it passed the gate (or came as seed): only
    such a model may serve.
    """

    number = models.PositiveIntegerField(unique=True)
    digest = models.CharField(max_length=40, unique=True)
    origin = models.CharField(max_length=8, choices=Origin.choices)
    architecture = models.CharField(max_length=24)
    feature_version = models.PositiveIntegerField()
    threshold = models.FloatField()
    snapshot = models.ForeignKey(Snapshot, on_delete=models.PROTECT, null=True, related_name="models")
    manifest = models.JSONField()
    report = models.JSONField(default=dict)
    passed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.CheckConstraint(condition=Q(origin__in=Origin.values), name="model_origin_is_known"),
            models.CheckConstraint(
                condition=Q(origin=Origin.SEED, snapshot__isnull=True)
                | Q(origin=Origin.TRAINED, snapshot__isnull=False),
                name="trained_model_has_a_snapshot",
            ),
            models.CheckConstraint(
                condition=Q(threshold__gte=0, threshold__lte=1), name="threshold_in_unit_interval"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("models:version", args=[self.number])

    @property
    def architecture_in_words(self) -> str:
        """As pages call it; one that is not known by its name."""
        return architecture_words(self.architecture)

    @property
    def name(self) -> str:
        """Display name, such as ``v3``."""
        return f"v{self.number}"


class RunState(models.TextChoices):
    """Where a training is; the last three are ends."""

    QUEUED = "queued", _("queued")
    COLLECTING = "collecting", _("collecting labels")
    TRAINING = "training", _("training")
    JUDGING = "judging", _("at the gate")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")
    CANCELLED = "cancelled", _("cancelled")


ACTIVE_STATES = (RunState.QUEUED, RunState.COLLECTING, RunState.TRAINING, RunState.JUDGING)


class Trigger(models.TextChoices):
    SCHEDULE = "schedule", _("the schedule")
    PERSON = "person", _("a person")
    COMMAND = "command", _("a command")


class TrainingRun(Retried):
    """One attempt to make a better model. A worker that dies leaves it to the sweeper, which fails it on record."""

    model_name = models.CharField(max_length=20, default=RERANKER)
    state = models.CharField(max_length=12, choices=RunState.choices, default=RunState.QUEUED)
    trigger = models.CharField(max_length=12, choices=Trigger.choices)
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    config = models.JSONField(default=dict)
    stages = models.JSONField(default=list)  # [{stage, seconds, detail}] in order, for the page
    detail = models.TextField(blank=True)
    snapshot = models.ForeignKey(Snapshot, on_delete=models.PROTECT, null=True, related_name="runs")
    challenger = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, null=True, related_name="runs")
    failure_reason = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=RunState.values), name="training_state_is_known"),
            models.CheckConstraint(condition=Q(trigger__in=Trigger.values), name="training_trigger_is_known"),
            models.UniqueConstraint(
                fields=["model_name"], condition=Q(state__in=ACTIVE_STATES), name="one_training_at_a_time"
            ),
            models.CheckConstraint(
                condition=~Q(state=RunState.FAILED) | ~Q(failure_reason=""), name="failed_training_says_why"
            ),
            models.CheckConstraint(
                condition=Q(state__in=ACTIVE_STATES, finished_at__isnull=True)
                | (~Q(state__in=ACTIVE_STATES) & Q(finished_at__isnull=False)),
                name="ended_training_has_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"training {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("models:training", args=[self.pk])

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE_STATES


class Outcome(models.TextChoices):
    DEPLOYED = "deployed", _("deployed")
    KEPT = "kept", _("champion kept")
    REFUSED = "refused", _("refused")


class Way(models.TextChoices):
    """What both sides were measured on (``training.gate.Way``)."""

    HOLDOUT = "holdout", _("gold holdout")
    CROSS_VALIDATION = "cross_validation", _("cross-validation by question")


class GateDecision(models.Model):
    """What the gate decided on a challenger, on which rows, and why. Never changed.

    ``challenger`` is empty where the labels were too few to train one, ``champion`` where the rules were the bar.
    Both reports are on the rows whose hash is ``gold_hash``; they are empty where nothing could be compared.
    """

    run = models.OneToOneField(TrainingRun, on_delete=models.PROTECT, related_name="decision")
    challenger = models.ForeignKey(
        ModelVersion, on_delete=models.PROTECT, null=True, related_name="decisions"
    )
    champion = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, null=True, related_name="defences")
    outcome = models.CharField(max_length=12, choices=Outcome.choices)
    reasons = models.JSONField()
    gold = models.ForeignKey(Snapshot, on_delete=models.PROTECT, null=True, related_name="decisions")
    gold_hash = models.CharField(max_length=64)
    way = models.CharField(
        max_length=16, choices=Way.choices, default=Way.HOLDOUT, db_default=Way.HOLDOUT.value
    )
    is_first = models.BooleanField(default=False)
    champion_report = models.JSONField(null=True)
    challenger_report = models.JSONField(null=True)
    gain = models.JSONField(null=True)  # {value, low, high, n} of F1
    policy = models.JSONField(default=dict)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(outcome__in=Outcome.values), name="gate_outcome_is_known"),
            models.CheckConstraint(condition=Q(way__in=Way.values), name="gate_way_is_known"),
            models.CheckConstraint(
                condition=~Q(outcome=Outcome.DEPLOYED)
                | Q(challenger_report__isnull=False, champion_report__isnull=False, gold__isnull=False),
                name="deployed_after_comparison",
            ),
            models.CheckConstraint(
                condition=Q(challenger__isnull=False) | Q(outcome=Outcome.REFUSED),
                name="no_challenger_no_deploy",
            ),
        ]


class AliasName(models.TextChoices):
    """The two places a model can stand in."""

    CHAMPION = "champion", _("champion")
    SHADOW = "shadow", _("shadow")


class ModelAlias(models.Model):
    """Which model serves, and which one scores beside it without deciding."""

    name = models.CharField(max_length=12, choices=AliasName.choices, primary_key=True)
    version = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, related_name="aliases")
    moved_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(name__in=AliasName.values), name="alias_is_known"),
        ]


class MoveKind(models.TextChoices):
    DEPLOYED = "deployed", _("deployed by the gate")
    ROLLED_BACK = "rolled_back", _("rolled back")
    SEEDED = "seeded", _("came with the product")
    SHADOWED = "shadowed", _("put in shadow")
    ENDED = "ended", _("taken out of shadow")


class AliasMove(models.Model):
    """One move of an alias: the history of champions."""

    alias = models.CharField(max_length=12, choices=AliasName.choices)
    kind = models.CharField(max_length=12, choices=MoveKind.choices)
    version = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, related_name="moves")
    before = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, null=True, related_name="+")
    decision = models.OneToOneField(GateDecision, on_delete=models.PROTECT, null=True, related_name="move")
    moved_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    reason = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=MoveKind.values), name="move_kind_is_known"),
            models.CheckConstraint(
                condition=~Q(kind=MoveKind.DEPLOYED) | Q(decision__isnull=False),
                name="deployed_by_a_decision",
            ),
            models.CheckConstraint(
                condition=~Q(kind=MoveKind.ROLLED_BACK) | ~Q(reason=""), name="rollback_says_why"
            ),
        ]


class ShadowScore(models.Model):
    """What a model in shadow would have said of a live candidate, beside what the champion said."""

    version = models.ForeignKey(ModelVersion, on_delete=models.CASCADE, related_name="shadow_scores")
    candidate = models.ForeignKey(Candidate, on_delete=models.CASCADE, related_name="shadow_scores")
    probability = models.FloatField()
    champion_probability = models.FloatField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["version", "candidate"], name="shadow_scores_once"),
            models.CheckConstraint(
                condition=Q(probability__gte=0, probability__lte=1), name="shadow_score_in_unit_interval"
            ),
        ]


class TrainingSchedule(models.Model):
    """When the installation trains by itself, and what its gate demands: exactly one row. Times are UTC."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    is_on = models.BooleanField(default=True)
    day = models.PositiveSmallIntegerField(default=1)
    hour = models.PositiveSmallIntegerField(default=3)
    min_new_labels = models.PositiveIntegerField(default=50)
    min_positives = models.PositiveIntegerField(default=50)
    min_negatives = models.PositiveIntegerField(default=50)
    min_questions = models.PositiveIntegerField(default=20)
    interval_excludes_zero = models.BooleanField(default=False)
    # Due moments up to here have been looked at.
    considered_until = models.DateTimeField(db_default=Now())
    # Labels and retractions up to here have been compared with the snapshots.
    marked_label_id = models.BigIntegerField(default=0)
    marked_retraction_id = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="one_training_schedule"),
            models.CheckConstraint(condition=Q(day__gte=1, day__lte=28), name="day_in_every_month"),
            models.CheckConstraint(condition=Q(hour__gte=0, hour__lte=23), name="hour_of_the_day"),
            models.CheckConstraint(
                condition=Q(min_positives__gte=1, min_negatives__gte=1, min_questions__gte=1),
                name="gold_minimum_at_least_one",
            ),
        ]
