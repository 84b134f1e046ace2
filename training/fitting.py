"""Fits one architecture: scaler, classifiers and isotonic calibration, grouped by question.

Per fold the classifiers are fitted on the other folds' questions and asked about the fold's own; these answers about
unseen questions carry calibration, threshold and comparison, so they come from as many classifiers as will serve. The
classifiers that are kept are fitted on all rows, which ranks better than averaging the folds' (measured on ObliQA: MRR
.757 against .754).
"""

from __future__ import annotations

import hashlib
import math
import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, field_validator
from threadpoolctl import threadpool_limits

from training.reranker import FittedModel, Floats
from training.snapshot import Dataset

Architecture = Literal["logistic", "mlp-64-32", "mlp-128-64-32"]
ARCHITECTURES: tuple[Architecture, ...] = ("logistic", "mlp-64-32", "mlp-128-64-32")
#: Stands beside the networks on a model's card and never serves.
BASELINE: Architecture = "logistic"
_HIDDEN: dict[Architecture, tuple[int, ...]] = {"mlp-64-32": (64, 32), "mlp-128-64-32": (128, 64, 32)}

Rows = npt.NDArray[np.intp]
Split = tuple[Rows, Rows]


class NotEnoughData(ValueError):
    """The snapshot is too small to train on; the message says what is missing."""


class TrainingConfig(BaseModel):
    """Everything besides the data that a training depends on.

    ``members`` networks with different seeds are averaged; a logistic regression has one. A network passes over the
    rows ``epochs`` times, and over few rows more often: until it has made ``steps`` steps, at most ``most_epochs``
    times. Few rows make small batches (:meth:`batch_for`), or so few passes would be no more than as many steps.
    Measured on ObliQA, MRR of one network: 20,000 rows need 600 steps (.72 against .70 after 160) as long as the
    weights are held down (``weight_decay`` 1 instead of .01), which gains on all rows too (.802 against .799).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    architectures: tuple[Architecture, ...] = ARCHITECTURES
    folds: int = Field(default=3, ge=2, le=10)
    members: int = Field(default=2, ge=1, le=10)
    seed: int = 0
    epochs: int = Field(default=8, ge=1)
    steps: int = Field(default=600, ge=1)
    most_epochs: int = Field(default=32, ge=1)
    batch_size: int = Field(default=1024, ge=1)
    least_batch: int = Field(default=32, ge=1)
    learning_rate: float = Field(default=2e-3, gt=0)
    weight_decay: float = Field(default=1.0, ge=0)
    min_positives: int = Field(default=10, ge=1)

    @field_validator("architectures")
    @classmethod
    def _has_a_network(cls, architectures: tuple[Architecture, ...]) -> tuple[Architecture, ...]:
        if not set(architectures) - {BASELINE}:
            raise ValueError("name at least one network: the linear model is a baseline and never serves")
        return architectures

    def batch_for(self, rows: int) -> int:
        """Rows a step: a sixteenth of all, between ``least_batch`` and ``batch_size``. scikit-learn divides the weight
        decay by it, so that fewer rows hold the weights down the more, as a prior does."""
        return min(self.batch_size, max(self.least_batch, rows // 16), rows)

    def epochs_for(self, rows: int) -> int:
        """Passes over so many rows."""
        steps_each = math.ceil(rows / self.batch_for(rows))
        return max(self.epochs, min(math.ceil(self.steps / steps_each), self.most_epochs))

    @property
    def digest(self) -> str:
        """SHA-256 over all values; with the snapshot's hash it names a training."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


def grouped_splits(data: Dataset, config: TrainingConfig) -> list[Split]:
    """(training rows, validation rows) per fold; a question group is on one side only, and every fold has both
    classes. Raises :class:`NotEnoughData` where that cannot be."""
    positives = int(data.labels.sum())
    negatives = len(data) - positives
    if min(positives, negatives) < config.min_positives:
        raise NotEnoughData(
            f"{positives} positive and {negatives} negative pairs; at least {config.min_positives} of each are "
            "needed to train. Label more pairs."
        )
    fold_of_row = deal_folds(data, folds=config.folds, seed=config.seed)
    splits = [
        (np.flatnonzero(fold_of_row != fold), np.flatnonzero(fold_of_row == fold))
        for fold in range(config.folds)
    ]
    if any(len(np.unique(data.labels[part])) < 2 for split in splits for part in split):
        raise NotEnoughData(
            f"the positive pairs come from too few questions to make {config.folds} parts of them. "
            "Label pairs of more questions."
        )
    return splits


def deal_folds(data: Dataset, *, folds: int, seed: int) -> Rows:
    """The fold of each row: groups dealt out by their number of positives, then of rows, so that folds are alike; ties
    by hash."""
    numbers: dict[str, int] = {}
    group = np.array([numbers.setdefault(name, len(numbers)) for name in data.groups], dtype=np.intp)
    positives = np.bincount(group, data.labels)
    rows = np.bincount(group)
    keys = [hashlib.sha256(f"{seed}:{name}".encode()).hexdigest() for name in numbers]
    order = sorted(range(len(keys)), key=lambda g: (-positives[g], -rows[g], keys[g]))
    fold_of_group = np.zeros(len(keys), dtype=np.intp)
    loads = [(0.0, 0)] * folds
    for g in order:
        lightest = loads.index(min(loads))
        fold_of_group[g] = lightest
        loads[lightest] = (loads[lightest][0] + positives[g], loads[lightest][1] + int(rows[g]))
    return np.asarray(fold_of_group[group])


def fit(
    architecture: Architecture, data: Dataset, splits: Sequence[Split], config: TrainingConfig
) -> tuple[FittedModel, Floats]:
    """The fitted model, and each row's calibrated-to-be probability by classifiers that have not seen its
    question. Fits run side by side, one core each: small matrices gain nothing from more."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.isotonic import IsotonicRegression
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(data.features, sample_weight=data.weights)
    scaled = scaler.transform(data.features)
    everything = np.arange(len(data))
    members = 1 if architecture == "logistic" else config.members
    parts = [*(rows for rows, _ in splits), everything]
    jobs = [(config.seed + member, rows) for rows in parts for member in range(members)]

    def run(job: tuple[int, Rows]) -> Any:
        seed, rows = job
        classifier = _classifier(architecture, config, seed, len(rows))
        return classifier.fit(scaled[rows], data.labels[rows], sample_weight=data.weights[rows])

    workers = ThreadPoolExecutor(max_workers=os.cpu_count() or 1)
    with threadpool_limits(1), workers, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of epochs is chosen, not reached
        fitted = list(workers.map(run, jobs))
    unseen = np.zeros(len(data))
    for number, (_, validation) in enumerate(splits):
        for classifier in fitted[number * members : (number + 1) * members]:
            unseen[validation] += classifier.predict_proba(scaled[validation])[:, 1] / members
    calibrator = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    calibrator.fit(unseen, data.labels, sample_weight=data.weights)
    return FittedModel(scaler, tuple(fitted[len(splits) * members :]), calibrator), unseen


def _classifier(architecture: Architecture, config: TrainingConfig, seed: int, rows: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    if architecture == "logistic":
        return LogisticRegression(max_iter=1000, random_state=seed)
    epochs = config.epochs_for(rows)
    return MLPClassifier(
        _HIDDEN[architecture],
        alpha=config.weight_decay,
        batch_size=config.batch_for(rows),
        learning_rate_init=config.learning_rate,
        max_iter=epochs,
        n_iter_no_change=epochs,
        random_state=seed,
    )
