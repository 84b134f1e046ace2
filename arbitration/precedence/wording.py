"""The reasons that precedence gives people, in English and Spanish."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arbitration.contracts import CandidateScope
from arbitration.phrases import phrases
from arbitration.pool import PoolCandidate, Precedence
from arbitration.precedence.dates import applies_from
from arbitration.precedence.documents import DocumentFacts
from arbitration.precedence.scene import Pair
from arbitration.precedence.texts import Reading
from arbitration.text import shortened

_QUOTED_WORDS = 24


@dataclass(frozen=True, slots=True)
class Said:
    """Puts pairs into words."""

    language: str
    facts: Mapping[str, DocumentFacts]
    is_collection: bool

    @property
    def _words(self) -> Mapping[str, str]:
        return phrases("precedence", self.language)

    def precedence(self, pair: Pair) -> Precedence:
        """The pair with its reasons."""
        words, kind = self._words, pair.kind
        said = shortened(pair.said, words=_QUOTED_WORDS)
        own = f"in_force_{kind}" if f"in_force_{kind}" in words else "in_force"
        return Precedence(
            in_force_id=pair.over.candidate.candidate_id,
            replaced_id=pair.under.candidate.candidate_id,
            kind=kind,
            reason=words[kind].format(place=self._place(pair.over), since=self._since(pair), said=said),
            in_force_reason=words[own].format(place=self._place(pair.under), said=said),
            in_force_name=self._name(pair.over),
            replaced_name=self._name(pair.under),
            since=self._day(pair),
        )

    def ended(self, candidate_id: str, document: DocumentFacts) -> Precedence:
        """A candidate of a document that is over, without a successor."""
        words = self._words
        return Precedence(
            in_force_id=None,
            replaced_id=candidate_id,
            kind="ended",
            reason=words["ended"].format(title=document.title),
            replaced_name=document.title if self.is_collection else "",
        )

    def _since(self, pair: Pair) -> str:
        """When the text in force began to apply, where it or its document says so; else the date it goes by."""
        form, day = "since", self._day(pair)
        if not day and (facts := self._facts_of(pair)) is not None and facts.effective:
            form, day = "of", facts.effective[1]
        return self._words[form].format(day=day) if day else ""

    def _day(self, pair: Pair) -> str:
        """The day from which the text in force applies, as the text, its document or its record says; else nothing."""
        facts = self._facts_of(pair)
        stated = applies_from(pair.over.candidate.anchor_text)
        if stated or facts is None:
            return stated
        return applies_from(facts.opening) or facts.document.effective_date or ""

    def _facts_of(self, pair: Pair) -> DocumentFacts | None:
        """What is known of the document of the text in force, where there are several."""
        return self.facts.get(pair.over.candidate.document_id) if self.is_collection else None

    def _place(self, reading: Reading) -> str:
        """“Title” (p. 1, lines 3-5): the document's title where there are several, else the section's."""
        title = self._name(reading)
        marks = ("«", "»") if self.language == "es" else ("“", "”")
        named = f"{marks[0]}{title}{marks[1]} " if title else ""
        return f"{named}({self._lines(reading.candidate)})"

    def _name(self, reading: Reading) -> str:
        """The document's title where there are several, else the section's."""
        facts = self.facts.get(reading.candidate.document_id)
        if facts is not None and self.is_collection:
            return facts.title
        return reading.candidate.section_title or ""

    def _lines(self, candidate: PoolCandidate) -> str:
        words, anchor = self._words, candidate.anchor
        return words[_form(anchor)].format(
            page=anchor.page_start, first=anchor.line_start, last=anchor.line_end, page_end=anchor.page_end
        )


def _form(anchor: CandidateScope) -> str:
    if anchor.page_start != anchor.page_end:
        return "pages"
    return "line" if anchor.line_start == anchor.line_end else "lines"
