from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as reference

from training.metrics import (
    best_threshold,
    classifier_metrics,
    expected_calibration_error,
    f1_score,
    reliability_curve,
)


def figures(
    labels: list[int], probabilities: list[float], threshold: float = 0.5, questions: str = ""
) -> object:
    return classifier_metrics(
        np.array(labels),
        np.array(probabilities),
        threshold=threshold,
        questions=list(questions or "q" * len(labels)),
    )


def test_a_small_table_by_hand() -> None:
    result = figures([1, 1, 0, 0], [0.9, 0.3, 0.6, 0.1], questions="aabb")

    assert result.precision == 0.5  # type: ignore[attr-defined]
    assert result.recall == 0.5  # type: ignore[attr-defined]
    assert result.f1 == 0.5  # type: ignore[attr-defined]
    assert result.brier == pytest.approx((0.01 + 0.49 + 0.36 + 0.01) / 4)  # type: ignore[attr-defined]
    assert (result.pairs, result.positives, result.questions) == (4, 2, 2)  # type: ignore[attr-defined]
    assert result.mrr == 1.0  # type: ignore[attr-defined]


def test_one_class_has_no_area_under_the_curve() -> None:
    assert figures([0, 0], [0.1, 0.2]).roc_auc is None  # type: ignore[attr-defined]


def test_no_pairs_no_figures() -> None:
    with pytest.raises(ValueError, match="no labelled pairs"):
        figures([], [])


def test_perfect_calibration_has_no_error() -> None:
    labels = np.array([1] * 2 + [0] * 8)

    assert expected_calibration_error(labels, np.full(10, 0.2)) == pytest.approx(0)
    assert expected_calibration_error(labels, np.full(10, 0.7)) == pytest.approx(0.5)


def test_reliability_bins_hold_everything_once() -> None:
    bins = reliability_curve(np.array([0, 1, 1]), np.array([0.05, 1.0, 0.95]))

    assert [(b.low, b.count, b.share_positive) for b in bins] == [(0.0, 1, 0.0), (0.9, 2, 1.0)]


def test_ranking_is_inside_each_list() -> None:
    result = figures([1, 0, 0, 1], [0.9, 0.1, 0.8, 0.2], questions="aabb")

    assert result.mrr == pytest.approx((1 + 1 / 2) / 2)  # type: ignore[attr-defined]
    assert result.p_at_1 == pytest.approx(1 / 2)  # type: ignore[attr-defined]


pairs = st.lists(
    st.tuples(st.integers(0, 1), st.floats(0, 1).map(lambda p: round(p, 2))), min_size=2, max_size=40
)


@given(pairs, st.floats(0, 1))
def test_f1_is_that_of_scikit_learn(rows: list[tuple[int, float]], threshold: float) -> None:
    labels, probabilities = (np.array(column) for column in zip(*rows, strict=True))
    predicted = probabilities >= threshold

    assert f1_score(labels, predicted) == pytest.approx(
        reference.f1_score(labels, predicted, zero_division=0.0)
    )


@given(pairs)
def test_no_threshold_has_a_better_f1_than_the_best(rows: list[tuple[int, float]]) -> None:
    labels, probabilities = (np.array(column) for column in zip(*rows, strict=True))

    best = f1_score(labels, probabilities >= best_threshold(labels, probabilities))

    assert best == pytest.approx(max([f1_score(labels, probabilities >= t) for t in probabilities]))
