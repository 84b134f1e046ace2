"""What changed between two versions of a text, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arbitration.alignment import changes


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a comparison; ``kind`` is ``same``, ``added`` or ``removed``."""

    kind: str
    text: str


def line_diff(old: Sequence[str], new: Sequence[str]) -> list[DiffLine]:
    """Every line of both, in reading order."""
    found: list[DiffLine] = []
    for kind, old_start, old_end, new_start, new_end in changes(old, new):
        if kind == "equal":
            found += [DiffLine("same", line) for line in old[old_start:old_end]]
            continue
        found += [DiffLine("removed", line) for line in old[old_start:old_end]]
        found += [DiffLine("added", line) for line in new[new_start:new_end]]
    return found
