"""Figures and curves of a model page, and the drift signal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.features import FEATURE_NAMES
from tests.training.makers import QUICK, dataset
from training.drift import override_rate, wilson
from training.report import confusion_by_role, model_report, permutation_importance, pr_curve
from training.reranker import Reranker
from training.trainer import train


def test_a_report_is_of_the_rows_it_names() -> None:
    data = dataset(20)
    report = model_report(data, np.linspace(0, 1, len(data)), threshold=0.5)

    assert report.rows_hash == data.digest
    assert sum(count for _p, _t, count in report.reliability) == len(data)
    assert report.by_collection.keys() == {"contracts", "policies"}
    assert sum(row["pairs"] for row in report.by_collection.values()) == len(data)


def test_the_curve_runs_from_the_strictest_threshold_to_all_recall() -> None:
    data = dataset(20)
    curve = pr_curve(data, data.labels * 0.8 + 0.1)

    recalls = [recall for recall, _precision in curve]
    assert recalls == sorted(recalls)
    assert recalls[-1] == 1.0
    assert (1.0, 1.0) in curve  # a perfect ranking


def test_confusion_counts_rejected_uncertain_and_accepted_by_role() -> None:
    roles = ["primary", "primary", "discarded", "discarded"]

    table = confusion_by_role(roles, np.array([0.9, 0.5, 0.1, 0.4]))

    assert table == {"primary": (0, 1, 1), "discarded": (2, 0, 0)}


def test_the_feature_that_tells_apart_is_the_important_one() -> None:
    data = dataset(30, noise=0.2)
    model = Reranker(train(data, QUICK).chosen.model)

    importance = permutation_importance(data, model.probabilities, FEATURE_NAMES)

    assert max(importance, key=importance.__getitem__) == FEATURE_NAMES[0]
    assert importance == permutation_importance(data, model.probabilities, FEATURE_NAMES)


@given(st.integers(0, 500), st.integers(1, 500))
def test_an_override_rate_lies_in_its_interval(overridden: int, decided: int) -> None:
    figure = override_rate(overridden=min(overridden, decided), decided=decided)

    assert 0.0 <= figure.low <= figure.rate + 1e-12
    assert figure.rate - 1e-12 <= figure.high <= 1.0


@pytest.mark.parametrize(
    ("overridden", "decided", "level"),
    [(5, 10, "few"), (0, 0, "few"), (2, 100, "fine"), (22, 100, "watch"), (40, 100, "alert")],
)
def test_levels(overridden: int, decided: int, level: str) -> None:
    assert override_rate(overridden=overridden, decided=decided).level == level


def test_wilson_of_a_known_case() -> None:
    low, high = wilson(0.5, 10)  # Wilson 1927, as in any table: 0.2366 to 0.7634

    assert (round(low, 4), round(high, 4)) == (0.2366, 0.7634)
