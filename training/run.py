"""Trains a model in one step: what the monthly job, ``evaluate --train-on`` and the seed command share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from arbitration.evaluation.question_groups import question_groups, question_hash
from arbitration.features import FEATURE_NAMES, FEATURE_VERSION, MEASURED_FEATURES
from training.artifacts import Artifact, Manifest, model_version, pack
from training.fitting import TrainingConfig
from training.scorer import RerankerScorer, open_scorer
from training.snapshot import Dataset, Snapshot
from training.trainer import Candidate, Progress, TrainingResult, train

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A trained and packed model with the comparison it came from."""

    artifact: Artifact
    scorer: RerankerScorer
    result: TrainingResult


def train_model(
    snapshot: Snapshot,
    *,
    config: TrainingConfig | None = None,
    embedding_space: str | None = None,
    progress: Progress | None = None,
) -> TrainedModel:
    """Train on a snapshot and pack the winner. Raises :class:`~training.fitting.NotEnoughData`."""
    config = config or TrainingConfig()
    names = _names_measured(snapshot.training)
    data = replace(snapshot.training, features=snapshot.training.features[:, : len(names)])
    result = train(data, config, progress)
    manifest = _manifest(snapshot, result.chosen, config, embedding_space, names)
    artifact = pack(result.chosen.model, manifest)
    return TrainedModel(artifact, open_scorer(artifact), result)


def _names_measured(data: Dataset) -> tuple[str, ...]:
    """The features that the labels speak of: the optional ones only where somebody measured them, so that a model never
    learns from a column of zeros and serves an installation without them."""
    optional = data.features[:, len(MEASURED_FEATURES) :]
    return FEATURE_NAMES if optional.any() else MEASURED_FEATURES


def _manifest(
    snapshot: Snapshot,
    chosen: Candidate,
    config: TrainingConfig,
    embedding_space: str | None,
    names: tuple[str, ...],
) -> Manifest:
    questions = sorted({question_hash(text) for text in snapshot.training.questions})
    return Manifest(
        version=model_version(snapshot_hash=snapshot.content_hash, config_digest=config.digest),
        architecture=chosen.architecture,
        feature_version=snapshot.feature_version,
        feature_names=names,
        threshold=chosen.threshold,
        blend_weight=chosen.blend_weight,
        embedding_space=embedding_space,
        snapshot_hash=snapshot.content_hash,
        config=config.model_dump(mode="json"),
        metrics={"validation": chosen.validation.as_json()},
        questions=tuple(questions),
    )


@dataclass(frozen=True, slots=True)
class LabelledPool:
    """One question's feature rows and labels, as a labelled set gives them."""

    question: str
    features: Floats
    labels: Sequence[bool]
    collection: str = ""
    document: str = ""


def pools_snapshot(pools: Sequence[LabelledPool]) -> Snapshot:
    """A snapshot of labelled pools, near-duplicate questions in one group; nothing is held out: the caller tests
    on other questions."""
    groups = question_groups([pool.question for pool in pools])
    sizes = [len(pool.labels) for pool in pools]
    rows = [(pool, groups[number], row) for number, pool in enumerate(pools) for row in range(sizes[number])]
    features = [pool.features for pool in pools if len(pool.labels)]
    data = Dataset(
        features=np.concatenate(features) if features else np.zeros((0, len(FEATURE_NAMES))),
        labels=np.array([label for pool in pools for label in pool.labels], dtype=np.int64),
        weights=np.ones(len(rows)),
        groups=tuple(f"g{group}" for _, group, _ in rows),
        questions=tuple(pool.question for pool, _, _ in rows),
        collections=tuple(pool.collection for pool, _, _ in rows),
        lists=tuple(f"{question_hash(pool.question)}|{pool.document}" for pool, _, _ in rows),
        label_ids=tuple(f"{question_hash(pool.question)}|{pool.document}:{row}" for pool, _, row in rows),
    )
    return Snapshot(data, FEATURE_VERSION, held_out=0, excluded=0)


def train_on_pools(
    pools: Sequence[LabelledPool],
    *,
    config: TrainingConfig | None = None,
    embedding_space: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> TrainedModel:
    """A scratch model from labelled pools, never deployed."""
    return train_model(
        pools_snapshot(pools), config=config, embedding_space=embedding_space, progress=progress
    )
