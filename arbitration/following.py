"""Cross-references, followed on request: "see clause 7.3" in a passage that was found leads to clause 7.3.

One step only, from the best passages, inside their own document. What is reached this way is a candidate like any
other; that something refers to it is no evidence by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from arbitration.detectors.base import Anchor, DetectorContext, section_span
from arbitration.pool import PoolCandidate
from arbitration.protocols import SectionRow
from arbitration.questions.model import SectionReference
from arbitration.questions.references import match_address, parse_references, section_address
from arbitration.settings import MethodName

METHOD: MethodName = "references"
#: Passages whose references are followed, and sections reached, at most.
MOST_PASSAGES = 12
MOST_SECTIONS = 24
_WHOLE = 0.9  # the section named, or a part of it; not one that merely holds it


def followed_references(candidates: Sequence[PoolCandidate], context: DetectorContext) -> list[Anchor]:
    """Anchors of the sections that the best candidates refer to, those of the best one first."""
    best = sorted(candidates, key=lambda candidate: candidate.rrf_rank)[:MOST_PASSAGES]
    named = [(candidate, parse_references(candidate.anchor_text)[0]) for candidate in best]
    texts = list(dict.fromkeys(reference.text for _, references in named for reference in references))
    if not texts:
        return []
    rows = context.session.sections_numbered(texts, limit=4 * MOST_SECTIONS)
    anchors: dict[tuple[str, str], Anchor] = {}
    for rank, (candidate, references) in enumerate(named):
        for reference in references:
            for row in _meant(reference, candidate, rows):
                key = (row.document_id, row.section_id)
                if key not in anchors and len(anchors) < MOST_SECTIONS:
                    anchors[key] = _anchor(row, candidate, reference, rank)
    return list(anchors.values())


def _meant(
    reference: SectionReference, candidate: PoolCandidate, rows: Sequence[SectionRow]
) -> list[SectionRow]:
    """The sections of the candidate's own document that a reference names; its own section is not one."""
    return [
        row
        for row in rows
        if row.document_id == candidate.document_id
        and row.section_id != candidate.anchor.section_id
        and match_address(reference.address, section_address(row.title, row.breadcrumb)) >= _WHOLE
    ]


def _anchor(row: SectionRow, candidate: PoolCandidate, reference: SectionReference, rank: int) -> Anchor:
    return Anchor(
        method=METHOD,
        span=section_span(row),
        score=1.0 / (1 + rank),
        why=f"{candidate.candidate_id} refers to {reference.text}; this is '{row.title}'",
        section_id=row.section_id,
        section=row,
    )
