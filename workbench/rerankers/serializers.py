"""Shapes of the API of models and trainings. A model is named by its number: verdicts call model 3 ``v3``."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from workbench.labeling.models import Label
from workbench.labeling.serializers import IntervalSerializer
from workbench.runs.models import RoleChoice

from .cards import FIGURES, ModelCard, model_card, seed_of
from .models import (
    AliasMove,
    AliasName,
    GateDecision,
    ModelVersion,
    Snapshot,
    SnapshotLabel,
    TrainingRun,
    Way,
)


class SnapshotSerializer(serializers.ModelSerializer[Snapshot]):
    """A frozen set of labelled pairs, named by its content hash. ``rows`` are included; the other fields count what was
    left out."""

    questions = serializers.IntegerField(source="question_count")

    class Meta:
        model = Snapshot
        fields = [
            "number", "content_hash", "rows", "positives", "questions", "held_out", "excluded", "disputed",
            "without_features", "withheld", "created_at",
        ]  # fmt: skip
        read_only_fields = fields
        extra_kwargs = {
            "held_out": {"help_text": "Labels of holdout questions, not used for training."},
            "without_features": {"help_text": "Labels whose candidate no longer exists."},
            "withheld": {"help_text": "Labels of collections that do not contribute to training."},
        }


class GateDecisionSerializer(serializers.ModelSerializer[GateDecision]):
    """The gate's decision and its reasons. ``challenger`` is null if none could be trained; ``champion`` is null if the
    rules were the baseline. Both sets of figures are for the pairs with hash ``gold_hash``, or null if nothing could be
    compared. ``gain`` is the gain in F1. ``way`` says whether both were scored on the holdout, or on all gold by
    cross-validation with each question scored by models not trained on it."""

    training = serializers.IntegerField(source="run_id")
    challenger = serializers.IntegerField(
        source="challenger.number", default=None, read_only=True, allow_null=True
    )
    champion = serializers.IntegerField(
        source="champion.number", default=None, read_only=True, allow_null=True
    )
    reasons = serializers.ListField(child=serializers.CharField())
    gold = SnapshotSerializer(allow_null=True)
    challenger_figures = serializers.SerializerMethodField()
    champion_figures = serializers.SerializerMethodField()
    gain = IntervalSerializer(allow_null=True)

    class Meta:
        model = GateDecision
        fields = [
            "training", "challenger", "champion", "outcome", "reasons", "gold", "gold_hash", "way", "is_first",
            "challenger_figures", "champion_figures", "gain", "created_at",
        ]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(
        serializers.DictField(child=serializers.FloatField(allow_null=True), allow_null=True)
    )
    def get_challenger_figures(self, decision: GateDecision) -> dict[str, float | None] | None:
        """By name."""
        return figures_of(decision.challenger_report)

    @extend_schema_field(
        serializers.DictField(child=serializers.FloatField(allow_null=True), allow_null=True)
    )
    def get_champion_figures(self, decision: GateDecision) -> dict[str, float | None] | None:
        """By name."""
        return figures_of(decision.champion_report)


def figures_of(report: dict[str, Any] | None) -> dict[str, float | None] | None:
    """The figures that are compared, by name; None without a report."""
    metrics = (report or {}).get("metrics")
    return {name: metrics.get(name) for name in FIGURES} if metrics else None


class StageSerializer(serializers.Serializer[Any]):
    """A completed stage of a training."""

    stage = serializers.CharField()
    seconds = serializers.FloatField()
    detail = serializers.CharField()


class TrainingSerializer(serializers.ModelSerializer[TrainingRun]):
    """A training: its progress, its data, the model and the gate's decision."""

    requested_by = serializers.CharField(source="requested_by.name")
    stages = StageSerializer(many=True)
    training_set = SnapshotSerializer(source="snapshot", allow_null=True)
    challenger = serializers.IntegerField(
        source="challenger.number", default=None, read_only=True, allow_null=True
    )
    decision = GateDecisionSerializer(default=None, read_only=True, allow_null=True)

    class Meta:
        model = TrainingRun
        fields = [
            "id", "state", "trigger", "requested_by", "stages", "detail", "training_set", "challenger", "decision",
            "failure_reason", "created_at", "started_at", "finished_at",
        ]  # fmt: skip
        read_only_fields = fields


class UnmatchedLabelSerializer(serializers.ModelSerializer[Label]):
    """A label that matches no candidate of its question."""

    collection = serializers.CharField(source="collection.slug")

    class Meta:
        model = Label
        fields = [
            "id", "collection", "document", "question", "page_start", "line_start", "page_end", "line_end", "role",
            "source",
        ]  # fmt: skip
        read_only_fields = fields


class GoldCountsSerializer(serializers.Serializer[Any]):
    """Numbers of gold pairs that are evidence, gold pairs that are not, and their questions."""

    positives = serializers.IntegerField()
    negatives = serializers.IntegerField()
    questions = serializers.IntegerField()


class GoldOutlookSerializer(serializers.Serializer[Any]):
    """How models would be compared now (``way``; null: not possible), and the gold still missing for ``target`` (null:
    none). Gives what exists, what is needed, what was added in the last 30 days, and the weeks to reach it at that rate
    (null: never)."""

    way = serializers.ChoiceField(choices=Way.choices, allow_null=True)
    target = serializers.ChoiceField(choices=Way.choices, allow_null=True)
    have = GoldCountsSerializer()
    need = GoldCountsSerializer()
    gained = GoldCountsSerializer()
    weeks = serializers.IntegerField(allow_null=True)


class PlanSerializer(serializers.Serializer[Any]):
    """What a training would read and measure now: ``rows`` training pairs, ``positives`` of them evidence.
    ``has_enough_gold`` says whether the gate could compare models. ``unmatched`` labels match no candidate and train
    nothing; ``unmatched_labels`` lists the first ones visible to the caller."""

    rows = serializers.IntegerField()
    positives = serializers.IntegerField()
    questions = serializers.IntegerField()
    held_out = serializers.IntegerField()
    disputed = serializers.IntegerField()
    withheld = serializers.IntegerField()
    gold_positives = serializers.IntegerField()
    gold_negatives = serializers.IntegerField()
    gold_questions = serializers.IntegerField()
    has_enough_gold = serializers.BooleanField()
    gold_outlook = GoldOutlookSerializer()
    unmatched = serializers.IntegerField()
    unmatched_labels = UnmatchedLabelSerializer(many=True)


class ModelSerializer(serializers.ModelSerializer[ModelVersion]):
    """A reranker model. ``places`` are its current places. A model that never passed the gate (``passed_at`` null)
    cannot serve. ``overturned_labels`` counts training labels that people have withdrawn or overruled since."""

    training_set = SnapshotSerializer(source="snapshot", allow_null=True)
    overturned_labels = serializers.IntegerField(source="overturned")
    places = serializers.SerializerMethodField()

    class Meta:
        model = ModelVersion
        fields = [
            "number", "name", "origin", "architecture", "feature_version", "threshold", "digest", "training_set",
            "overturned_labels", "places", "passed_at", "created_at",
        ]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(serializers.ListField(child=serializers.ChoiceField(choices=AliasName.choices)))
    def get_places(self, version: ModelVersion) -> list[str]:
        """Champion, or shadow."""
        return sorted(alias.name for alias in version.aliases.all())


class ReportSerializer(serializers.Serializer[Any]):
    """Figures of a model. ``reliability`` has the mean probability, share of evidence and count per bin; ``curve`` has
    recall and precision. ``confusion`` counts rejected, uncertain and accepted pairs per judged role. ``importance`` is
    the drop in ROC AUC when a feature is shuffled."""

    figures = serializers.DictField(child=serializers.FloatField(allow_null=True))
    reliability = serializers.ListField(child=serializers.ListField(child=serializers.FloatField()))
    curve = serializers.ListField(child=serializers.ListField(child=serializers.FloatField()))
    confusion = serializers.DictField(child=serializers.ListField(child=serializers.IntegerField()))
    importance = serializers.DictField(child=serializers.FloatField())


class CollectionFiguresSerializer(serializers.Serializer[Any]):
    """F1 on the pairs of a collection visible to the caller."""

    collection = serializers.CharField(source="collection.slug")
    f1 = serializers.FloatField(source="figures.f1")
    pairs = serializers.IntegerField(source="figures.pairs")


class LabelCountsSerializer(serializers.Serializer[Any]):
    """Numbers of labels a model was trained on. ``withdrawn`` belong to collections that no longer contribute
    labels."""

    labels = serializers.IntegerField()
    overturned = serializers.IntegerField()
    withdrawn = serializers.IntegerField()


class ShadowComparisonSerializer(serializers.Serializer[Any]):
    """A shadow model compared with the champion (``compared``) on live ``candidates``: on how many they ``differ``, the
    mean ``distance`` of their probabilities, and how often each was right on those people ``judged``."""

    candidates = serializers.IntegerField()
    compared = serializers.IntegerField()
    differ = serializers.IntegerField()
    distance = serializers.FloatField(allow_null=True)
    judged = serializers.IntegerField()
    right = serializers.IntegerField()
    champion_right = serializers.IntegerField()


class SeedSerializer(serializers.Serializer[Any]):
    """The shipped model: licences of its labels, and figures per set on unseen documents and questions, next to rules
    and cosine."""

    serves = serializers.BooleanField()
    why_not = serializers.CharField()
    licences = serializers.ListField(child=serializers.CharField())
    held_out_documents = serializers.DictField()
    held_out_questions = serializers.DictField()


class ModelCardSerializer(serializers.Serializer[Any]):
    """The model card. The report covers the gold pairs of the newest decision if ``is_on_gold``, else questions the
    model was not trained on; null if there is none. ``compared`` are the architectures tried. ``logistic`` is a
    baseline that never serves."""

    features = serializers.ListField(source="version.manifest.feature_names", child=serializers.CharField())
    embedding_space = serializers.CharField(
        source="version.manifest.embedding_space", default=None, read_only=True, allow_null=True
    )
    libraries = serializers.DictField(source="version.manifest.libraries", child=serializers.CharField())
    report = serializers.SerializerMethodField()
    is_on_gold = serializers.BooleanField(source="is_gold")
    by_collection = CollectionFiguresSerializer(many=True)
    compared = serializers.SerializerMethodField()
    labels = LabelCountsSerializer()
    decisions = GateDecisionSerializer(many=True)
    in_shadow = ShadowComparisonSerializer(allow_null=True)
    seed = serializers.SerializerMethodField()

    @extend_schema_field(ReportSerializer(allow_null=True))
    def get_report(self, card: ModelCard) -> dict[str, Any] | None:
        """Without what it says of collections, which is filtered for the caller."""
        figures = figures_of(card.report)
        return (
            dict(ReportSerializer({"importance": {}, **card.report, "figures": figures}).data)
            if figures
            else None
        )

    @extend_schema_field(serializers.DictField(child=serializers.DictField()))
    def get_compared(self, card: ModelCard) -> dict[str, Any]:
        """By name."""
        return dict(card.version.report.get("compared", {}))

    @extend_schema_field(SeedSerializer(allow_null=True))
    def get_seed(self, card: ModelCard) -> dict[str, Any] | None:
        """Null for a model that was trained here, or shipped with another release."""
        seed = seed_of(card.version)
        return dict(SeedSerializer(seed).data) if seed else None


class ModelDetailSerializer(ModelSerializer):
    """A model with its card."""

    card = serializers.SerializerMethodField()

    class Meta(ModelSerializer.Meta):
        fields = [*ModelSerializer.Meta.fields, "card"]
        read_only_fields = fields

    @extend_schema_field(ModelCardSerializer)
    def get_card(self, version: ModelVersion) -> dict[str, Any]:
        """Of collections what the caller sees."""
        card = model_card(version=version, user=self.context["request"].user)
        return dict(ModelCardSerializer(card).data)


class LearnedLabelSerializer(serializers.ModelSerializer[SnapshotLabel]):
    """A label that a model was trained on. ``overturned_at`` is when people withdrew or overruled it."""

    collection = serializers.CharField(source="label.collection.slug")
    document = serializers.IntegerField(source="label.document_id", allow_null=True)
    question = serializers.CharField(source="label.question")
    role = serializers.ChoiceField(source="label.role", choices=RoleChoice.choices)
    source = serializers.CharField(source="label.source")

    class Meta:
        model = SnapshotLabel
        fields = ["label", "collection", "document", "question", "role", "source", "overturned_at"]
        read_only_fields = fields


class MoveSerializer(serializers.ModelSerializer[AliasMove]):
    """A model entering or leaving a place. ``training`` is the training whose gate decided, or null if a person did."""

    model = serializers.IntegerField(source="version.number")
    before = serializers.IntegerField(source="before.number", default=None, read_only=True, allow_null=True)
    training = serializers.IntegerField(
        source="decision.run_id", default=None, read_only=True, allow_null=True
    )
    moved_by = serializers.CharField(source="moved_by.name")

    class Meta:
        model = AliasMove
        fields = ["id", "alias", "kind", "model", "before", "training", "moved_by", "reason", "created_at"]
        read_only_fields = fields


class ServingSerializer(serializers.Serializer[Any]):
    """The champion and shadow models. Without a ``champion``, or if it cannot be loaded (``is_refused``), the rules
    decide. The ``shadow`` model scores but decides nothing."""

    champion = serializers.IntegerField(
        source="champion.number", default=None, read_only=True, allow_null=True
    )
    is_refused = serializers.BooleanField()
    shadow = serializers.IntegerField(source="shadow.number", default=None, read_only=True, allow_null=True)


class RollBackSerializer(serializers.Serializer[Any]):
    """The reason, which is recorded in the audit trail."""

    reason = serializers.CharField(max_length=400)


class ScheduleChangeSerializer(serializers.Serializer[Any]):
    """When to train (day of the month and hour, UTC), and what the gate requires: a minimum of new labels, gold pairs
    and questions, and optionally a gain whose interval excludes zero."""

    is_on = serializers.BooleanField()
    day = serializers.IntegerField(min_value=1, max_value=28)
    hour = serializers.IntegerField(min_value=0, max_value=23)
    min_new_labels = serializers.IntegerField(min_value=0, max_value=1_000_000)
    min_positives = serializers.IntegerField(min_value=1, max_value=1_000_000)
    min_negatives = serializers.IntegerField(min_value=1, max_value=1_000_000)
    min_questions = serializers.IntegerField(min_value=1, max_value=100_000)
    interval_excludes_zero = serializers.BooleanField()


class ScheduleSerializer(ScheduleChangeSerializer):
    """The training schedule, with its next due time (null while it is off) and the number of new labels."""

    next_due = serializers.DateTimeField(allow_null=True)
    new_labels = serializers.IntegerField()


class OverrideRateSerializer(serializers.Serializer[Any]):
    """Decided verdicts that people overrode, with the 95 % confidence interval. ``level``: few (too few decisions),
    fine, watch or alert."""

    overridden = serializers.IntegerField()
    decided = serializers.IntegerField()
    rate = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    level = serializers.CharField()


class DriftRowSerializer(serializers.Serializer[Any]):
    """Figures of a month (``2026-11``), a week (its Monday, ``2026-11-23``), a role, a detector or a collection."""

    name = serializers.CharField()
    figure = OverrideRateSerializer()


class DriftSerializer(serializers.Serializer[Any]):
    """Figures of the last year in the caller's collections."""

    overall = OverrideRateSerializer()
    by_month = DriftRowSerializer(many=True)
    by_week = DriftRowSerializer(many=True)
    by_role = DriftRowSerializer(many=True)
    by_detector = DriftRowSerializer(many=True)
    by_collection = DriftRowSerializer(many=True)
