"""The elusion test: how much evidence is among what was discarded, from a random sample that people judged.

Roitblat, "Search and Information Retrieval Science" (Sedona Conference Journal 8, 2007). The interval is the exact one
of Clopper and Pearson (Biometrika 26, 1934): missed evidence is rare, where approximations are worst.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, fsum, lgamma, log

from arbitration.evaluation.intervals import CONFIDENCE, EMPTY, Interval


def missed_rate(*, missed: int, judged: int) -> Interval:
    """The share of ``judged`` discarded passages that people call evidence, in [0, 1], with its 95 % interval.

    Raises ``ValueError`` for counts that cannot be.
    """
    if not 0 <= missed <= judged:
        raise ValueError(f"{missed} missed of {judged} judged cannot be")
    if not judged:
        return EMPTY
    tail = (1 - CONFIDENCE) / 2
    low = _solve(lambda p: 1 - _at_most(missed - 1, judged, p) < tail) if missed else 0.0
    high = _solve(lambda p: _at_most(missed, judged, p) > tail) if missed < judged else 1.0
    return Interval(missed / judged, low, high, judged)


def _at_most(count: int, trials: int, p: float) -> float:
    """The probability of at most ``count`` successes."""
    return fsum(
        exp(
            lgamma(trials + 1)
            - lgamma(k + 1)
            - lgamma(trials - k + 1)
            + k * log(p)
            + (trials - k) * log(1 - p)
        )
        for k in range(count + 1)
    )


def _solve(is_below: Callable[[float], bool]) -> float:
    """The probability up to which ``is_below`` holds, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return (low + high) / 2
