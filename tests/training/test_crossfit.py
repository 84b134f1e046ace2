"""Cross-validation by question: no pair is scored by a model that learned anything of its question."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.training.makers import dataset, examples
from training import crossfit
from training.crossfit import FOLDS, Recipe, cross_fitted
from training.fitting import NotEnoughData, TrainingConfig
from training.metrics import f1_score
from training.snapshot import Dataset

CONFIG = TrainingConfig(members=1, epochs=3)


def fitted(data: Dataset, gold: Dataset) -> Any:
    return cross_fitted(Recipe(data, "mlp-64-32", CONFIG), gold, version="v2", feature_version=4)


def test_each_question_is_scored_by_a_model_that_learned_nothing_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = dataset(30)
    gold = data.taken(np.arange(0, len(data), 2))
    learned: list[set[str]] = []
    scored: list[set[str]] = []
    made = crossfit._made

    def watched(recipe: Recipe, kept: Any) -> Any:
        reranker, threshold = made(recipe, kept)
        learned.append(set(np.array(recipe.data.groups)[kept]))
        numbers = {row.tobytes(): gold.groups[place] for place, row in enumerate(gold.features)}

        class Watching:
            def probabilities(self, features: Any) -> Any:
                scored.append({numbers[row.tobytes()] for row in features})
                return reranker.probabilities(features)

        return Watching(), threshold

    monkeypatch.setattr(crossfit, "_made", watched)
    contender = fitted(data, gold)

    assert len(learned) == len(scored) == FOLDS
    for known, asked in zip(learned, scored, strict=True):
        assert known.isdisjoint(asked)
        assert known | asked == set(data.groups)
    assert set().union(*scored) == set(gold.groups)
    assert (contender.version, contender.feature_version) == ("v2", 4)
    assert contender.probabilities.shape == np.shape(contender.threshold) == (len(gold),)


def test_it_learns_what_carries_over_and_not_what_it_was_told() -> None:
    """Labels of the gold questions themselves that are all wrong do not reach their own scores."""
    data = dataset(60, noise=0.2)
    gold = data.taken(np.flatnonzero([int(group.split(" ", 1)[0][1:]) < 10 for group in data.groups]))
    spoilt = np.isin(np.array(data.groups), list(set(gold.groups)))
    wrong = replace(data, labels=np.where(spoilt, 1 - data.labels, data.labels))

    contender = fitted(wrong, gold)

    assert f1_score(gold.labels, contender.probabilities >= contender.threshold) > 0.6


def test_questions_that_nobody_learned_from_are_scored_by_one_whole_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, calls = crossfit._made, []
    monkeypatch.setattr(crossfit, "_made", lambda *given: calls.append(1) or made(*given))
    elsewhere = Dataset.of([replace(e, question=f"other {e.question}") for e in examples(20, seed=4)])

    contender = fitted(dataset(30), elsewhere)

    assert calls == [1]
    assert len(set(np.atleast_1d(contender.threshold))) == 1


def test_the_same_rows_give_the_same_scores() -> None:
    data = dataset(30)
    one, two = fitted(data, data), fitted(data, data)

    np.testing.assert_array_equal(one.probabilities, two.probabilities)


def test_too_little_left_to_train_on_is_said() -> None:
    few = dataset(6)

    with pytest.raises(NotEnoughData):
        fitted(few, few)
