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
    if not judged:
        return EMPTY
    tail = (1 - CONFIDENCE) / 2
    # Quantiles of beta distributions: the same bounds as the sums of binomial probabilities, for any number of rows.
    low = float(betaincinv(missed, judged - missed + 1, tail)) if missed else 0.0
    high = float(betaincinv(missed + 1, judged - missed, 1 - tail)) if missed < judged else 1.0
    return Interval(missed / judged, low, high, judged)
