"""What a training reads, from the tables: the snapshot's rows, the gold rows, and what became of every label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from django.db.models import Max

from arbitration.features import FEATURE_VERSION
from training.gold import gold_dataset, gold_labels
from training.labels import LabelRow, one_per_candidate
from training.snapshot import Dataset, QuestionSides, Side, build_snapshot
from training.snapshot import Snapshot as SnapshotRows
from workbench.documents.embedding import active_space
from workbench.labeling.models import Label
from workbench.labeling.selectors import labels_read, question_sides

from .examples import Beat, Featured, featured_labels
from .models import Snapshot, SnapshotKind, SnapshotLabel, TrainingSchedule
from .unmatched import labels_unmatched

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LearningData:
    """Training and gold rows as they stand now. ``estimates`` are the rules' own, by label id."""

    training: SnapshotRows
    gold: Dataset
    estimates: dict[str, float]
    disputed: int
    without_features: int
    withheld: int
    last_label_id: int

    @cached_property
    def gold_estimates(self) -> Floats:
        """The rules' estimate of each gold row, shape (n,)."""
        return np.array([self.estimates[label_id] for label_id in self.gold.label_ids], dtype=np.float64)


def learning_data(*, beat: Beat = lambda done, total: None) -> LearningData:
    """Reads every label that may be used; computes the feature rows that are missing. Writes nothing else."""
    last_label_id = Label.objects.aggregate(last=Max("pk"))["last"] or 0
    sides = sides_of_all()
    resolution, blind, withheld = labels_read()
    gold = gold_labels(blind, sides=sides, trained_questions=questions_trained())
    featured = featured_labels(_each_once(resolution.winners, gold), beat=beat)
    meant = {label_id: found.candidate for label_id, found in featured.items()}
    matched = [row for row in resolution.winners if row.label_id in featured]
    usable = one_per_candidate(matched, meant)
    gold = one_per_candidate([row for row in gold if row.label_id in featured], meant)
    training = build_snapshot(
        [featured[row.label_id].example for row in usable], sides=sides, feature_version=FEATURE_VERSION
    )
    return LearningData(
        training=training,
        gold=_gold(gold, featured, sides),
        estimates={label_id: found.estimate for label_id, found in featured.items()},
        disputed=len(resolution.disputed),
        without_features=len(resolution.winners) - len(matched),
        withheld=withheld,
        last_label_id=last_label_id,
    )


@dataclass(frozen=True, slots=True)
class Plan:
    """What a training would read now, counted without computing a single feature. ``unmatched`` labels mean no
    candidate, as far as anybody looked, and train nothing."""

    rows: int
    positives: int
    questions: int
    held_out: int
    disputed: int
    withheld: int
    gold_positives: int
    gold_negatives: int
    gold_questions: int
    unmatched: int

    def has_enough_gold(self, schedule: TrainingSchedule) -> bool:
        """Whether there is what the gate demands to compare anything."""
        return (
            self.gold_positives >= schedule.min_positives
            and self.gold_negatives >= schedule.min_negatives
            and self.gold_questions >= schedule.min_questions
        )


def training_plan() -> Plan:
    """The dry run of the page: labels by side, and the gold there is."""
    sides = sides_of_all()
    resolution, blind, withheld = labels_read()
    gold = gold_labels(blind, sides=sides, trained_questions=questions_trained())
    rows = [row for row in resolution.winners if sides.side(row.question) is Side.TRAINING]
    positives = sum(row.label for row in gold)
    return Plan(
        rows=len(rows),
        positives=sum(row.label for row in rows),
        questions=len({sides.group(row.question) for row in rows}),
        held_out=len(resolution.winners) - len(rows),
        disputed=len(resolution.disputed),
        withheld=withheld,
        gold_positives=positives,
        gold_negatives=len(gold) - positives,
        gold_questions=len({sides.group(row.question) for row in gold}),
        unmatched=labels_unmatched().count(),
    )


def sides_of_all() -> QuestionSides:
    """The side of every question; those of an imported gold set are held out, whatever the draw says."""
    sides = question_sides()
    gold_sets = Label.objects.filter(label_import__is_gold=True).order_by("pk")
    for text in dict.fromkeys(gold_sets.values_list("question", flat=True)):
        sides.hold_out(text)
    return sides


def questions_trained() -> list[str]:
    """The questions of every training snapshot there ever was: none of them, nor a near-duplicate, is gold."""
    labels = SnapshotLabel.objects.filter(snapshot__kind=SnapshotKind.TRAINING)
    return sorted(set(labels.values_list("label__question", flat=True)))


def _each_once(*groups: Sequence[LabelRow]) -> list[LabelRow]:
    return list({row.label_id: row for rows in groups for row in rows}.values())


def _gold(labels: Sequence[LabelRow], featured: dict[str, Featured], sides: QuestionSides) -> Dataset:
    return gold_dataset(
        {row.label_id: featured[row.label_id].example for row in labels},
        sides=sides,
    )


# --- freezing ---------------------------------------------------------------------------------------


def training_snapshot_freeze(data: LearningData) -> Snapshot:
    """The stored snapshot of the training rows; the same rows again are the same snapshot. Needs a transaction."""
    return _freeze(
        data.training.training,
        kind=SnapshotKind.TRAINING,
        content_hash=data.training.content_hash,
        held_out=data.training.held_out,
        excluded=data.training.excluded,
        disputed=data.disputed,
        without_features=data.without_features,
        withheld=data.withheld,
        last_label_id=data.last_label_id,
    )


def gold_freeze(data: LearningData) -> Snapshot | None:
    """The stored version of the gold rows; None while there are none. Needs a transaction."""
    if not len(data.gold):
        return None
    return _freeze(
        data.gold, kind=SnapshotKind.GOLD, content_hash=data.gold.digest, last_label_id=data.last_label_id
    )


def _freeze(data: Dataset, *, kind: str, content_hash: str, **figures: int) -> Snapshot:
    known = Snapshot.objects.filter(kind=kind, content_hash=content_hash).first()
    if known is not None:
        return known
    from .store import dataset_put  # scikit-learn comes with it

    dataset_put(data)
    number = Snapshot.objects.filter(kind=kind).aggregate(last=Max("number"))["last"] or 0
    snapshot = Snapshot.objects.create(
        kind=kind,
        number=number + 1,
        content_hash=content_hash,
        feature_version=FEATURE_VERSION,
        embedding_space=active_space().name,
        rows=len(data),
        positives=int(data.labels.sum()),
        question_count=len(set(data.groups)),
        **figures,
    )
    SnapshotLabel.objects.bulk_create(
        [SnapshotLabel(snapshot=snapshot, label_id=int(label_id)) for label_id in data.label_ids],
        batch_size=5000,
    )
    return snapshot
