"""The forty pairs: the rule in force is primary and first, and the other one is shown as replaced."""

from __future__ import annotations

import pytest

from arbitration.settings import EngineSettings
from tests.arbitration.precedence import pairs_at_hand, pairs_set_aside
from tests.arbitration.precedence.figures import Outcome, outcomes

#: Of forty.
FEWEST_FIRST, FEWEST_SHOWN = 36, 34


@pytest.fixture(scope="module")
def judged() -> list[Outcome]:
    return outcomes((*pairs_at_hand.PAIRS, *pairs_set_aside.PAIRS))


def test_the_rule_in_force_is_primary_and_first(judged: list[Outcome]) -> None:
    assert sum(outcome.is_first for outcome in judged) >= FEWEST_FIRST


def test_what_is_replaced_is_supporting_and_says_by_what(judged: list[Outcome]) -> None:
    assert sum(outcome.is_shown for outcome in judged) >= FEWEST_SHOWN


def test_without_precedence_nothing_is_shown_as_replaced() -> None:
    off = outcomes(pairs_at_hand.PAIRS[:3], EngineSettings(precedence=False))
    assert not any(outcome.is_shown for outcome in off)


def test_each_rule_stands_once_in_its_documents() -> None:
    for pair in (*pairs_at_hand.PAIRS, *pairs_set_aside.PAIRS):
        text = " ".join(" ".join(document.text for document in pair.documents).split())
        assert text.count(pair.in_force) == 1, pair.key
        assert text.count(pair.replaced) == 1, pair.key
