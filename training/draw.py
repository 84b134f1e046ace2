"""Which cards are decided blind: a share of all, drawn the more often the nearer a card lies to the bar of what serves.

Blind decisions are the yardstick of the gate, and F1 changes only by pairs on which champion and challenger decide
differently. Those lie near the bar; far below it both discard. Any chance above zero will do, as long as it is known:
gold weighs each card by its inverse (:func:`training.gold.draw_weights`).
"""

from __future__ import annotations

import math

from arbitration.evidence import log_odds

#: How many times the odds of the share a card on the bar has, a card far from it, and over how many log-odds from the
#: bar the one falls to the other. The more unequal, the more the few far cards that are drawn weigh.
NEAR, FAR, WIDTH = 6.0, 0.5, 0.7


def blind_chance(share: float, probability: float | None, bar: float) -> float:
    """The chance that a card with this probability is blind, in [0, 1]: 0 and 1 where the share is; the share itself
    where no probability is known."""
    if probability is None or not 0.0 < share < 1.0:
        return share
    distance = (log_odds(probability) - log_odds(bar)) / WIDTH
    odds = share / (1.0 - share) * (FAR + (NEAR - FAR) * math.exp(-0.5 * distance * distance))
    return odds / (1.0 + odds)
