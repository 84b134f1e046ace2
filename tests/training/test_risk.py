"""Conformal risk control over groups of questions."""

from __future__ import annotations

import numpy as np
import pytest

from training.risk import controlled_risk, fewest_groups, first_controlled


def test_one_more_group_that_loses_all_is_counted() -> None:
    assert controlled_risk([0.0] * 19, [str(n) for n in range(19)]) == pytest.approx(1 / 20)
    assert controlled_risk([], []) == 1.0


def test_questions_of_one_group_have_one_vote() -> None:
    losses = [1.0, 1.0, 1.0, 0.0]

    assert controlled_risk(losses, ["same", "same", "same", "other"]) == pytest.approx((1 + 0 + 1) / 3)
    assert controlled_risk(losses, ["a", "b", "c", "d"]) == pytest.approx((3 + 1) / 5)


def test_the_first_way_from_which_on_all_hold_is_taken() -> None:
    groups = [str(n) for n in range(39)]
    lost = [[1.0] * count + [0.0] * (39 - count) for count in (4, 1, 2, 1, 0)]

    assert first_controlled(lost, groups, alpha=0.05) == 3
    assert first_controlled(lost[:3], groups, alpha=0.05) is None
    assert first_controlled(lost[4:], groups, alpha=0.05) == 0


def test_nothing_is_promised_on_too_few_groups() -> None:
    least = fewest_groups(0.05)

    assert least == 19
    assert first_controlled([[0.0] * least], [str(n) for n in range(least)], alpha=0.05) == 0
    assert first_controlled([[0.0] * (least - 1)], [str(n) for n in range(least - 1)], alpha=0.05) is None


def test_the_promise_holds_on_new_questions_of_the_same_kind() -> None:
    """Each question needs so many cards; the way chosen on 100 of them loses at most 5 % of the others on average."""
    rng = np.random.default_rng(5)
    shares = []
    for _ in range(200):
        needed = rng.geometric(0.15, size=300)
        ways = [(needed[:100] > limit).astype(float) for limit in range(1, 80)]
        chosen = first_controlled(ways, [str(n) for n in range(100)], alpha=0.05)
        assert chosen is not None
        shares.append(float((needed[100:] > chosen + 1).mean()))

    assert 0.03 < np.mean(shares) <= 0.05


def test_groups_weigh_by_what_they_stand_for_and_the_new_one_as_the_heaviest() -> None:
    losses, groups = [1.0, 0.0, 0.0], ["a", "b", "c"]

    assert controlled_risk(losses, groups, [2.0, 2.0, 2.0]) == controlled_risk(losses, groups)
    assert controlled_risk(losses, groups, [1.0, 4.0, 3.0]) == pytest.approx((1 + 4) / (8 + 4))
    assert fewest_groups(0.05, [1.0, 3.0], ["a", "b"]) == 29  # half as much again as 19
