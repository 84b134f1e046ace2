"""Conformal risk control: the cheapest of several ways whose loss on new questions is bounded.

Angelopoulos, Bates, Fisch, Lei and Schuster 2024, "Conformal risk control", theorem 1: with losses in [0, 1] that fall
from way to way, the first way with (n R + 1) / (n + 1) <= alpha loses at most alpha on average on a new group.
Questions that belong together (the same words, the same document's template) are one group: they are not independent.
Groups that were drawn with unequal chances weigh by the inverse, and the new group as the heaviest of them (section 4.1
there, covariate shift).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: What ships: at most this share of questions loses all evidence that was found with nobody asked, at so many cards a
#: question for people; both means over the labelled sets (``python -m tests.bench unseen full``, docs/evaluation.md).
SHIPPED_LOSS, SHIPPED_CARDS = 0.10, 8


def controlled_risk(
    losses: npt.ArrayLike, groups: Sequence[str], weights: npt.ArrayLike | None = None
) -> float:
    """The bound on the loss of a new group, in (0, 1]: the groups' mean losses, and one more group that loses all.
    ``losses`` (n,) in [0, 1], one of each question; ``groups`` names the group of each; ``weights`` (n,) says for how
    many questions each stands, a group's is the mean of its own."""
    means = _group_means(np.asarray(losses, dtype=np.float64), groups)
    each = np.ones(len(groups)) if weights is None else np.asarray(weights, dtype=np.float64)
    weight = _group_means(each, groups)
    heaviest = float(weight.max(initial=0.0)) or 1.0
    return float((weight @ means + heaviest) / (weight.sum() + heaviest))


def weighted_loss(losses: npt.ArrayLike, groups: Sequence[str], weights: npt.ArrayLike) -> float:
    """The mean loss of the groups there are, in [0, 1]; 0 of none."""
    means, weight = (
        _group_means(np.asarray(column, dtype=np.float64), groups) for column in (losses, weights)
    )
    return float(np.average(means, weights=weight)) if len(means) else 0.0


def first_controlled(
    ways: Sequence[npt.ArrayLike],
    groups: Sequence[str],
    *,
    alpha: float,
    weights: npt.ArrayLike | None = None,
) -> int | None:
    """Index of the first of the ways, from cheap to dear, whose loss is controlled at ``alpha``; ``None`` where none
    is, as with too few groups. A way after one that is not controlled counts only if no later one fails."""
    held = [controlled_risk(losses, groups, weights) <= alpha for losses in ways]
    failing = [index for index, holds in enumerate(held) if not holds]
    first = failing[-1] + 1 if failing else 0
    return first if first < len(held) else None


def fewest_groups(alpha: float, weights: npt.ArrayLike = (), groups: Sequence[str] = ()) -> int:
    """How many groups must lose nothing before anything can be promised at ``alpha``, where they weigh as these do."""
    each = _group_means(np.asarray(weights, dtype=np.float64), groups)
    uneven = float(each.max() / each.mean()) if len(each) else 1.0
    return int(np.ceil((1.0 / alpha - 1.0) * uneven - 1e-9))


def _group_means(losses: Floats, groups: Sequence[str]) -> Floats:
    numbers: dict[str, int] = {}
    group = np.array([numbers.setdefault(name, len(numbers)) for name in groups], dtype=np.intp)
    counts = np.bincount(group, minlength=len(numbers))
    return np.asarray(np.bincount(group, losses, minlength=len(numbers)) / np.maximum(counts, 1))
