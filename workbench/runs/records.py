"""The place of a candidate and the machine's verdict, from its rows."""

from __future__ import annotations

from arbitration.contracts import CandidateScope

from .models import Candidate, Verdict


def verdict_of(candidate: Candidate) -> Verdict | None:
    """The machine's verdict, if there is one yet."""
    return getattr(candidate, "verdict", None)


def decider_fields(verdict: Verdict) -> dict[str, str]:
    """Who decided, for pages and receipts. ``version`` is empty if there is none."""
    return {
        "kind": verdict.decided_by_kind,
        "name": verdict.decided_by_name,
        "version": verdict.decided_by_version,
    }


def anchor_of(candidate: Candidate) -> CandidateScope:
    """The lines of the evidence."""
    return CandidateScope(
        page_start=candidate.anchor_page_start,
        page_end=candidate.anchor_page_end,
        line_start=candidate.anchor_line_start,
        line_end=candidate.anchor_line_end,
        section_id=candidate.section_id or None,
    )


def span_of(candidate: Candidate) -> tuple[tuple[int, int], tuple[int, int]]:
    """The first and the last line of the evidence, each as page and line."""
    return (
        (candidate.anchor_page_start, candidate.anchor_line_start),
        (candidate.anchor_page_end, candidate.anchor_line_end),
    )


def context_of(candidate: Candidate) -> CandidateScope:
    """The lines shown around it, including the anchor."""
    return CandidateScope(
        page_start=candidate.context_page_start,
        page_end=candidate.context_page_end,
        line_start=candidate.context_line_start,
        line_end=candidate.context_line_end,
        section_id=candidate.section_id or None,
    )
