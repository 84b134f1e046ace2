from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.contracts import Role
from training.draw import blind_chance
from training.gold import draw_weights
from training.labels import LabelRow, LabelSource

SHARES = st.floats(0.001, 0.999)


@given(SHARES, st.floats(0, 1), st.floats(0.05, 0.95))
def test_every_card_may_be_drawn_and_none_must(share: float, probability: float, bar: float) -> None:
    """Else its inverse chance would say nothing of the others like it."""
    assert 0 < blind_chance(share, probability, bar) < 1


@given(SHARES, st.floats(0, 1), st.floats(0, 1), st.floats(0.05, 0.95))
def test_the_nearer_to_the_bar_the_likelier(share: float, one: float, other: float, bar: float) -> None:
    def distance(probability: float) -> float:
        inside = np.clip(probability, 1e-4, 1 - 1e-4)
        return float(abs(np.log(inside / (1 - inside)) - np.log(bar / (1 - bar))))

    near, far = sorted((one, other), key=distance)

    assert blind_chance(share, near, bar) >= blind_chance(share, far, bar) - 1e-12
    assert blind_chance(share, bar, bar) > share > blind_chance(share, 0.0, bar)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_none_and_all_are_none_and_all(share: float) -> None:
    assert {blind_chance(share, probability, 0.25) for probability in (None, 0.0, 0.25, 1.0)} == {share}


def test_without_a_probability_the_share_is_the_chance() -> None:
    assert blind_chance(0.1, None, 0.25) == 0.1


def label(number: int, chance: float | None, collection: str = "policies") -> LabelRow:
    return LabelRow(
        label_id=str(number), question="Who signs?", candidate=str(number), role=Role.PRIMARY,
        source=LabelSource.APPROVE, judge="a reviewer", created_at=datetime(2026, 1, 1, tzinfo=UTC),
        collection=collection, blind=True, chance=chance,
    )  # fmt: skip


def test_a_card_weighs_the_inverse_of_its_chance_with_a_mean_of_one_in_each_collection() -> None:
    """So a collection with a small share does not outvote one with a large one, and what nobody drew is itself."""
    labels = [label(1, 0.5), label(2, 0.1), label(3, None), label(4, 0.02, "contracts")]

    assert draw_weights(labels) == pytest.approx({"1": 1 / 3, "2": 5 / 3, "3": 1.0, "4": 1.0})


def test_the_weighted_cards_stand_for_all() -> None:
    """Of ten thousand cards a tenth is evidence, nearly all of it near the bar, where most is drawn."""
    rng = np.random.default_rng(1)
    probability = rng.beta(0.4, 3.0, 10_000)
    evidence = rng.random(10_000) < probability
    chances = np.array([blind_chance(0.1, value, 0.25) for value in probability])
    drawn = np.flatnonzero(rng.random(10_000) < chances)
    weights = draw_weights([label(int(card), float(chances[card])) for card in drawn])

    weighted = np.average(evidence[drawn], weights=[weights[str(card)] for card in drawn])

    assert weighted == pytest.approx(evidence.mean(), abs=0.02)
    assert evidence[drawn].mean() > evidence.mean() + 0.05
