"""Conformal risk control: the cheapest of several ways whose loss on new questions is bounded.

Angelopoulos, Bates, Fisch, Lei and Schuster 2024, "Conformal risk control", theorem 1: with losses in [0, 1] that fall
from way to way, the first way with (n R + 1) / (n + 1) <= alpha loses at most alpha on average on a new group.
Questions that belong together (the same words, the same document's template) are one group: they are not independent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: What ships: at most this share of questions loses all evidence that was found with nobody asked, at so many cards a
#: question for people; both means over the labelled sets (``python -m tests.bench unseen full``, docs/evaluation.md).
SHIPPED_LOSS, SHIPPED_CARDS = 0.10, 8


def controlled_risk(losses: npt.ArrayLike, groups: Sequence[str]) -> float:
    """The bound on the loss of a new group, in (0, 1]: the groups' mean losses, and one more group that loses all.
    ``losses`` (n,) in [0, 1], one of each question; ``groups`` names the group of each."""
    means = _group_means(np.asarray(losses, dtype=np.float64), groups)
    return float((means.sum() + 1.0) / (len(means) + 1))


def first_controlled(ways: Sequence[npt.ArrayLike], groups: Sequence[str], *, alpha: float) -> int | None:
    """Index of the first of the ways, from cheap to dear, whose loss is controlled at ``alpha``; ``None`` where none
    is, as with too few groups. A way after one that is not controlled counts only if no later one fails."""
    held = [controlled_risk(losses, groups) <= alpha for losses in ways]
    failing = [index for index, holds in enumerate(held) if not holds]
    first = failing[-1] + 1 if failing else 0
    return first if first < len(held) else None


def fewest_groups(alpha: float) -> int:
    """How many groups must lose nothing before anything can be promised at ``alpha``."""
    return int(np.ceil(1.0 / alpha - 1e-9)) - 1


def _group_means(losses: Floats, groups: Sequence[str]) -> Floats:
    numbers: dict[str, int] = {}
    group = np.array([numbers.setdefault(name, len(numbers)) for name in groups], dtype=np.intp)
    counts = np.bincount(group, minlength=len(numbers))
    return np.asarray(np.bincount(group, losses, minlength=len(numbers)) / np.maximum(counts, 1))
