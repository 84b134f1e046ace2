"""Briefs: what an arbiter, a rule or a person reads about one candidate."""

from __future__ import annotations

from collections.abc import Sequence

from arbitration.contracts import CandidateBrief
from arbitration.detectors.base import DetectorContext
from arbitration.protocols import LineRow

SNIPPET_LINES = 5
_FEWEST_LINES = 3
_LINE_CHARACTERS = 400

TWO_TERM_NOTE = "one keyword group only: a line needed two distinct terms"


def build_brief(
    *,
    candidate_id: str,
    methods: Sequence[str],
    breadcrumb: str | None,
    matched_keywords: Sequence[str],
    snippet: str,
    two_term_rule: bool,
) -> CandidateBrief:
    """A brief; where the two-distinct-terms rule stood in for a missing keyword group, it says so."""
    named = [f"{m} ({TWO_TERM_NOTE})" if m == "cooccurrence" and two_term_rule else m for m in methods]
    return CandidateBrief(
        candidate_id=candidate_id,
        methods=named,
        section=breadcrumb,
        matched_keywords=list(matched_keywords),
        snippet=snippet,
    )


def snippet_of(anchor: Sequence[LineRow], around: Sequence[LineRow], context: DetectorContext) -> str:
    """3 to 5 lines about the best matching ones of the anchor; a shorter anchor borrows from its context."""
    lines = list(anchor) if len(anchor) >= _FEWEST_LINES else _borrowed(anchor, around)
    if len(lines) > SNIPPET_LINES:
        counts = [len(held) for held in context.matched_in_each(lines)]
        start = _best_window(counts, SNIPPET_LINES)
        lines = lines[start : start + SNIPPET_LINES]
    return "\n".join(_shortened(line, context) for line in lines)


def _borrowed(anchor: Sequence[LineRow], around: Sequence[LineRow]) -> list[LineRow]:
    first = (anchor[0].page_num, anchor[0].line_num)
    low = next((i for i, line in enumerate(around) if (line.page_num, line.line_num) == first), None)
    if low is None:
        return list(anchor)
    high = low + len(anchor)
    while high - low < _FEWEST_LINES and (low > 0 or high < len(around)):
        high = min(high + 1, len(around))
        if high - low < _FEWEST_LINES:
            low = max(low - 1, 0)
    return list(around[low:high])


def _best_window(counts: Sequence[int], size: int) -> int:
    """Start of the window with the most matches, those matches as central as may be."""
    starts = range(len(counts) - size + 1)
    best = max(sum(counts[start : start + size]) for start in starts)
    candidates = [start for start in starts if sum(counts[start : start + size]) == best]
    if best == 0:
        return 0
    hits = [index for index, count in enumerate(counts) if count == max(counts)]
    centre = hits[0] - size // 2
    return min(candidates, key=lambda start: abs(start - centre))


def _shortened(line: LineRow, context: DetectorContext) -> str:
    """A very long line cut around its first match, the cuts marked."""
    text = line.text
    if len(text) <= _LINE_CHARACTERS:
        return text
    found = context.matcher(line.document_id).find(text)
    start = max(0, (found[0].start if found else 0) - _LINE_CHARACTERS // 4)
    end = min(len(text), start + _LINE_CHARACTERS)
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
