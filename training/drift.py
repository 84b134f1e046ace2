"""How often people overrule the machine: a rate with its interval, and whether it calls for a look.

The interval is Wilson's (1927), which stays inside [0, 1] for small numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal

Level = Literal["alert", "watch", "fine", "few"]

#: From this share of overruled verdicts on, a role, detector, collection or month deserves a look.
ALERT_RATE = 0.20
#: Fewer decisions than this say nothing.
LEAST = 20
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class OverrideRate:
    """``rate`` of ``decided`` verdicts that a person overruled, with a 95 % interval, all in [0, 1]."""

    overridden: int
    decided: int
    rate: float
    low: float
    high: float
    level: Level


def override_rate(*, overridden: int, decided: int) -> OverrideRate:
    """``alert`` where even the interval's lower end is above ``ALERT_RATE``, ``watch`` where the rate is, ``few``
    under ``LEAST`` decisions. Raises ``ValueError`` for counts that cannot be."""
    if not 0 <= overridden <= decided:
        raise ValueError(f"{overridden} overridden of {decided} decided cannot be")
    if not decided:
        return OverrideRate(0, 0, 0.0, 0.0, 1.0, "few")
    rate = overridden / decided
    low, high = wilson(rate, decided)
    return OverrideRate(overridden, decided, rate, low, high, _level(rate, low, decided))


def wilson(rate: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a share seen ``count`` times."""
    weight = _Z * _Z / count
    middle = (rate + weight / 2) / (1 + weight)
    half = _Z / (1 + weight) * sqrt(rate * (1 - rate) / count + weight / (4 * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def _level(rate: float, low: float, decided: int) -> Level:
    if decided < LEAST:
        return "few"
    if low > ALERT_RATE:
        return "alert"
    return "watch" if rate > ALERT_RATE else "fine"
