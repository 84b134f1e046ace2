"""Trains the reranker: networks are compared on unseen questions, the best F1 is the challenger; a linear model is
measured beside them and never serves."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from arbitration.evaluation.metrics import ndcg_at_10
from arbitration.triage import blended
from training.fitting import BASELINE, Architecture, Split, TrainingConfig, fit, grouped_splits
from training.metrics import ClassifierMetrics, best_threshold, classifier_metrics, ranked_judgements
from training.reranker import FittedModel, Floats, Reranker
from training.snapshot import Dataset

#: Weights of the cosine tried for the final ranking; 0 ranks by probability alone, .4 is ARF's.
BLEND_WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4)

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One architecture after its fit; ``validation`` are its figures on questions it had not seen, ``unseen`` the
    calibrated probability of each training row by a classifier that had not seen its question, shape (n,)."""

    architecture: Architecture
    model: FittedModel
    threshold: float
    validation: ClassifierMetrics
    blend_weight: float
    seconds: float
    unseen: Floats


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """The challenger and all it was compared with, in the order tried."""

    chosen: Candidate
    candidates: tuple[Candidate, ...]


def train(
    data: Dataset, config: TrainingConfig | None = None, progress: Progress | None = None
) -> TrainingResult:
    """Fit every architecture of the configuration; of the networks the best grouped F1 wins, the simpler one on a tie.

    ``progress`` is told (architecture, number done, number in all). The same data and configuration give the
    same model. Raises :class:`~training.fitting.NotEnoughData`.
    """
    config = config or TrainingConfig()
    splits = grouped_splits(data, config)
    candidates: list[Candidate] = []
    for done, architecture in enumerate(config.architectures):
        if progress is not None:
            progress(architecture, done, len(config.architectures))
        candidates.append(_candidate(architecture, data, splits, config))
    networks = [candidate for candidate in candidates if candidate.architecture != BASELINE]
    chosen = max(networks, key=lambda candidate: candidate.validation.f1)
    return TrainingResult(chosen, tuple(candidates))


def _candidate(
    architecture: Architecture, data: Dataset, splits: Sequence[Split], config: TrainingConfig
) -> Candidate:
    started = time.perf_counter()
    model, unseen = fit(architecture, data, splits, config)
    probabilities = Reranker(model).calibrated(unseen)
    threshold = best_threshold(data.labels, probabilities)
    return Candidate(
        architecture=architecture,
        model=model,
        threshold=threshold,
        validation=classifier_metrics(
            data.labels, probabilities, threshold=threshold, questions=data.questions, lists=data.lists
        ),
        blend_weight=choose_blend_weight(data, probabilities),
        seconds=time.perf_counter() - started,
        unseen=probabilities,
    )


def choose_blend_weight(data: Dataset, probabilities: Floats) -> float:
    """The weight of :data:`~arbitration.triage.BLEND_FEATURE` in the final ranking with the best NDCG@10; the least on
    a tie.

    ``probabilities`` must be those of questions the model had not seen. The first hit alone (MRR) would favour
    weights that lose later evidence (ObliQA, .1 instead of 0: MRR +.002, R@10 -.007).
    """

    def quality(weight: float) -> float:
        scores = blended(data.features, probabilities, weight=weight)
        judged = ranked_judgements(data.labels, scores, data.lists)
        return float(ndcg_at_10(judged).mean()) if judged else 0.0

    return max(BLEND_WEIGHTS, key=quality)
