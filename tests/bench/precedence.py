"""Precedence: of forty pairs of texts how often the rule in force is primary and first, and how often the other one is
shown as replaced. The rules were written with one half of the pairs at hand; the other half was set aside."""

from __future__ import annotations

from collections.abc import Iterator

from arbitration.settings import EngineSettings
from tests.arbitration.precedence import pairs_at_hand, pairs_set_aside
from tests.arbitration.precedence.figures import Outcome, outcomes
from tests.arbitration.precedence.test_pairs import FEWEST_FIRST, FEWEST_SHOWN
from tests.bench.registry import Figure, Size, measurement


@measurement("precedence")
def measure(size: Size) -> Iterator[Figure]:
    """Both figures over all pairs, for each half, and without precedence."""
    at_hand, set_aside = outcomes(pairs_at_hand.PAIRS), outcomes(pairs_set_aside.PAIRS)
    yield from _figures("all", [*at_hand, *set_aside], first=FEWEST_FIRST, shown=FEWEST_SHOWN)
    yield from _figures("half the rules were written with", at_hand)
    yield from _figures("half set aside", set_aside)
    pairs = (*pairs_at_hand.PAIRS, *pairs_set_aside.PAIRS)
    yield from _figures("all, precedence off", outcomes(pairs, EngineSettings(precedence=False)))


def _figures(
    what: str, judged: list[Outcome], *, first: float | None = None, shown: float | None = None
) -> Iterator[Figure]:
    counts = (
        ("rule in force primary and first", sum(outcome.is_first for outcome in judged), first),
        ("replaced rule shown as such", sum(outcome.is_shown for outcome in judged), shown),
    )
    for name, count, target in counts:
        bound = "at least" if target is not None else None
        yield Figure(f"{name}: {what}", count, f"of {len(judged)}", target, bound)
