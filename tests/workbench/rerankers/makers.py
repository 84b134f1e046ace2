"""Labels with feature rows, made without detection: what a learning installation has after some months."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from arbitration.contracts import Role
from arbitration.evaluation.question_groups import question_hash
from arbitration.features import FEATURE_NAMES, FEATURE_VERSION
from tests.training.makers import question
from training.fitting import TrainingConfig
from training.labels import LabelSource
from workbench.accounts.models import User
from workbench.documents.embedding import active_space
from workbench.documents.models import Collection, Document
from workbench.labeling.models import Label, LabelImport
from workbench.rerankers.models import FeatureRow, ModelVersion, Snapshot, TrainingRun
from workbench.rerankers.services import training_claimed_here
from workbench.rerankers.trainings import run_training

#: One small architecture: what these tests are about is not how well it learns.
QUICK = TrainingConfig(architectures=("mlp-64-32",), members=1, epochs=3, steps=150)
#: As many steps as ordinary trainings make, for what depends on a small difference.
THOROUGH = QUICK.model_copy(update={"steps": 600})
PAIRS = 6


@dataclass(frozen=True, slots=True)
class Truth:
    """A pair, whether it is evidence, and what the engine saw of it."""

    question: str
    number: int
    label: int
    features: tuple[float, ...]
    estimate: float


#: Columns of noise beside the one that tells; more of them only make a few hundred pairs too few.
MEANINGLESS = 38


def truths(numbers: Iterable[int], *, noise: float = 0.4, seed: int = 5) -> list[Truth]:
    """``PAIRS`` pairs of each question, two of them evidence; the first feature tells them apart but for noise. The
    rules know less: their estimate is half chance."""
    made = []
    for number in numbers:
        rng = np.random.default_rng([seed, number])
        for pair in range(PAIRS):
            label = int(pair < 2)
            features = np.zeros(len(FEATURE_NAMES))
            features[:MEANINGLESS] = rng.normal(0.0, 1.0, MEANINGLESS)
            features[0] = label + rng.normal(0.0, noise)
            estimate = float(np.clip(0.25 + 0.2 * label + rng.normal(0.0, 0.25), 0.0, 1.0))
            made.append(Truth(question(number), pair, label, tuple(features), estimate))
    return made


@dataclass
class World:
    """A collection with a document, and people who judge."""

    collection: Collection
    document: Document
    person: User

    def label(
        self,
        pairs: Sequence[Truth],
        *,
        source: LabelSource = LabelSource.ANNOTATOR,
        flip: Iterable[int] = (),
        blind: bool = False,
        judge: str = "imported",
        gold: LabelImport | None = None,
    ) -> list[Label]:
        """Labels of the pairs, those at the positions of ``flip`` the wrong way round, with their feature rows."""
        wrong = set(flip)
        labels = Label.objects.bulk_create(
            self._label(pair, position in wrong, source, blind, judge, gold)
            for position, pair in enumerate(pairs)
        )
        FeatureRow.objects.bulk_create(
            FeatureRow(
                label=label,
                feature_version=FEATURE_VERSION,
                embedding_space=active_space().name,
                candidate_list="made",
                values=list(pair.features),
                estimate=pair.estimate,
            )
            for label, pair in zip(labels, pairs, strict=True)
        )
        return labels

    def gold(self, pairs: Sequence[Truth]) -> list[Label]:
        """An imported gold set of these pairs."""
        digest = hashlib.sha256(repr([pair.question for pair in pairs]).encode()).hexdigest()
        load = LabelImport.objects.create(
            collection=self.collection,
            file_name="gold.csv",
            sha256=digest,
            source=LabelSource.ANNOTATOR.value,
            is_gold=True,
            rows_read=len(pairs),
            labels_made=len(pairs),
            imported_by=self.person,
        )
        return self.label(pairs, blind=True, gold=load)

    def _label(
        self,
        pair: Truth,
        wrong: bool,
        source: LabelSource,
        blind: bool,
        judge: str,
        gold: LabelImport | None,
    ) -> Label:
        evidence = bool(pair.label) != wrong
        role = Role.PRIMARY if evidence else Role.DISCARDED
        adjudicated = source is LabelSource.ADJUDICATED
        return Label(
            collection=self.collection,
            question=pair.question,
            question_hash=question_hash(pair.question),
            document=self.document,
            page_start=1,
            line_start=pair.number + 1,
            page_end=1,
            line_end=pair.number + 1,
            text_hash=hashlib.sha256(f"{pair.question} {pair.number}".encode()).hexdigest(),
            role=role.value,
            binary_label=role.binary_label,
            source=source.value,
            weight=source.weight,
            person=self.person if adjudicated else None,
            judge_name="" if adjudicated else judge,
            blind=blind,
            label_import=gold,
        )


def retrained(actor: User, config: TrainingConfig = QUICK) -> TrainingRun:
    """A whole training in this process."""
    run = training_claimed_here(actor=actor, config=config)
    run_training(run_id=run.pk)
    return TrainingRun.objects.select_related("decision", "challenger", "snapshot").get(pk=run.pk)


def any_model() -> ModelVersion:
    """A model's row, without a file."""
    made, _new = ModelVersion.objects.get_or_create(
        number=1,
        defaults={
            "digest": "0" * 12,
            "origin": "seed",
            "architecture": "logistic",
            "feature_version": FEATURE_VERSION,
            "threshold": 0.5,
            "manifest": {"feature_names": [], "libraries": {}},
        },
    )
    return made


def any_snapshot() -> Snapshot:
    """A frozen training set's row, without its rows."""
    made, _new = Snapshot.objects.get_or_create(
        kind="training",
        number=1,
        defaults={
            "content_hash": "0" * 64,
            "feature_version": FEATURE_VERSION,
            "embedding_space": "test",
            "rows": 2,
            "positives": 1,
            "question_count": 1,
        },
    )
    return made


def any_training() -> TrainingRun:
    """A queued training's row."""
    run = TrainingRun.objects.filter(state="queued").first()
    return run or TrainingRun.objects.create(trigger="person", requested_by=User.objects.system())
