from __future__ import annotations

from math import comb, fsum, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.elusion import missed_rate, weighted_rate


def test_nothing_missed_is_no_proof_of_nothing_there() -> None:
    """The rule of three: none of 100 leaves up to 3.6 % (two-sided 95 %)."""
    found = missed_rate(missed=0, judged=100)

    assert (found.value, found.low, found.n) == (0.0, 0.0, 100)
    assert found.high == pytest.approx(0.03622, abs=1e-5)


def test_a_published_interval() -> None:
    """Clopper and Pearson's interval of 10 of 100."""
    found = missed_rate(missed=10, judged=100)

    assert (found.low, found.high) == (pytest.approx(0.04900, abs=1e-4), pytest.approx(0.17622, abs=1e-4))


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_bounds_are_those_of_the_definition(counts: tuple[int, int]) -> None:
    """At the lower bound as many or more, and at the upper bound as few or fewer, have a probability of 2.5 %."""
    missed, judged = counts
    found = missed_rate(missed=missed, judged=judged)
    assert found.low is not None
    assert found.high is not None

    def probability(number: int, p: float) -> float:
        return comb(judged, number) * p**number * (1 - p) ** (judged - number)

    if missed:
        assert fsum(probability(k, found.low) for k in range(missed, judged + 1)) == pytest.approx(0.025)
    if missed < judged:
        assert fsum(probability(k, found.high) for k in range(missed + 1)) == pytest.approx(0.025)


def test_a_year_of_decisions() -> None:
    """Nine in ten of a million: the normal approximation holds there to the sixth place."""
    found = missed_rate(missed=900_000, judged=1_000_000)
    half = 1.959964 * sqrt(0.9 * 0.1 / 1_000_000)

    assert (found.low, found.high) == (
        pytest.approx(0.9 - half, abs=2e-6),
        pytest.approx(0.9 + half, abs=2e-6),
    )


def test_no_sample_no_figure() -> None:
    assert missed_rate(missed=0, judged=0).value is None


@pytest.mark.parametrize(("missed", "judged"), [(-1, 5), (6, 5)])
def test_impossible_counts(missed: int, judged: int) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        missed_rate(missed=missed, judged=judged)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_holds_the_rate_and_narrows(counts: tuple[int, int]) -> None:
    missed, judged = counts
    found = missed_rate(missed=missed, judged=judged)
    wider = missed_rate(missed=0, judged=1)

    assert found.low is not None
    assert found.high is not None
    assert found.value is not None
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert wider.high is not None
    assert found.high - found.low <= wider.high


def test_equal_weights_are_counts_and_unequal_ones_widen() -> None:
    counted = missed_rate(missed=6, judged=20)
    equal = weighted_rate(part=6 * 4.0, whole=20 * 4.0, squares=20 * 16.0, counted=20)
    unequal = weighted_rate(part=24.0, whole=80.0, squares=10 * 1.0 + 10 * 49.0, counted=20)

    assert (equal.value, equal.low, equal.high, equal.n) == pytest.approx(
        (counted.value, counted.low, counted.high, counted.n)
    )
    assert unequal.value == pytest.approx(0.3)
    assert unequal.high - unequal.low > counted.high - counted.low  # type: ignore[operator]
    assert weighted_rate(part=0, whole=0, squares=0, counted=0).n == 0
