"""Cross-validation by question over gold, for as long as gold is too small to be held out.

A model of the same making is trained once per part of the gold questions, on all its rows but those of that part's
questions, and scores them: no pair is scored by a model that learned anything of its question (Stone, "Cross-validatory
choice and assessment of statistical predictions", Journal of the Royal Statistical Society B 36, 1974).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from training.fitting import Architecture, TrainingConfig, deal_folds, fit, grouped_splits
from training.gate import Contender
from training.metrics import best_threshold
from training.reranker import Floats, Reranker
from training.snapshot import Dataset

FOLDS = 5


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is made: from which rows, as what, with which configuration."""

    data: Dataset
    architecture: Architecture
    config: TrainingConfig


def cross_fitted(recipe: Recipe, gold: Dataset, *, version: str, feature_version: int) -> Contender:
    """The model of this making with its probability for each gold row, and the threshold of the part that scored it.

    Rows and gold must name question groups alike. Where none of a part's questions is among the rows, that part is
    scored by the whole model. Raises :class:`~training.fitting.NotEnoughData` where too little is left to train on.
    """
    parts = deal_folds(gold, folds=min(FOLDS, len(set(gold.groups))), seed=recipe.config.seed)
    groups = np.array(recipe.data.groups, dtype=object)
    gold_groups = np.array(gold.groups, dtype=object)
    probabilities, thresholds = np.zeros(len(gold)), np.zeros(len(gold))
    known: dict[bytes, tuple[Reranker, float]] = {}
    for part in np.unique(parts):
        asked = parts == part
        kept = ~np.isin(groups, gold_groups[asked])
        if kept.tobytes() not in known:
            known[kept.tobytes()] = _made(recipe, kept)
        made = known[kept.tobytes()]
        probabilities[asked] = made[0].probabilities(gold.features[asked])
        thresholds[asked] = made[1]
    return Contender(version, feature_version, thresholds, probabilities)


def _made(recipe: Recipe, kept: np.ndarray) -> tuple[Reranker, float]:
    data = recipe.data.taken(np.flatnonzero(kept))
    model, unseen = fit(recipe.architecture, data, grouped_splits(data, recipe.config), recipe.config)
    reranker = Reranker(model)
    calibrated: Floats = reranker.calibrated(unseen)
    return reranker, best_threshold(data.labels, calibrated)
