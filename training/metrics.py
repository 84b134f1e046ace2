"""How good a classifier is: F1 and its parts, calibration, and the ranking it induces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from arbitration.evaluation.judge import Judgement
from arbitration.evaluation.metrics import ranking_values

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
#: From which probability a pair counts as evidence: for all pairs, or for each, shape (n,).
Threshold = float | Floats

RELIABILITY_BINS = 10
UNCERTAIN_BAND = (0.40, 0.60)


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Pairs whose probability lies in [low, high): how many, their weight, what was predicted, what was true."""

    low: float
    high: float
    count: int
    weight: float
    mean_probability: float
    share_positive: float


@dataclass(frozen=True, slots=True)
class ClassifierMetrics:
    """Figures of one model on one set of labelled pairs. ``roc_auc`` is ``None`` when only one class is there;
    ``mrr``, ``p_at_1`` and ``ndcg_at_5`` average the questions that have a positive pair."""

    pairs: int
    positives: int
    questions: int
    threshold: float
    f1: float
    precision: float
    recall: float
    roc_auc: float | None
    brier: float
    ece: float
    uncertain_share: float
    mrr: float | None
    p_at_1: float | None
    ndcg_at_5: float | None

    def as_json(self) -> dict[str, float | int | None]:
        """The figures by name."""
        return asdict(self)


def classifier_metrics(
    labels: Labels,
    probabilities: Floats,
    *,
    threshold: Threshold,
    questions: Sequence[str],
    lists: Sequence[str] | None = None,
    weights: Floats | None = None,
) -> ClassifierMetrics:
    """All figures; ``questions[i]`` names the question of pair i, ``lists[i]`` the candidate list it is ranked in
    (the question's, if not given). ``weights[i]`` says for how many pairs it stands, in all but counts, ROC AUC and
    ranking. Of several thresholds the figures name the mean. Raises ``ValueError`` without pairs."""
    from sklearn.metrics import brier_score_loss, roc_auc_score

    if len(labels) == 0:
        raise ValueError("no labelled pairs to measure on")
    precision, recall = precision_recall(labels, probabilities >= threshold, weights)
    low, high = UNCERTAIN_BAND
    mixed = 0 < labels.sum() < len(labels)
    return ClassifierMetrics(
        pairs=len(labels),
        positives=int(labels.sum()),
        questions=len(set(questions)),
        threshold=float(np.mean(threshold)),
        f1=f1_score(labels, probabilities >= threshold, weights),
        precision=precision,
        recall=recall,
        roc_auc=float(roc_auc_score(labels, probabilities)) if mixed else None,
        brier=float(brier_score_loss(labels, probabilities, sample_weight=weights, pos_label=1)),
        ece=expected_calibration_error(labels, probabilities, weights),
        uncertain_share=float(np.average((probabilities > low) & (probabilities < high), weights=weights)),
        **_ranking(labels, probabilities, questions if lists is None else lists),
    )


def precision_recall(
    labels: Labels, predicted: npt.NDArray[np.bool_], weights: Floats | None = None
) -> tuple[float, float]:
    """Precision and recall of the positive class; 0 where undefined."""
    hits, accepted, positive = confusion_sums(labels, predicted, weights)
    return (hits / accepted if accepted else 0.0, hits / positive if positive else 0.0)


def f1_score(labels: Labels, predicted: npt.NDArray[np.bool_], weights: Floats | None = None) -> float:
    """2 TP / (2 TP + FP + FN); 0 when nothing is positive and nothing predicted."""
    hits, accepted, positive = confusion_sums(labels, predicted, weights)
    return 2 * hits / (accepted + positive) if accepted + positive else 0.0


def confusion_sums(
    labels: Labels, predicted: npt.NDArray[np.bool_], weights: Floats | None
) -> tuple[float, float, float]:
    """Weights of the true positives, of the predicted and of all positives."""
    each = np.ones(len(labels)) if weights is None else weights
    positive = labels == 1
    return float(each[predicted & positive].sum()), float(each[predicted].sum()), float(each[positive].sum())


def best_threshold(labels: Labels, probabilities: Floats) -> float:
    """The threshold with the best F1, half-way to the next lower probability; .5 without positives."""
    if not labels.any():
        return 0.5
    order = np.argsort(-probabilities, kind="stable")
    hits = np.cumsum(labels[order])
    f1 = 2 * hits / (np.arange(1, len(labels) + 1) + labels.sum())
    ordered = probabilities[order]
    last_of_ties = np.append(ordered[:-1] != ordered[1:], True)
    cut = int(np.argmax(np.where(last_of_ties, f1, -1.0)))
    below = float(ordered[cut + 1]) if cut + 1 < len(ordered) else 0.0
    return (float(ordered[cut]) + below) / 2


def reliability_curve(
    labels: Labels, probabilities: Floats, weights: Floats | None = None
) -> list[ReliabilityBin]:
    """Ten bins of equal width; empty ones are left out."""
    each = np.ones(len(labels)) if weights is None else weights
    number = np.minimum((probabilities * RELIABILITY_BINS).astype(np.intp), RELIABILITY_BINS - 1)
    return [
        ReliabilityBin(
            low=bin_number / RELIABILITY_BINS,
            high=(bin_number + 1) / RELIABILITY_BINS,
            count=int((number == bin_number).sum()),
            weight=float(each[number == bin_number].sum()),
            mean_probability=float(
                np.average(probabilities[number == bin_number], weights=each[number == bin_number])
            ),
            share_positive=float(
                np.average(labels[number == bin_number], weights=each[number == bin_number])
            ),
        )
        for bin_number in np.unique(number)
    ]


def expected_calibration_error(labels: Labels, probabilities: Floats, weights: Floats | None = None) -> float:
    """Mean distance of prediction and truth over the bins, weighted by their size."""
    curve = reliability_curve(labels, probabilities, weights)
    whole = sum(b.weight for b in curve)
    return sum(b.weight * abs(b.mean_probability - b.share_positive) for b in curve) / whole


def _ranking(labels: Labels, probabilities: Floats, lists: Sequence[str]) -> dict[str, float | None]:
    judged = ranked_judgements(labels, probabilities, lists)
    values = ranking_values(judged)
    wanted = {"mrr": "MRR", "p_at_1": "P@1", "ndcg_at_5": "NDCG@5"}
    return {name: float(values[key].mean()) if judged else None for name, key in wanted.items()}


def ranked_judgements(labels: Labels, scores: Floats, lists: Sequence[str]) -> list[Judgement]:
    """Each list's pairs by descending score, as a judged list; lists without a positive are left out."""
    numbers: dict[str, int] = {}
    number = np.array([numbers.setdefault(name, len(numbers)) for name in lists], dtype=np.intp)
    order = np.lexsort((-scores, number))
    ends = np.flatnonzero(np.append(np.diff(number[order]) != 0, True)) + 1
    judged = []
    for ranked in np.split(labels[order], ends[:-1]):
        positives = int(ranked.sum())
        if positives:
            unit = iter(range(positives))
            judged.append(
                Judgement(tuple((next(unit),) if label else () for label in ranked), (1,) * positives)
            )
    return judged
