"""Briefs: what an arbiter, a rule or a person reads about one candidate."""

from __future__ import annotations

from collections.abc import Sequence

from arbitration.contracts import CandidateBrief
from arbitration.protocols import LineRow
from arbitration.text import TermMatcher

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


def snippet_of(anchor: Sequence[LineRow], context: Sequence[LineRow], matcher: TermMatcher) -> str:
    """3 to 5 lines around the best matching ones of the anchor; a shorter anchor borrows from its context."""
    lines = list(anchor) if len(anchor) >= _FEWEST_LINES else _borrowed(anchor, context)
    if len(lines) > SNIPPET_LINES:
        start = _best_window([len(matcher.matched(line.text)) for line in lines], SNIPPET_LINES)
        lines = lines[start : start + SNIPPET_LINES]
    return "\n".join(_shortened(line.text, matcher) for line in lines)


def _borrowed(anchor: Sequence[LineRow], context: Sequence[LineRow]) -> list[LineRow]:
    if anchor[0] not in context:
        return list(anchor)
    low = context.index(anchor[0])
    high = low + len(anchor)
    while high - low < _FEWEST_LINES and (low > 0 or high < len(context)):
        high = min(high + 1, len(context))
        if high - low < _FEWEST_LINES:
            low = max(low - 1, 0)
    return list(context[low:high])


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


def _shortened(text: str, matcher: TermMatcher) -> str:
    """A very long line cut around its first match, the cuts marked."""
    if len(text) <= _LINE_CHARACTERS:
        return text
    found = matcher.find(text)
    start = max(0, (found[0].start if found else 0) - _LINE_CHARACTERS // 4)
    end = min(len(text), start + _LINE_CHARACTERS)
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
