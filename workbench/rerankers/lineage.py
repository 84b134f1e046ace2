"""Which labels a model learned from, which models a label went into, and what a later judgment does to both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from django.db.models import Max, QuerySet
from django.db.models.functions import Now

from training.labels import LabelSource
from workbench.labeling.models import Label, LabelRetraction
from workbench.labeling.selectors import labels_resolved

from .models import ModelVersion, Snapshot, SnapshotKind, SnapshotLabel, TrainingSchedule

_BATCH = 2000


def models_of_label(*, label: Label) -> QuerySet[ModelVersion]:
    """Every model that was trained on a label, the newest first."""
    return ModelVersion.objects.filter(snapshot__labels__label=label).order_by("-number")


def labels_of_model(*, version: ModelVersion) -> QuerySet[SnapshotLabel]:
    """Every label a model was trained on, those that were overturned later first."""
    return (
        SnapshotLabel.objects.filter(snapshot=version.snapshot_id)
        .select_related("label__collection", "label__document", "label__person", "overturned_by")
        .order_by("overturned_at", "id")
    )


def labels_withdrawn(*, snapshots: Iterable[Snapshot | None]) -> QuerySet[SnapshotLabel]:
    """Rows of snapshots whose labels their collections keep out by now. What was trained before stays as it was."""
    return SnapshotLabel.objects.filter(
        snapshot__in=[snapshot.pk for snapshot in snapshots if snapshot],
        label__collection__contributes_to_training=False,
    )


def overturned_mark() -> int:
    """Marks snapshot rows whose label was taken back or overruled since the last call; returns how many.

    Looks only at pairs of which something new was said, so that it costs nothing while nobody judges.
    """
    schedule, _made = TrainingSchedule.objects.get_or_create(pk=1)
    labels = Label.objects.filter(pk__gt=schedule.marked_label_id)
    retractions = LabelRetraction.objects.filter(pk__gt=schedule.marked_retraction_id)
    seen_label = labels.aggregate(last=Max("pk"))["last"]
    seen_retraction = retractions.aggregate(last=Max("pk"))["last"]
    if seen_label is None and seen_retraction is None:
        return 0
    marked = _mark_retracted(retractions.filter(pk__lte=seen_retraction or 0))
    if seen_label is not None:
        marked += _mark_overruled(
            set(labels.filter(pk__lte=seen_label).values_list("question_hash", flat=True))
        )
    TrainingSchedule.objects.filter(pk=1).update(
        marked_label_id=seen_label or schedule.marked_label_id,
        marked_retraction_id=seen_retraction or schedule.marked_retraction_id,
    )
    return marked


def _mark_retracted(retractions: QuerySet[LabelRetraction]) -> int:
    # Their keys first: one statement that joins its way to them was planned as a product of whole tables at times.
    labels = list(retractions.values_list("label_id", flat=True))
    rows = list(_unmarked().filter(label__in=labels).values_list("pk", flat=True))
    return SnapshotLabel.objects.filter(pk__in=rows).update(overturned_at=Now())


def _mark_overruled(questions: Iterable[str]) -> int:
    """Rows whose pair another label speaks for now, with the other binary label."""
    concerned = _unmarked().filter(label__question_hash__in=list(questions)).values_list("pk", "label_id")
    by_label: dict[int, list[int]] = {}
    for pk, label_id in concerned:
        by_label.setdefault(label_id, []).append(pk)
    if not by_label:
        return 0
    overruled = labels_resolved().overruled
    winners = {label_id: int(overruled[str(label_id)]) for label_id in by_label if str(label_id) in overruled}
    binary = _binary_labels([*winners, *winners.values()])
    marked = 0
    for label_id, winner in winners.items():
        if binary[label_id] != binary[winner]:
            marked += SnapshotLabel.objects.filter(pk__in=by_label[label_id]).update(
                overturned_by=winner, overturned_at=Now()
            )
    return marked


def _unmarked() -> QuerySet[SnapshotLabel]:
    return SnapshotLabel.objects.filter(overturned_at__isnull=True, snapshot__kind=SnapshotKind.TRAINING)


def _binary_labels(label_ids: Sequence[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    walk = iter(label_ids)
    while batch := list(islice(walk, _BATCH)):
        found |= dict(Label.objects.filter(pk__in=batch).values_list("pk", "binary_label"))
    return found


def is_human(label: Label) -> bool:
    """Whether a person judged."""
    return LabelSource(label.source).is_human
