"""What came nearest where nothing was found."""

from __future__ import annotations

from arbitration.text import shortened
from workbench.runs.models import Candidate, Run
from workbench.runs.words import erased_words

#: Passages shown, and words of each.
MOST, WORDS = 3, 30


def nearest_of(run: Run) -> list[Candidate]:
    """The passages that the run rates highest, best first, each with the reason why it does not answer. One query."""
    rows = run.candidates.filter(verdict__isnull=False).select_related("verdict", "text", "document")
    return list(rows.order_by("verdict__order", "position")[:MOST])


def near_text(row: Candidate) -> str:
    """The first words of a passage."""
    text = getattr(row, "text", None)
    return shortened(text.anchor or text.snippet, words=WORDS) if text else erased_words()
