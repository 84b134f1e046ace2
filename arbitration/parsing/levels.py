"""Levels of headings from what they look like and how they are numbered.

A larger heading is above a smaller one, "Part" above "Article", 2 above 2.1. Kinds that nothing orders (capitals,
letters, no number) go below the heading that was open when the kind first came, and stay there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

_SAME_SIZE = 0.4  # points


class Look(NamedTuple):
    """How a heading looks.

    ``kind`` is ("named", rank of the division), ("decimal", depth), ("letter", depth), ("item", 0) or ("none", 0).
    """

    size: float
    bold: bool
    caps: bool
    kind: tuple[str, int]


def levels_of(looks: Iterable[Look]) -> list[int]:
    """One level per heading, 1 for the top, without gaps."""
    ranks: dict[Look, float] = {}
    open_headings: list[tuple[float, Look]] = []
    levels: list[int] = []
    for look in looks:
        if look not in ranks:
            ranks[look] = _first_rank(look, ranks, open_headings)
        rank = ranks[look]
        while open_headings and open_headings[-1][0] >= rank:
            open_headings.pop()
        open_headings.append((rank, look))
        levels.append(len(open_headings))
    return levels


def _first_rank(look: Look, ranks: dict[Look, float], open_headings: list[tuple[float, Look]]) -> float:
    """The rank of a kind that comes for the first time: below every open heading that is above it by nature."""
    stated = _rank_beside(look, ranks)
    if stated is not None:
        return stated
    above = [rank for rank, other in open_headings if _is_above(other, look)]
    return max(above) + 1.0 if above else 0.0


def _rank_beside(look: Look, ranks: dict[Look, float]) -> float | None:
    """The rank that a decimal number has from other depths of the same look: 2.1 is one below 2."""
    name, depth = look.kind
    if name not in ("decimal", "letter"):
        return None
    for other, rank in ranks.items():
        if other.kind[0] == name and abs(other.size - look.size) <= _SAME_SIZE and other.kind[1] == depth:
            return rank if other.bold == look.bold else None
    nearest = [
        (depth - other.kind[1], rank)
        for other, rank in ranks.items()
        if other.kind[0] == name and other.kind[1] < depth and other.size >= look.size - _SAME_SIZE
    ]
    if not nearest:
        return None
    steps, rank = min(nearest)
    return rank + steps


def _is_above(other: Look, look: Look) -> bool:
    if abs(other.size - look.size) > _SAME_SIZE:
        return other.size > look.size
    if other.kind[0] == look.kind[0] and other.kind[0] in ("named", "decimal", "letter"):
        return other.kind[1] < look.kind[1]
    if look.kind[0] == "named":
        return False
    if other.kind[0] == "named":
        return True
    if (other.bold, other.caps) != (look.bold, look.caps):
        return (other.caps, other.bold) > (look.caps, look.bold)
    return True
