"""Decides which evidence each ranked candidate finds. The ANCHOR alone counts, never its context.

A candidate hits a unit of evidence when its anchor stands in the same section or passage, on one page of
the evidence, or is an anchor of at most 120 words that overlaps it. Each unit counts once, where it is first
found: a later candidate that finds nothing new holds its rank and gains nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from arbitration.evaluation.linemap import LineMap, UnitSpan
from arbitration.evaluation.records import (
    EvalQuestion,
    EvidenceUnit,
    PageEvidence,
    PassageEvidence,
    RankedAnchor,
    SpanEvidence,
    TextEvidence,
)
from arbitration.evaluation.wordforms import plain

MAX_ANCHOR_WORDS = 120
#: A candidate finds quoted evidence when its own text holds so many of the quote's first characters.
QUOTED_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class Judgement:
    """One ranked list against the evidence of its question.

    ``found[r]`` holds the indexes of the evidence units first found at rank r (0-based); ``relevances`` the
    grade of each unit; ``holders`` the ranks that find some evidence on their own, in order.
    """

    found: tuple[tuple[int, ...], ...]
    relevances: tuple[int, ...]
    holders: tuple[int, ...] = ()

    @property
    def first_hit(self) -> int | None:
        """1-based rank of the first candidate that finds evidence; ``None`` when none does."""
        return next((rank for rank, units in enumerate(self.found, start=1) if units), None)


class Judge:
    """Judges anchors of one labelled set. ``line_maps`` holds a map for each document, by (collection,
    document id), whose evidence is finer than a page; documents with page evidence need none."""

    def __init__(self, line_maps: Mapping[tuple[str, str], LineMap]) -> None:
        self._line_maps = line_maps

    def judge(self, question: EvalQuestion, ranking: Sequence[RankedAnchor]) -> Judgement:
        """What each rank of the list finds that no earlier rank has found."""
        units = dict(enumerate(question.evidence))
        seen: set[int] = set()
        found: list[tuple[int, ...]] = []
        holders: list[int] = []
        for rank, anchor in enumerate(ranking):
            hits = self._hits(question.collection, anchor, units)
            if hits:
                holders.append(rank)
            found.append(tuple(index for index in hits if index not in seen))
            seen.update(hits)
        return Judgement(tuple(found), tuple(unit.relevance for unit in question.evidence), tuple(holders))

    def is_hit(self, question: EvalQuestion, anchor: RankedAnchor) -> bool:
        """Whether the anchor, on its own, finds any evidence: the label of a training pair."""
        return bool(self._hits(question.collection, anchor, dict(enumerate(question.evidence))))

    def _hits(
        self, collection: str, anchor: RankedAnchor, units: Mapping[int, EvidenceUnit]
    ) -> tuple[int, ...]:
        same_document = {i: unit for i, unit in units.items() if unit.document_id == anchor.document_id}
        if not same_document:
            return ()
        line_map = self._line_maps.get((collection, anchor.document_id))
        spans = line_map.spans(anchor) if line_map else ()
        overlapped = tuple(i for i, unit in same_document.items() if _overlaps(unit, anchor, spans))
        if not overlapped or not any(isinstance(same_document[i], SpanEvidence) for i in overlapped):
            return overlapped
        is_short = line_map is not None and line_map.word_count(spans) <= MAX_ANCHOR_WORDS
        return overlapped if is_short else ()


def _overlaps(unit: EvidenceUnit, anchor: RankedAnchor, spans: Sequence[UnitSpan]) -> bool:
    match unit:
        case PassageEvidence():
            return len(spans) == 1 and spans[0].unit_id == unit.unit_id
        case PageEvidence():
            return _on_page(unit, anchor)
        case SpanEvidence():
            return any(
                span.unit_id == unit.unit_id and span.start < unit.end and unit.start < span.end
                for span in spans
            )
        case TextEvidence():
            is_short = anchor.word_count is not None and anchor.word_count <= MAX_ANCHOR_WORDS
            return is_short and plain(unit.text)[:QUOTED_CHARACTERS] in plain(anchor.text)


def _on_page(unit: PageEvidence, anchor: RankedAnchor) -> bool:
    if anchor.page_start == anchor.page_end:
        return unit.page_from <= anchor.page_start <= unit.page_to
    is_short = anchor.word_count is not None and anchor.word_count <= MAX_ANCHOR_WORDS
    return is_short and anchor.page_start <= unit.page_to and unit.page_from <= anchor.page_end
