"""Cross-references: "subject to clause 7.3" in a passage that was found leads to clause 7.3.

What a passage depends on is read by default, every other reference on request. One step only, from the best passages,
inside their own document. What is reached this way is a candidate like any other; that something refers to it is no
evidence by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

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
#: The same of what is read by default, and lines of a section that are read then.
MOST_DEPENDING, MOST_DEPENDED_ON, _LINES = 6, 6, 12
_NEAR = 48  # characters between "subject to" and the number
MOST_CHARACTERS = 4000
_DEPENDS = re.compile(
    r"\b(?:subject (?:always |only )?to|notwithstanding|without prejudice to|except(?:ing)? as|save as"
    r"|in accordance with"
    r"|(?:as|so|is|are|conditions|cases|manner|amounts?|periods?|requirements?|exceptions?|limits?) "
    r"(?:set out|set forth|defined|described|specified|provided(?: for)?|listed|stated|laid down|referred to"
    r"|mentioned) (?:in|under|by)"
    r"|has the meaning (?:given|set out|set forth|assigned).{0,12} in|for the purposes? of"
    r"|sujet[oa]s? a|sin perjuicio de|con arreglo a|de conformidad con|a los efectos de|salvo lo (?:dispuesto"
    r"|previsto) en"
    r"|(?:previst|establecid|definid|descrit|indicad)[oa]s? en)\b",
    re.IGNORECASE,
)


def followed_references(candidates: Sequence[PoolCandidate], context: DetectorContext) -> list[Anchor]:
    """Anchors of the sections that the best candidates refer to, those of the best one first."""
    named = [
        (candidate, parse_references(candidate.anchor_text)[0])
        for candidate in _best(candidates, MOST_PASSAGES)
    ]
    return _sections(named, context, most=MOST_SECTIONS, most_each=MOST_SECTIONS)


def depended_on(text: str) -> tuple[SectionReference, ...]:
    """The places that a text depends on: it is subject to them, or leaves to them what it does not say itself."""
    plain = " ".join(text[:MOST_CHARACTERS].split())
    found: dict[SectionReference, None] = {}
    for match in _DEPENDS.finditer(plain):
        references, spans = parse_references(plain[match.end() : match.end() + 2 * _NEAR])
        if references and min(start for start, _ in spans) <= _NEAR:
            found[references[0]] = None
    return tuple(found)


def operative_references(candidates: Sequence[PoolCandidate], context: DetectorContext) -> list[Anchor]:
    """Anchors of the first lines of the sections that the best candidates depend on."""
    named = [
        (candidate, depended_on(candidate.anchor_text)) for candidate in _best(candidates, MOST_DEPENDING)
    ]
    return [_beginning(anchor) for anchor in _sections(named, context, most=MOST_DEPENDED_ON, most_each=1)]


def _best(candidates: Sequence[PoolCandidate], most: int) -> list[PoolCandidate]:
    return sorted(candidates, key=lambda candidate: candidate.rrf_rank)[:most]


def _sections(
    named: Sequence[tuple[PoolCandidate, Sequence[SectionReference]]],
    context: DetectorContext,
    *,
    most: int,
    most_each: int,
) -> list[Anchor]:
    """The sections that candidates name, each once, those of the best candidate first: ``most`` in all, ``most_each``
    for one reference."""
    texts = list(dict.fromkeys(reference.text for _, references in named for reference in references))
    if not texts:
        return []
    rows = context.session.sections_numbered(texts, limit=4 * most)
    anchors: dict[tuple[str, str], Anchor] = {}
    for rank, (candidate, references) in enumerate(named):
        for reference in references:
            for row in _meant(reference, candidate, rows)[:most_each]:
                key = (row.document_id, row.section_id)
                if key not in anchors and len(anchors) < most:
                    anchors[key] = _anchor(row, candidate, reference, rank)
    return list(anchors.values())


def _beginning(anchor: Anchor) -> Anchor:
    """The first lines of a section instead of all of it."""
    span = anchor.span
    last = min((span.page_end, span.line_end), (span.page_start, span.line_start + _LINES - 1))
    return replace(anchor, span=replace(span, page_end=last[0], line_end=last[1]), section=None)


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
