"""The gate: a challenger is deployed only when its F1 on the gold holdout is strictly greater.

There is no force switch. Both models are scored on the same rows, each weighing what it stands for
(``training.gold.draw_weights``) and named by their hash; the decision carries both sets of figures and its reasons in
words (learning.md, "The gate"). While the holdout is small both are cross-validated over all gold
(``training.crossfit``), and the interval of the gain decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from scipy.special import ndtri, stdtrit

from arbitration.evaluation.intervals import CONFIDENCE, Interval
from arbitration.protocols import Scorer
from training.metrics import ClassifierMetrics, Floats, Threshold, classifier_metrics, f1_score
from training.snapshot import Dataset

Outcome = Literal["deployed", "kept", "refused"]
#: What both sides are measured on: gold of questions that train nobody, or all gold, each question by models that
#: learned nothing of it.
Way = Literal["holdout", "cross_validation"]


class GatePolicy(BaseModel):
    """What the gate demands besides a greater F1. ``min_positives`` and the like are of the holdout; below them both
    sides are cross-validated, from ``min_cross_positives`` and the like on. ``interval_excludes_zero`` asks that the
    paired bootstrap of the gain lie above zero as a whole; in cross-validation it always must."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    min_positives: int = Field(default=50, ge=1)
    min_negatives: int = Field(default=50, ge=1)
    min_questions: int = Field(default=20, ge=1)
    min_cross_positives: int = Field(default=10, ge=1)
    min_cross_negatives: int = Field(default=10, ge=1)
    min_cross_questions: int = Field(default=10, ge=2)
    max_collection_fall: float = Field(default=0.02, ge=0.0)
    max_ece_rise: float = Field(default=0.05, ge=0.0)
    interval_excludes_zero: bool = False
    resamples: int = Field(default=1000, ge=100)
    seed: int = 0

    def minima(self, way: Way) -> tuple[int, int, int]:
        """Pairs that are evidence, pairs that are none, and questions that a comparison needs."""
        if way == "holdout":
            return self.min_positives, self.min_negatives, self.min_questions
        return self.min_cross_positives, self.min_cross_negatives, self.min_cross_questions


@dataclass(frozen=True, slots=True)
class Contender:
    """A model, or the rules a first model must beat, with its probabilities for the gold rows.

    ``feature_version`` is ``None`` for rules, which read no features. In cross-validation each row has the threshold of
    the model that scored it.
    """

    version: str
    feature_version: int | None
    threshold: Threshold
    probabilities: Floats

    @classmethod
    def of(cls, scorer: Scorer, gold: Dataset) -> Contender:
        """The model's probabilities on the gold rows."""
        return cls(
            scorer.version, scorer.feature_version, scorer.threshold, scorer.probabilities(gold.features)
        )


@dataclass(frozen=True, slots=True)
class Figures:
    """A contender's figures on the gold rows, whole and by collection (F1)."""

    version: str
    metrics: ClassifierMetrics
    f1_by_collection: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class GateDecision:
    """What the gate decided and why. ``gold`` is the hash of the rows both were scored on, ``way`` how; ``gain`` the
    difference of F1 with its paired interval over questions."""

    outcome: Outcome
    reasons: tuple[str, ...]
    gold: str
    champion: Figures | None
    challenger: Figures | None
    gain: Interval | None
    is_first: bool
    way: Way = "holdout"


def way_of(holdout: Dataset, policy: GatePolicy) -> Way:
    """How champion and challenger are to be compared: on the holdout, as soon as it is large enough."""
    return "holdout" if is_enough(gold_counts(holdout), policy.minima("holdout")) else "cross_validation"


def gold_counts(gold: Dataset) -> tuple[int, int, int]:
    """Pairs that are evidence, pairs that are none, and questions."""
    positives = int(gold.labels.sum())
    return positives, len(gold) - positives, len(set(gold.groups))


def is_enough(counts: Sequence[int], minima: Sequence[int]) -> bool:
    """Whether each count reaches its minimum."""
    return all(count >= least for count, least in zip(counts, minima, strict=True))


def decide(
    *,
    gold: Dataset,
    challenger: Contender,
    champion: Contender,
    serving_feature_version: int,
    is_first: bool = False,
    policy: GatePolicy | None = None,
    way: Way = "holdout",
) -> GateDecision:
    """Deploy, keep or refuse. For the first model ever ``champion`` is the rules it would replace.

    A gold set that is too small, or a feature version the serving code does not have, refuses before anything
    is compared.
    """
    policy = policy or GatePolicy()
    obstacles = (
        *gold_missing(gold_counts(gold), policy, way),
        *_foreign_features(challenger.feature_version, serving_feature_version),
    )
    if obstacles:
        return GateDecision("refused", obstacles, gold.digest, None, None, None, is_first, way)
    before, after = _figures(champion, gold), _figures(challenger, gold)
    gain = paired_gain(gold, champion, challenger, policy=policy)
    kept = _no_gain(before, after, gain, policy, way, differing(champion, challenger))
    refused = _regressions(before, after, policy) if not kept else ()
    outcome: Outcome = "kept" if kept else "refused" if refused else "deployed"
    reasons = kept or refused or (_gain_in_words(before, after, gain),)
    return GateDecision(outcome, reasons, gold.digest, before, after, gain, is_first, way)


def gold_missing(counts: Sequence[int], policy: GatePolicy, way: Way) -> tuple[str, ...]:
    """In words what a comparison lacks; empty where nothing does."""
    least = policy.minima(way)
    if is_enough(counts, least):
        return ()
    return (
        f"not enough gold: {counts[0]} positive and {counts[1]} negative pairs from {counts[2]} questions; at least "
        f"{least[0]}, {least[1]} and {least[2]} are needed",
    )


def _foreign_features(version: int | None, serving_version: int) -> tuple[str, ...]:
    if version == serving_version:
        return ()
    return (
        f"the challenger reads feature version {version}, the serving code computes version {serving_version}",
    )


def _figures(contender: Contender, gold: Dataset) -> Figures:
    return Figures(
        version=contender.version,
        metrics=classifier_metrics(
            gold.labels,
            contender.probabilities,
            threshold=contender.threshold,
            questions=gold.questions,
            lists=gold.lists,
            weights=gold.weights,
        ),
        f1_by_collection=_f1_by_collection(contender, gold),
    )


def _f1_by_collection(contender: Contender, gold: Dataset) -> dict[str, float]:
    predicted = contender.probabilities >= contender.threshold
    collections = np.array(gold.collections, dtype=object)
    rows_of = {name: collections == name for name in dict.fromkeys(gold.collections)}
    return {
        name: f1_score(gold.labels[rows], predicted[rows], gold.weights[rows])
        for name, rows in rows_of.items()
    }


def differing(champion: Contender, challenger: Contender) -> int:
    """On how many gold pairs the two decide differently. The others say nothing of which has the greater F1, except
    through how great it is: F1 rises exactly where the sum of 2 * label - F1 of the champion over the pairs that the
    challenger adds is greater than over those that it drops."""
    old, new = (side.probabilities >= side.threshold for side in (champion, challenger))
    return int((old != new).sum())


def _no_gain(
    before: Figures, after: Figures, gain: Interval, policy: GatePolicy, way: Way, differ: int
) -> tuple[str, ...]:
    old, new = before.metrics.f1, after.metrics.f1
    if new == old:
        return (f"F1 is the same, {new:.4f}: a tie keeps {before.version}",)
    if new < old:
        return (f"F1 falls from {old:.4f} to {new:.4f}: no gain over {before.version}",)
    holds_zero = gain.low is None or gain.low <= 0
    if holds_zero and (policy.interval_excludes_zero or way == "cross_validation"):
        why = (
            "with so little gold it must not"
            if way == "cross_validation"
            else "the policy asks that it does not"
        )
        return (
            f"F1 rises from {old:.4f} to {new:.4f}, but {_interval_in_words(gain)} holds zero and {why}: "
            f"too little to replace {before.version}. They decide differently on {differ} of "
            f"{after.metrics.pairs} gold pairs: more such pairs are needed to tell",
        )
    return ()


def _regressions(before: Figures, after: Figures, policy: GatePolicy) -> tuple[str, ...]:
    reasons = [
        f"F1 of collection '{name}' falls from {old:.4f} to {after.f1_by_collection[name]:.4f}, by more than "
        f"{policy.max_collection_fall:.2f}"
        for name, old in before.f1_by_collection.items()
        if old - after.f1_by_collection[name] > policy.max_collection_fall
    ]
    if after.metrics.ece > before.metrics.ece + policy.max_ece_rise:
        reasons.append(
            f"calibration is worse: expected error {after.metrics.ece:.4f} against {before.metrics.ece:.4f}, by more "
            f"than {policy.max_ece_rise:.2f}"
        )
    return tuple(reasons)


def _gain_in_words(before: Figures, after: Figures, gain: Interval) -> str:
    return (
        f"F1 rises from {before.metrics.f1:.4f} ({before.version}) to {after.metrics.f1:.4f} ({after.version}); "
        f"{_interval_in_words(gain)}"
    )


def _interval_in_words(gain: Interval) -> str:
    return f"the 95 % interval of the gain, {gain.low:+.4f} to {gain.high:+.4f} over {gain.n} questions,"


def paired_gain(
    gold: Dataset, champion: Contender, challenger: Contender, *, policy: GatePolicy | None = None
) -> Interval:
    """F1 of the challenger less F1 of the champion, with a paired bootstrap interval over question groups.

    The bootstrap is too narrow where a few questions carry all the difference. It is widened as Student's t is against
    the normal distribution, with the effective number of questions on which both differ (Kish, "Survey Sampling",
    1965, section 8.2) less one as degrees of freedom."""
    policy = policy or GatePolicy()
    numbers: dict[str, int] = {}
    group = np.array([numbers.setdefault(name, len(numbers)) for name in gold.groups], dtype=np.intp)
    old, new = (_counts_by_group(contender, gold, group) for contender in (champion, challenger))
    rng = np.random.default_rng(policy.seed)
    count = len(numbers)
    draws = rng.multinomial(count, np.full(count, 1 / count), size=policy.resamples).astype(np.float64)
    gains = _f1_of_counts(draws @ new) - _f1_of_counts(draws @ old)
    whole = _f1_of_counts(new.sum(axis=0)[None]) - _f1_of_counts(old.sum(axis=0)[None])
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(gains, [tail, 1 - tail])
    value, wider = float(whole[0]), _widening(champion, challenger, gold, group)
    return Interval(value, value - wider * (value - float(low)), value + wider * (float(high) - value), count)


def _widening(champion: Contender, challenger: Contender, gold: Dataset, group: np.ndarray) -> float:
    old, new = (side.probabilities >= side.threshold for side in (champion, challenger))
    differ = np.bincount(group, gold.weights * (old != new))
    if not differ.any():
        return 1.0
    freedom = max(1.0, differ.sum() ** 2 / (differ**2).sum() - 1.0)
    tail = 1 - (1 - CONFIDENCE) / 2
    return float(stdtrit(freedom, tail) / ndtri(tail))


def _counts_by_group(contender: Contender, gold: Dataset, group: np.ndarray) -> Floats:
    """Per group the weights of hits, predicted positives, true positives; shape (groups, 3)."""
    predicted = contender.probabilities >= contender.threshold
    columns = (predicted & (gold.labels == 1), predicted, gold.labels == 1)
    return np.stack([np.bincount(group, column * gold.weights) for column in columns], axis=1)


def _f1_of_counts(counts: Floats) -> Floats:
    total = counts[:, 1] + counts[:, 2]
    return np.asarray(np.divide(2 * counts[:, 0], total, out=np.zeros(len(counts)), where=total > 0))
