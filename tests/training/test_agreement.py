from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from arbitration.contracts import ROLE_ORDER, Role
from training.agreement import Rating, agreement

PRIMARY, SUPPORTING, TANGENTIAL, DISCARDED = Role


def ratings(**judged: str) -> list[Rating]:
    """Judges with one letter per item: p, s, t, d, or - for no label."""
    letters = dict(zip("pstd", Role, strict=True))
    return [
        Rating(f"item {n}", judge, letters[letter])
        for judge, word in judged.items()
        for n, letter in enumerate(word)
        if letter != "-"
    ]


def test_perfect_agreement() -> None:
    result = agreement(ratings(ana="pstd", ben="pstd"))

    assert (result.percent.value, result.alpha.value, result.pairs[0].kappa.value) == (1, 1, 1)
    assert result.alpha.n == 4


def test_kappa_of_a_known_table() -> None:
    """Both primary 20, both discarded 15, 5 and 10 apart: observed .7, expected .5 (the textbook example)."""
    result = agreement(
        ratings(ana="p" * 20 + "p" * 5 + "d" * 10 + "d" * 15, ben="p" * 20 + "d" * 5 + "p" * 10 + "d" * 15)
    )

    (pair,) = result.pairs
    assert pair.percent.value == pytest.approx(0.7)
    assert pair.kappa.value == pytest.approx(0.4)
    assert pair.kappa.low is not None
    assert pair.kappa.high is not None
    assert pair.kappa.low < 0.4 < pair.kappa.high
    assert pair.confusion == ((20, 0, 0, 5), (0, 0, 0, 0), (0, 0, 0, 0), (10, 0, 0, 15))


def test_near_misses_weigh_less_than_opposites() -> None:
    near = agreement(ratings(ana="ppssttdd", ben="psstttdd")).alpha.value
    far = agreement(ratings(ana="ppssttdd", ben="pdssttdd")).alpha.value

    assert near is not None
    assert far is not None
    assert near > far


def test_one_category_only_cannot_disagree() -> None:
    result = agreement(ratings(ana="ddd", ben="ddd"))

    assert (result.alpha.value, result.alpha.n) == (None, 3)
    assert result.pairs[0].kappa.value is None
    assert result.percent.value == 1


def test_items_judged_once_do_not_count() -> None:
    result = agreement(ratings(ana="pp--", ben="--dd"))

    assert result.alpha.n == 0
    assert result.pairs == ()


def test_the_last_rating_of_a_judge_counts() -> None:
    changed = [Rating("x", "ana", DISCARDED), *ratings(ana="pd", ben="pd"), Rating("x", "ana", PRIMARY)]

    assert agreement([*changed, Rating("x", "ben", PRIMARY)]).percent.value == 1


words = st.text("pstd-", min_size=6, max_size=12)


@given(words, words, words)
def test_alpha_is_that_of_the_reference_package(one: str, two: str, three: str) -> None:
    length = min(map(len, (one, two, three)))
    judged = ratings(a=one[:length], b=two[:length], c=three[:length])
    data = np.full((3, length), np.nan)
    for rating in judged:
        data["abc".index(rating.judge), int(rating.item.split()[1])] = ROLE_ORDER[rating.role]
    pairable = data[:, (~np.isnan(data)).sum(axis=0) > 1]
    values = pairable[~np.isnan(pairable)]

    alpha = agreement(judged, resamples=20).alpha.value

    if len(np.unique(values)) < 2:
        assert alpha is None
    else:
        expected = krippendorff.alpha(data, level_of_measurement="ordinal", value_domain=[0, 1, 2, 3])
        assert alpha == pytest.approx(expected)


@given(st.lists(st.tuples(st.sampled_from("pstd"), st.sampled_from("pstd")), min_size=4, max_size=30))
def test_kappa_is_that_of_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    one, two = ("".join(letters) for letters in zip(*pairs, strict=True))

    kappa = agreement(ratings(a=one, b=two), resamples=20).pairs[0].kappa.value

    if kappa is None:
        assert len(set(one + two)) == 1
    else:
        assert kappa == pytest.approx(cohen_kappa_score(list(one), list(two)))
