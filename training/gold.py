"""Gold: what both models are measured on.

Human judgments given blind; where two annotators disagree and nobody has adjudicated, the pair is not gold. The gold
holdout is that of holdout questions, and of no question (nor near-duplicate of one) that any model was ever trained on:
it never trains. The rest of gold does, and measures in cross-validation alone.

Blind cards are drawn with unequal chances (``training.draw``); each counts by the inverse of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from training.labels import LabelRow, resolve
from training.snapshot import Dataset, Example, QuestionSides, Side


def may_be_gold(label: LabelRow) -> bool:
    """Whether a judgment may stand in the yardstick: by a person, and without sight of any machine's verdict."""
    return label.source.is_human and label.blind


def gold_labels(
    labels: Iterable[LabelRow], *, sides: QuestionSides, trained_questions: Iterable[str] = ()
) -> tuple[LabelRow, ...]:
    """The winning gold-worthy labels of holdout questions, ordered by label id.

    Every label's question must be known to ``sides``. ``trained_questions`` are the texts every earlier snapshot
    trained on: a later question can link such a group to the holdout, and a yardstick must not know its model.
    """
    spent = {sides.group(text) for text in trained_questions if sides.add(text)}
    worthy = [
        label
        for label in labels
        if may_be_gold(label)
        and sides.side(label.question) is Side.HOLDOUT
        and sides.group(label.question) not in spent
    ]
    return tuple(sorted(resolve(worthy).winners, key=lambda label: label.label_id))


def all_gold_labels(labels: Iterable[LabelRow]) -> tuple[LabelRow, ...]:
    """The winning gold-worthy labels, whatever side their questions are on, ordered by label id."""
    worthy = [label for label in labels if may_be_gold(label)]
    return tuple(sorted(resolve(worthy).winners, key=lambda label: label.label_id))


def draw_weights(labels: Iterable[LabelRow]) -> dict[str, float]:
    """By label id, for how many cards each stands: the inverse of its chance (Horvitz and Thompson, "A generalization
    of sampling without replacement from a finite universe", Journal of the American Statistical Association 47, 1952),
    scaled to a mean of 1 in each collection, so that a collection that draws fewer cards does not outvote the others.
    What was not drawn stands for itself."""
    inverse: dict[str, dict[str, float]] = defaultdict(dict)
    weights: dict[str, float] = {}
    for label in labels:
        weights[label.label_id] = 1.0
        if label.chance is not None:
            inverse[label.collection][label.label_id] = 1.0 / label.chance
    for drawn in inverse.values():
        mean = float(np.mean(list(drawn.values())))
        weights |= {label_id: value / mean for label_id, value in drawn.items()}
    return weights


def gold_dataset(
    examples: Mapping[str, Example], *, sides: QuestionSides, weights: Mapping[str, float]
) -> Dataset:
    """Gold examples (by label id) as arrays in order of label id, with their :func:`draw_weights`; one question group
    is one unit of resampling."""
    ordered = [replace(examples[label_id], weight=weights[label_id]) for label_id in sorted(examples)]
    return Dataset.of(ordered, [sides.group(example.question) for example in ordered])
