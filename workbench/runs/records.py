"""What the rows of a candidate say of it: its place, and the machine's verdict."""

from __future__ import annotations

from arbitration.contracts import CandidateScope

from .models import Candidate, Verdict


def verdict_of(candidate: Candidate) -> Verdict | None:
    """The machine's verdict, if it was given already."""
    return getattr(candidate, "verdict", None)


def decider_fields(verdict: Verdict) -> dict[str, str]:
    """Who decided, as pages and receipts hold it; ``version`` is empty where there is none."""
    return {
        "kind": verdict.decided_by_kind,
        "name": verdict.decided_by_name,
        "version": verdict.decided_by_version,
    }


def anchor_of(candidate: Candidate) -> CandidateScope:
    """Where the evidence stands."""
    return CandidateScope(
        page_start=candidate.anchor_page_start,
        page_end=candidate.anchor_page_end,
        line_start=candidate.anchor_line_start,
        line_end=candidate.anchor_line_end,
        section_id=candidate.section_id or None,
    )


def context_of(candidate: Candidate) -> CandidateScope:
    """What is shown around it; contains the anchor."""
    return CandidateScope(
        page_start=candidate.context_page_start,
        page_end=candidate.context_page_end,
        line_start=candidate.context_line_start,
        line_end=candidate.context_line_end,
        section_id=candidate.section_id or None,
    )
