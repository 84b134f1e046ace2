"""What changed between two versions of a text, line by line."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a comparison; ``kind`` is ``same``, ``added`` or ``removed``."""

    kind: str
    text: str


def line_diff(old: Sequence[str], new: Sequence[str]) -> list[DiffLine]:
    """Every line of both, in reading order."""
    kinds = {"  ": "same", "+ ": "added", "- ": "removed"}
    return [DiffLine(kinds[line[:2]], line[2:]) for line in difflib.ndiff(old, new) if line[:2] in kinds]
