"""What a training reads, from the tables: the snapshot's rows, the gold rows, and what became of every label."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import structlog
from django.core.cache import caches
from django.db.models import Aggregate, Count, Manager, Max, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from arbitration.features import FEATURE_VERSION
from training.gate import GatePolicy, Way, way_of
from training.gold import all_gold_labels, draw_weights, gold_dataset, gold_labels
from training.labels import LabelRow, one_per_candidate
from training.snapshot import Dataset, QuestionSides, Side, build_snapshot
from training.snapshot import Snapshot as SnapshotRows
from workbench.documents.embedding import active_space
from workbench.documents.models import Collection
from workbench.labeling.models import Label, LabelRetraction, QuestionPlace
from workbench.labeling.selectors import gold_read, labels_read, question_sides

from .examples import Beat, Featured, featured_labels
from .models import Snapshot, SnapshotKind, SnapshotLabel, TrainingSchedule
from .outlook import GoldOutlook, gold_outlook
from .store import SnapshotLost, dataset_get, dataset_put
from .unmatched import labels_unmatched

Floats = npt.NDArray[np.float64]
logger = structlog.get_logger(__name__)


@dataclass(frozen=True)
class LearningData:
    """Training and gold rows as they stand now: ``gold`` is the holdout, ``all_gold`` also that of questions which
    train. ``estimates`` are the rules' own, by label id."""

    training: SnapshotRows
    gold: Dataset
    all_gold: Dataset
    sides: QuestionSides
    estimates: dict[str, float]
    disputed: int
    without_features: int
    withheld: int
    last_label_id: int

    def yardstick(self, policy: GatePolicy) -> tuple[Way, Dataset]:
        """How the gate is to compare, and on which rows."""
        way = way_of(self.gold, policy)
        return way, self.gold if way == "holdout" else self.all_gold

    def estimates_of(self, rows: Dataset) -> Floats:
        """The rules' estimate of each row, shape (n,)."""
        return np.array([self.estimates[label_id] for label_id in rows.label_ids], dtype=np.float64)


def learning_data(*, beat: Beat = lambda done, total: None) -> LearningData:
    """Reads every label that may be used; computes the feature rows that are missing. Writes nothing else."""
    last_label_id = Label.objects.aggregate(last=Max("pk"))["last"] or 0
    sides = sides_of_all()
    resolution, blind, withheld = labels_read()
    gold = gold_labels(blind, sides=sides, trained_questions=questions_trained())
    all_gold = all_gold_labels(blind)
    featured = featured_labels(_each_once(resolution.winners, gold, all_gold), beat=beat)
    meant = {label_id: found.candidate for label_id, found in featured.items()}
    matched = [row for row in resolution.winners if row.label_id in featured]
    usable = one_per_candidate(matched, meant)
    training = build_snapshot(
        [featured[row.label_id].example for row in usable], sides=sides, feature_version=FEATURE_VERSION
    )
    return LearningData(
        training=training,
        gold=_gold(gold, featured, sides),
        all_gold=_gold(all_gold, featured, sides),
        sides=sides,
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
    outlook: GoldOutlook

    @property
    def has_enough_gold(self) -> bool:
        """Whether there is what the gate demands to compare anything."""
        return self.outlook.way is not None


@dataclass(frozen=True, slots=True)
class Standing:
    """The schedule, how many labels mean no candidate, and the last label, retraction and snapshot: one query."""

    schedule: TrainingSchedule
    unmatched: int
    last: tuple[int, int, int]


def standing_now() -> Standing:
    """How things stand for training. Raises ``TrainingSchedule.DoesNotExist`` before the schedule was first read."""
    schedule = TrainingSchedule.objects.annotate(
        unmatched=_alone(Count("*"), labels_unmatched()),
        label=_alone(Max("pk"), Label.objects),
        retraction=_alone(Max("pk"), LabelRetraction.objects),
        snapshot=_alone(Max("pk"), Snapshot.objects),
    ).get(pk=1)
    return Standing(schedule, schedule.unmatched, (schedule.label, schedule.retraction, schedule.snapshot))


def _alone(figure: Aggregate, rows: QuerySet[Any] | Manager[Any]) -> Coalesce:
    """A figure over all rows as a part of another query; 0 of none."""
    alone = rows.order_by().values(all=Value(1)).annotate(figure=figure).values("figure")
    return Coalesce(Subquery(alone), 0)


def gate_policy() -> GatePolicy:
    """What the gate demands here, as an admin set it."""
    schedule, _made = TrainingSchedule.objects.get_or_create(pk=1)
    return policy_of(schedule)


def policy_of(schedule: TrainingSchedule) -> GatePolicy:
    return GatePolicy(
        min_positives=schedule.min_positives,
        min_negatives=schedule.min_negatives,
        min_questions=schedule.min_questions,
        interval_excludes_zero=schedule.interval_excludes_zero,
    )


def outlook_of(standing: Standing) -> GoldOutlook:
    """What gold is missing, for a page. Reads no label but gold; computed anew when labels or trainings have come."""
    policy, today = policy_of(standing.schedule), timezone.now().date()
    state = f"{standing.last}:{policy.model_dump_json()}:{today}"
    key = f"models:gold:{hashlib.sha256(state.encode()).hexdigest()}"
    found = caches["process"].get(key)
    if not isinstance(found, GoldOutlook):
        sides, blind = sides_known(), gold_read()
        for row in blind:
            sides.add(row.question)
        found = _outlook(
            blind, gold_labels(blind, sides=sides, trained_questions=questions_trained()), sides, policy
        )
        caches["process"].set(key, found, timeout=3600)
    return found


def _outlook(
    blind: Sequence[LabelRow], holdout: Sequence[LabelRow], sides: QuestionSides, policy: GatePolicy
) -> GoldOutlook:
    return gold_outlook(
        holdout=holdout, everything=all_gold_labels(blind), sides=sides, policy=policy, now=timezone.now()
    )


def training_plan(standing: Standing) -> Plan:
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
        unmatched=standing.unmatched,
        outlook=_outlook(blind, gold, sides, policy_of(standing.schedule)),
    )


def sides_of_all() -> QuestionSides:
    """The side of every question; those of an imported gold set are held out, whatever the draw says."""
    return _with_gold_sets(question_sides())


def sides_known() -> QuestionSides:
    """As :func:`sides_of_all`, of the questions taken in so far; for a page, which writes nothing."""
    return _with_gold_sets(
        QuestionSides.of(QuestionPlace.objects.order_by("id").values_list("text", flat=True))
    )


def _with_gold_sets(sides: QuestionSides) -> QuestionSides:
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
    meant = {label_id: found.candidate for label_id, found in featured.items()}
    kept = one_per_candidate([row for row in labels if row.label_id in featured], meant)
    examples = {row.label_id: featured[row.label_id].example for row in kept}
    return gold_dataset(examples, sides=sides, weights=draw_weights(kept))


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


def gold_freeze(data: LearningData, gold: Dataset) -> Snapshot | None:
    """The stored version of the gold rows; None while there are none. Needs a transaction."""
    if not len(gold):
        return None
    return _freeze(gold, kind=SnapshotKind.GOLD, content_hash=gold.digest, last_label_id=data.last_label_id)


def rows_of(snapshot: Snapshot, *, sides: QuestionSides) -> Dataset | None:
    """The frozen rows of a training set, of collections that still contribute, their questions in the groups of now;
    None where they cannot be read back, as those of earlier releases."""
    if not snapshot.rows_hash:
        return None
    try:
        rows = dataset_get(snapshot.rows_hash)
    except SnapshotLost as error:
        logger.warning("snapshot.lost", snapshot=str(snapshot), error=str(error))
        return None
    for text in dict.fromkeys(rows.questions):
        sides.add(text)
    rows = replace(rows, groups=tuple(sides.group(text) for text in rows.questions))
    contributing = set(Collection.objects.filter(contributes_to_training=True).values_list("slug", flat=True))
    return rows.taken(np.flatnonzero([slug in contributing for slug in rows.collections]))


def _freeze(data: Dataset, *, kind: str, content_hash: str, **figures: int) -> Snapshot:
    known = Snapshot.objects.filter(kind=kind, content_hash=content_hash).first()
    if known is not None:
        return known
    dataset_put(data)
    number = Snapshot.objects.filter(kind=kind).aggregate(last=Max("number"))["last"] or 0
    snapshot = Snapshot.objects.create(
        kind=kind,
        number=number + 1,
        content_hash=content_hash,
        rows_hash=data.digest,
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
