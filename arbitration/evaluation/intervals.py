"""95 % bootstrap intervals over questions, for means, ratios and percentiles. Seeded and vectorised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RESAMPLES = 1000
CONFIDENCE = 0.95
_CHUNK_CELLS = 4_000_000


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
    """Resamples questions with replacement. ``clusters[i]`` is the question of row i: rows of one question
    (its variants, its repeated runs) are drawn together, because they are not independent."""

    def __init__(self, clusters: Sequence[str], *, seed: int = 0, resamples: int = RESAMPLES) -> None:
        names, rows = np.unique(np.asarray(clusters, dtype=object).astype(str), return_inverse=True)
        self._row_cluster = rows.astype(np.intp)
        self._cluster_count = len(names)
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
        keep = below > 0
        above, below = above[keep], below[keep]
        samples = [(counts @ above) / (counts @ below) for counts in self._count_chunks(int(keep.sum()))]
        return _interval(above.sum() / below.sum(), np.concatenate(samples), n=int(keep.sum()))

    def percentile(self, values: Floats, q: float) -> Interval:
        """The q-th percentile (0 to 100) by nearest rank; rows that are NaN are left out."""
        rows = np.flatnonzero(~np.isnan(values))
        if rows.size == 0:
            return EMPTY
        rows = rows[np.argsort(values[rows], kind="stable")]
        ordered = values[rows]
        kept_clusters, cluster_of = np.unique(self._row_cluster[rows], return_inverse=True)
        samples = [
            ordered[_nearest_rank(counts[:, cluster_of], q)]
            for counts in self._count_chunks(len(kept_clusters))
        ]
        whole = _nearest_rank(np.ones((1, rows.size)), q)[0]
        return _interval(ordered[whole], np.concatenate(samples), n=len(kept_clusters))

    def _count_chunks(self, n: int) -> list[Floats]:
        """How often each of n clusters is drawn in each resample, in blocks of bounded size."""
        rng = np.random.default_rng(self._seed)
        step = max(1, _CHUNK_CELLS // max(n, 1))
        sizes = [min(step, self._resamples - done) for done in range(0, self._resamples, step)]
        return [rng.multinomial(n, np.full(n, 1 / n), size=size).astype(np.float64) for size in sizes]


def _nearest_rank(weights: Floats, q: float) -> npt.NDArray[np.intp]:
    cumulated = np.cumsum(weights, axis=1)
    needed = np.maximum(cumulated[:, -1:] * (q / 100.0), 1e-9)
    ranks: npt.NDArray[np.intp] = np.argmax(cumulated >= needed - 1e-9, axis=1)
    return ranks


def _interval(value: float, samples: Floats, *, n: int) -> Interval:
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(samples, [tail, 1 - tail])
    return Interval(float(value), float(low), float(high), n)
