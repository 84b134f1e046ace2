"""Whether people (and models) judge alike: percent, Cohen's kappa, Krippendorff's alpha.

Roles are ordered (primary, supporting, tangential, discarded), so alpha is ordinal; it tolerates missing labels
(Krippendorff, *Content Analysis*, 2004, chapter 11). Intervals are bootstrapped over the items judged, seeded:
every statistic is a function of sums over items, so a resample is one row of counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from arbitration.contracts import ROLE_ORDER, Role
from arbitration.evaluation.intervals import CONFIDENCE, EMPTY, Interval

Floats = npt.NDArray[np.float64]

RESAMPLES = 1000
_WIDTH = len(Role)


@dataclass(frozen=True, slots=True)
class Rating:
    """One judge's role for one item (a question-candidate pair)."""

    item: str
    judge: str
    role: Role


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two judges on the items both judged; n of each figure is the number of those items.

    ``confusion[i][j]`` counts items that the first judge gave role i and the second role j, in role order.
    """

    first: str
    second: str
    percent: Interval
    kappa: Interval
    confusion: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """All judges together and pair by pair. ``percent`` and ``alpha`` count items judged at least twice."""

    percent: Interval
    alpha: Interval
    pairs: tuple[PairAgreement, ...]


def agreement(ratings: Iterable[Rating], *, seed: int = 0, resamples: int = RESAMPLES) -> Agreement:
    """Agreement of all judges. Of several ratings by one judge of one item the last counts."""
    table = _table(ratings)
    together = np.array([_coincidences(list(row.values())) for row in table.values() if len(row) > 1])
    shared = together.reshape(-1, _WIDTH, _WIDTH)
    judges = sorted({judge for row in table.values() for judge in row})
    pairs = [(one, other, _both(table, one, other)) for one, other in combinations(judges, 2)]
    return Agreement(
        percent=_bootstrapped(
            shared / np.maximum(shared.sum(axis=(1, 2), keepdims=True), 1), _diagonal, seed, resamples
        ),
        alpha=_bootstrapped(shared, ordinal_alpha, seed, resamples),
        pairs=tuple(_pair(one, other, items, seed, resamples) for one, other, items in pairs if len(items)),
    )


Table = Mapping[str, Mapping[str, Role]]


def _table(ratings: Iterable[Rating]) -> Table:
    table: dict[str, dict[str, Role]] = defaultdict(dict)
    for rating in ratings:
        table[rating.item][rating.judge] = rating.role
    return table


def _coincidences(roles: list[Role]) -> Floats:
    """Krippendorff's coincidences of one item: every ordered pair of its ratings, weighed 1 / (ratings - 1)."""
    counts = np.bincount([ROLE_ORDER[role] for role in roles], minlength=_WIDTH).astype(np.float64)
    return (np.outer(counts, counts) - np.diag(counts)) / (len(roles) - 1)


def _both(table: Table, first: str, second: str) -> Floats:
    """For each item both judged, a table with a 1 at (first's role, second's role)."""
    cells = [
        (ROLE_ORDER[row[first]], ROLE_ORDER[row[second]])
        for row in table.values()
        if first in row and second in row
    ]
    items = np.zeros((len(cells), _WIDTH, _WIDTH))
    for number, cell in enumerate(cells):
        items[number][cell] = 1.0
    return items


def _pair(first: str, second: str, items: Floats, seed: int, resamples: int) -> PairAgreement:
    confusion = items.sum(axis=0).astype(int)
    return PairAgreement(
        first,
        second,
        percent=_bootstrapped(items, _diagonal, seed, resamples),
        kappa=_bootstrapped(items, cohen_kappa, seed, resamples),
        confusion=tuple(tuple(int(count) for count in row) for row in confusion),
    )


def _diagonal(table: Floats) -> float | None:
    """Share of a table's mass on its diagonal."""
    total = float(table.sum())
    return float(np.trace(table)) / total if total else None


def cohen_kappa(table: Floats) -> float | None:
    """Agreement beyond chance of a confusion table; ``None`` where chance alone is perfect."""
    shares = table / table.sum()
    expected = float(shares.sum(axis=1) @ shares.sum(axis=0))
    return None if expected >= 1.0 else (float(np.trace(shares)) - expected) / (1.0 - expected)


def ordinal_alpha(coincidences: Floats) -> float | None:
    """Krippendorff's alpha with the ordinal metric from a coincidence table (categories in order); ``None`` where
    all ratings are the same, so that nothing could disagree."""
    margins = coincidences.sum(axis=1)
    total = float(margins.sum())
    middle = (
        np.cumsum(margins) - margins / 2
    )  # the ordinal distance of two categories is that of their middles
    distance = (middle[:, None] - middle[None, :]) ** 2
    expected = float((np.outer(margins, margins) * distance).sum())
    observed = float((coincidences * distance).sum())
    return None if expected == 0 else 1.0 - (total - 1) * observed / expected


def _bootstrapped(
    items: Floats, statistic: Callable[[Floats], float | None], seed: int, resamples: int
) -> Interval:
    """The statistic of the items' summed tables, with an interval over items."""
    count = len(items)
    value = statistic(items.sum(axis=0)) if count else None
    if value is None:
        return Interval(None, None, None, count) if count else EMPTY
    rng = np.random.default_rng(seed)
    draws = rng.multinomial(count, np.full(count, 1 / count), size=resamples).astype(np.float64)
    tables = (draws @ items.reshape(count, -1)).reshape(resamples, _WIDTH, _WIDTH)
    samples = [sample for table in tables if (sample := statistic(table)) is not None]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(samples, [tail, 1 - tail])
    return Interval(value, float(low), float(high), count)
