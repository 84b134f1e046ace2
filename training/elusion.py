"""The elusion test: how much evidence is among what was discarded, from a random sample that people judged.

Roitblat, "Search and Information Retrieval Science" (Sedona Conference Journal 8, 2007). The interval is the exact one
of Clopper and Pearson (Biometrika 26, 1934): missed evidence is rare, where approximations are worst.
"""

from __future__ import annotations

from scipy.special import betaincinv

from arbitration.evaluation.intervals import CONFIDENCE, EMPTY, Interval


def missed_rate(*, missed: int, judged: int) -> Interval:
    """The share of ``judged`` discarded passages that people call evidence, in [0, 1], with its 95 % interval.

    Raises ``ValueError`` for counts that cannot be.
    """
    if not 0 <= missed <= judged:
        raise ValueError(f"{missed} missed of {judged} judged cannot be")
    return _rate(missed, judged, judged)


def weighted_rate(*, part: float, whole: float, squares: float, counted: int) -> Interval:
    """A share of cards that were drawn with unequal chances: ``part`` of ``whole`` are sums of their weights,
    ``squares`` the sum of the squared weights. The exact interval at the effective number of cards (Korn and Graubard,
    Survey Methodology 24, 1998)."""
    effective = whole * whole / squares if squares else 0.0
    return _rate(part / whole * effective if whole else 0.0, effective, counted)


def _rate(part: float, whole: float, counted: int) -> Interval:
    if not whole:
        return EMPTY
    part = min(part, whole)
    tail = (1 - CONFIDENCE) / 2
    # Quantiles of beta distributions: the same bounds as the sums of binomial probabilities, for any number of rows.
    low = float(betaincinv(part, whole - part + 1, tail)) if part else 0.0
    high = float(betaincinv(part + 1, whole - part, 1 - tail)) if part < whole else 1.0
    return Interval(part / whole, low, high, counted)
