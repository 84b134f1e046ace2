"""The bars of acceptance and rejection, moved to where a model draws its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.contracts import Role
from arbitration.settings import EngineSettings
from arbitration.strategies.rules import RuleReading, role_by_bars

SETTINGS = EngineSettings()
LINES = st.floats(min_value=0.001, max_value=0.999)


def odds(p: float) -> float:
    return p / (1 - p)


def test_at_one_half_they_are_the_settings_own() -> None:
    bars = SETTINGS.bars(threshold=0.5)
    assert (bars.accept, bars.reject) == pytest.approx((0.6, 0.4))


def test_a_worked_line() -> None:
    """A threshold of .32: .6 * .32 / (.6 * .32 + .4 * .68) = .192 / .464, and .128 / .536."""
    bars = SETTINGS.bars(threshold=0.32)
    assert (bars.accept, bars.reject) == pytest.approx((0.192 / 0.464, 0.128 / 0.536))


@given(line=LINES)
def test_the_line_lies_between_them_at_the_same_odds(line: float) -> None:
    bars = SETTINGS.bars(threshold=line)
    assert 0 < bars.reject < line < bars.accept < 1
    assert odds(bars.accept) / odds(line) == pytest.approx(1.5)
    assert odds(line) / odds(bars.reject) == pytest.approx(1.5)


@given(line=LINES)
def test_a_model_that_learned_elsewhere_rejects_less_by_itself(line: float) -> None:
    own, borrowed = SETTINGS.bars(threshold=line), SETTINGS.bars(threshold=line, is_borrowed=True)
    assert borrowed.accept == own.accept
    assert odds(line) / odds(borrowed.reject) == pytest.approx(4)
    stricter = SETTINGS.model_copy(update={"reject": 0.1})
    assert stricter.bars(threshold=line, is_borrowed=True) == stricter.bars(threshold=line)


def test_without_a_model_the_rules_have_bars_of_their_own() -> None:
    bars = SETTINGS.bars(threshold=None)
    assert (bars.accept, bars.reject, bars.primary, bars.named) == (
        SETTINGS.rules_accept,
        SETTINGS.rules_reject,
        SETTINGS.rules_primary,
        SETTINGS.rules_named,
    )


@pytest.mark.parametrize(
    ("fired", "probability", "role"),
    [
        ((1,), 0.40, Role.PRIMARY),
        ((1,), 0.39, Role.SUPPORTING),
        ((2,), 0.45, Role.PRIMARY),
        ((2,), 0.44, Role.SUPPORTING),
        ((1, 2), 0.42, Role.PRIMARY),
        ((3,), 0.99, Role.SUPPORTING),
        ((1,), 0.24, Role.TANGENTIAL),
        ((1,), 0.08, Role.DISCARDED),
    ],
)
def test_a_rule_makes_primary_from_its_own_bar_on(
    fired: tuple[int, ...], probability: float, role: Role
) -> None:
    reading = RuleReading(fired)
    assert role_by_bars(reading, probability, SETTINGS.bars(threshold=None)) is role
