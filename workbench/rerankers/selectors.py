"""What pages and commands read of trainings and models."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db.models import Avg, Count, F, Max, Q, QuerySet
from django.db.models.functions import Now
from django.shortcuts import get_object_or_404

from workbench.labeling.models import Label
from workbench.review.models import ReviewPolicy

from .models import (
    AliasMove,
    GateDecision,
    ModelVersion,
    Snapshot,
    SnapshotKind,
    TrainingRun,
)


def labels_since_last_training() -> int:
    """Labels that may be used, nobody took back, and that came after the newest training set was read."""
    last = Snapshot.objects.filter(kind=SnapshotKind.TRAINING).aggregate(last=Max("last_label_id"))["last"]
    usable = Label.objects.standing().filter(collection__contributes_to_training=True)
    return usable.filter(pk__gt=last or 0).count()


def labels_of_last_days(days: int) -> int:
    usable = Label.objects.standing().filter(collection__contributes_to_training=True)
    return usable.filter(created_at__gt=Now() - timedelta(days=days)).count()


def blind_share_now() -> float:
    """The mean blind share of the collections that contribute to training, as far as somebody set one."""
    rows = ReviewPolicy.objects.filter(collection__contributes_to_training=True)
    found = rows.aggregate(mean=Avg("blind_share"))["mean"]
    return float(settings.BLIND_SHARE if found is None else found)


def trainings_all() -> QuerySet[TrainingRun]:
    return TrainingRun.objects.select_related(
        "requested_by",
        "snapshot",
        "challenger",
        "decision__champion",
        "decision__challenger",
        "decision__gold",
    )


def training_for(*, pk: int) -> TrainingRun:
    """A training with what came of it; else 404."""
    return get_object_or_404(trainings_all(), pk=pk)


def version_for(*, number: int) -> ModelVersion:
    """A model by its number; else 404."""
    return get_object_or_404(ModelVersion.objects.select_related("snapshot"), number=number)


def versions_all() -> QuerySet[ModelVersion]:
    """Every model, the newest first, with how many of its labels were overturned since."""
    return ModelVersion.objects.select_related("snapshot").annotate(
        overturned=Count("snapshot__labels", filter=Q(snapshot__labels__overturned_at__isnull=False))
    )


def decisions_newest(*, limit: int) -> list[GateDecision]:
    return list(
        GateDecision.objects.select_related("challenger", "champion", "run__requested_by", "gold")[:limit]
    )


def decisions_of(*, version: ModelVersion) -> QuerySet[GateDecision]:
    return version.decisions.select_related("champion", "run", "gold").order_by(F("id").desc())


def moves_all() -> QuerySet[AliasMove]:
    return AliasMove.objects.select_related("version", "before", "moved_by", "decision")
