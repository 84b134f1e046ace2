"""95 % bootstrap intervals over questions, for means, ratios and percentiles. Seeded and vectorised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RESAMPLES = 1000
CONFIDENCE = 0.95
_BLOCK = 100  # resamples handled at once, to bound memory


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its interval; ``n`` is the number of questions behind it. All ``None`` when n is 0."""

    value: float | None
    low: float | None
    high: float | None
    n: int

    def as_json(self) -> dict[str, Any]:
        """The shape every report uses: {value, low, high, n}."""
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n}


EMPTY = Interval(None, None, None, 0)


class Bootstrap:
    """Resamples questions with replacement, the same draws for every figure.

    ``clusters[i]`` is the question of row i: rows of one question (its variants, its repeated runs) are
    drawn together, because they are not independent.
    """

    def __init__(self, clusters: Sequence[str], *, seed: int = 0, resamples: int = RESAMPLES) -> None:
        positions: dict[str, int] = {}
        self._row_cluster = np.array(
            [positions.setdefault(cluster, len(positions)) for cluster in clusters], dtype=np.intp
        )
        self._cluster_count = len(positions)
        self._seed = seed
        self._resamples = resamples

    def mean(self, values: Floats) -> Interval:
        """Mean over the rows; rows that are NaN are left out."""
        present = ~np.isnan(values)
        return self.ratio(np.where(present, values, 0.0), present.astype(np.float64))

    def ratio(self, numerators: Floats, denominators: Floats) -> Interval:
        """Sum of numerators over sum of denominators; n counts questions with a denominator above 0."""
        above = np.bincount(self._row_cluster, numerators, minlength=self._cluster_count)
        below = np.bincount(self._row_cluster, denominators, minlength=self._cluster_count)
        if below.sum() <= 0:
            return EMPTY
        sums = self._draws @ np.stack([above, below], axis=1).astype(np.float32)
        drawn = sums[:, 1] > 0
        samples = (sums[drawn, 0] / sums[drawn, 1]).astype(np.float64)
        return _interval(above.sum() / below.sum(), samples, n=int((below > 0).sum()))

    def percentile(self, values: Floats, q: float) -> Interval:
        """The q-th percentile (0 to 100) by nearest rank; rows that are NaN are left out."""
        rows = np.flatnonzero(~np.isnan(values))
        if rows.size == 0:
            return EMPTY
        rows = rows[np.argsort(values[rows], kind="stable")]
        ordered, cluster_of = values[rows], self._row_cluster[rows]
        blocks = [self._draws[start : start + _BLOCK] for start in range(0, self._resamples, _BLOCK)]
        samples = np.concatenate([ordered[_nearest_rank(block[:, cluster_of], q)] for block in blocks])
        whole = _nearest_rank(np.ones((1, rows.size), dtype=np.float32), q)[0]
        return _interval(ordered[whole], samples, n=len(np.unique(cluster_of)))

    @cached_property
    def _draws(self) -> npt.NDArray[np.float32]:
        """How often each question is drawn in each resample; shape (resamples, questions)."""
        rng = np.random.default_rng(self._seed)
        draws = np.empty((self._resamples, self._cluster_count), dtype=np.float32)
        for row in draws:
            drawn = rng.integers(0, self._cluster_count, size=self._cluster_count)
            row[:] = np.bincount(drawn, minlength=self._cluster_count)
        return draws


def _nearest_rank(weights: npt.NDArray[np.float32], q: float) -> npt.NDArray[np.intp]:
    cumulated = np.cumsum(weights, axis=1, dtype=np.float64)
    needed = np.maximum(np.ceil(cumulated[:, -1:] * (q / 100.0)), 1.0)
    ranks: npt.NDArray[np.intp] = np.argmax(cumulated >= needed, axis=1)
    return ranks


def _interval(value: float, samples: Floats, *, n: int) -> Interval:
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(samples, [tail, 1 - tail])
    return Interval(float(value), float(low), float(high), n)
