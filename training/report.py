"""What a model page shows of one model on one set of labelled pairs, as plain numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from training.metrics import UNCERTAIN_BAND, Threshold, classifier_metrics, f1_score, reliability_curve
from training.snapshot import Dataset

Floats = npt.NDArray[np.float64]

CURVE_POINTS = 40
IMPORTANCE_ROWS = 4000
IMPORTANCE_REPEATS = 3


class ModelReport(BaseModel):
    """Figures and curves. ``reliability`` holds (mean probability, share positive, count) per bin; ``curve``
    (recall, precision) from the strictest threshold on; ``confusion`` counts per judged role how many pairs were
    rejected, uncertain and accepted; ``importance`` is the fall of ROC AUC when a feature is shuffled."""

    model_config = ConfigDict(frozen=True)

    rows_hash: str
    metrics: dict[str, Any]
    reliability: tuple[tuple[float, float, int], ...]
    curve: tuple[tuple[float, float], ...]
    confusion: dict[str, tuple[int, int, int]]
    by_collection: dict[str, dict[str, float]]
    importance: dict[str, float] = {}


def model_report(
    data: Dataset,
    probabilities: Floats,
    *,
    threshold: Threshold,
    importance: dict[str, float] | None = None,
    weights: Floats | None = None,
) -> ModelReport:
    """The report of a model with these probabilities, shape (n,); ``weights`` are those of drawn gold
    (:func:`training.gold.draw_weights`). Raises ``ValueError`` without pairs."""
    metrics = classifier_metrics(
        data.labels,
        probabilities,
        threshold=threshold,
        questions=data.questions,
        lists=data.lists,
        weights=weights,
    )
    return ModelReport(
        rows_hash=data.digest,
        metrics=metrics.as_json(),
        reliability=tuple(
            (b.mean_probability, b.share_positive, b.count)
            for b in reliability_curve(data.labels, probabilities, weights)
        ),
        curve=pr_curve(data, probabilities),
        confusion=confusion_by_role(data.roles, probabilities),
        by_collection=_by_collection(data, probabilities, threshold, weights),
        importance=importance or {},
    )


def pr_curve(data: Dataset, probabilities: Floats) -> tuple[tuple[float, float], ...]:
    """At most ``CURVE_POINTS`` points (recall, precision), recall rising; empty without positives."""
    from sklearn.metrics import precision_recall_curve

    if not data.labels.any():
        return ()
    precision, recall, _ = precision_recall_curve(data.labels, probabilities)
    order = np.linspace(len(recall) - 1, 0, min(CURVE_POINTS, len(recall))).round().astype(np.intp)
    return tuple((float(recall[i]), float(precision[i])) for i in order)


def confusion_by_role(roles: Sequence[str], probabilities: Floats) -> dict[str, tuple[int, int, int]]:
    """Per judged role: pairs at or below the uncertain band, inside it, at or above it."""
    low, high = UNCERTAIN_BAND
    table: dict[str, list[int]] = {}
    for role, probability in zip(roles, probabilities, strict=False):
        counts = table.setdefault(role, [0, 0, 0])
        counts[0 if probability <= low else 2 if probability >= high else 1] += 1
    return {role: (counts[0], counts[1], counts[2]) for role, counts in table.items()}


def _by_collection(
    data: Dataset, probabilities: Floats, threshold: Threshold, weights: Floats | None
) -> dict[str, dict[str, float]]:
    collections, predicted = np.array(data.collections, dtype=object), probabilities >= threshold
    found: dict[str, dict[str, float]] = {}
    for name in dict.fromkeys(data.collections):
        rows = collections == name
        found[name] = {
            "f1": f1_score(data.labels[rows], predicted[rows], None if weights is None else weights[rows]),
            "pairs": float(rows.sum()),
        }
    return found


def permutation_importance(
    data: Dataset,
    score: Callable[[Floats], Floats],
    names: Sequence[str],
    *,
    seed: int = 0,
) -> dict[str, float]:
    """Mean fall of ROC AUC when one feature's values are dealt out anew among the rows, by feature name.

    ``score`` turns feature rows (n, f) into probabilities (n,). At most ``IMPORTANCE_ROWS`` rows are used. Empty
    when only one class is there. (Breiman, *Random Forests*, 2001, section 10.)
    """
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(data))[:IMPORTANCE_ROWS]
    features, labels = data.features[rows], data.labels[rows]
    if not 0 < labels.sum() < len(labels):
        return {}
    whole = roc_auc_score(labels, score(features))
    falls: dict[str, float] = {}
    for column, name in enumerate(names):
        shuffled = features.copy()
        drops = []
        for _ in range(IMPORTANCE_REPEATS):
            shuffled[:, column] = rng.permutation(features[:, column])
            drops.append(whole - roc_auc_score(labels, score(shuffled)))
        falls[name] = float(np.mean(drops))
    return falls
