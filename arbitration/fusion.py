"""Reciprocal rank fusion: logged for every candidate, used only to shorten a pool too large for one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

RRF_K = 60


def ranks_of(scores: Mapping[T, float]) -> dict[T, int]:
    """1-based ranks by descending score; equal scores keep the order given."""
    ordered = sorted(scores, key=lambda key: -scores[key])
    return {key: rank for rank, key in enumerate(ordered, start=1)}


def rrf_score(ranks: Sequence[int], k: int = RRF_K) -> float:
    """Sum of 1 / (k + rank) over the methods that found a candidate (Cormack et al., 2009)."""
    return sum(1.0 / (k + rank) for rank in ranks)
