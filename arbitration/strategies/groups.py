"""Named groups of strategies, so that a whole comparison can be asked for by one name."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

#: The ablation ladder of engines.md, one ingredient more on each rung, up to the strategies built on it.
LADDER = (
    "bm25",
    "semantic",
    "rrf",
    "semantic+keyword",
    "semantic+gates",
    "r-flow-mlp",
    "offline",
)
GROUPS = MappingProxyType({"ladder": LADDER})


def expanded(names: Sequence[str]) -> list[str]:
    """The names with each group replaced by its members, first occurrence of each, in order."""
    members = [member for name in names for member in GROUPS.get(name, (name,))]
    return list(dict.fromkeys(members))
