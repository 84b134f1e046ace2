"""The reasons that precedence gives people, in English and Spanish."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arbitration.contracts import CandidateScope
from arbitration.pool import PoolCandidate, Precedence
from arbitration.precedence.dates import effective_day
from arbitration.precedence.documents import DocumentFacts
from arbitration.precedence.scene import Pair
from arbitration.precedence.texts import Reading
from arbitration.text import shortened, supported_language

_QUOTED_WORDS = 24

_REASONS: dict[str, dict[str, str]] = {
    "en": {
        "replaced": "Replaced by {place}{since}.",
        "version": "Replaced by a later version, {place}{since}.",
        "amended": "Replaced by {place}{since}.",
        "exception": "General rule. An exception applies to this question: {place}.",
        "overridden": "Overridden by {place}: “{said}”.",
        "ended": "No longer in force, as “{title}” itself says; no text that follows it was found.",
        "since": ", with effect from {day}",
        "of": ", of {day}",
        "in_force": "In force: replaces {place}.",
        "in_force_exception": "Exception to {place}.",
        "in_force_overridden": "Prevails over {place}: “{said}”.",
        "lines": "p. {page}, lines {first}-{last}",
        "line": "p. {page}, line {first}",
        "pages": "p. {page}-{page_end}",
    },
    "es": {
        "replaced": "Sustituido por {place}{since}.",
        "version": "Sustituido por una versión posterior, {place}{since}.",
        "amended": "Sustituido por {place}{since}.",
        "exception": "Regla general. A esta pregunta se aplica una excepción: {place}.",
        "overridden": "Prevalece {place}: «{said}».",
        "ended": "Ya no está en vigor, según dice el propio «{title}»; no se encontró un texto posterior.",
        "since": ", con efecto desde {day}",
        "of": ", de {day}",
        "in_force": "En vigor: sustituye a {place}.",
        "in_force_exception": "Excepción a {place}.",
        "in_force_overridden": "Prevalece sobre {place}: «{said}».",
        "lines": "pág. {page}, líneas {first}-{last}",
        "line": "pág. {page}, línea {first}",
        "pages": "pág. {page}-{page_end}",
    },
}


@dataclass(frozen=True, slots=True)
class Said:
    """Puts pairs into words."""

    language: str
    facts: Mapping[str, DocumentFacts]
    is_collection: bool

    @property
    def _words(self) -> Mapping[str, str]:
        return _REASONS[supported_language(self.language)]

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
        )

    def ended(self, candidate_id: str, document: DocumentFacts) -> Precedence:
        """A candidate of a document that is over, without a successor."""
        words = self._words
        return Precedence(
            in_force_id=None,
            replaced_id=candidate_id,
            kind="ended",
            reason=words["ended"].format(title=document.title),
        )

    def _since(self, pair: Pair) -> str:
        """When the text in force began to apply, where it or its document says so."""
        words = self._words
        facts = self.facts.get(pair.over.candidate.document_id)
        day = effective_day(pair.over.candidate.anchor_text)
        if day is None and facts is not None and self.is_collection:
            day = effective_day(facts.opening)
            if day is None and facts.effective:
                form = "since" if facts.document.effective_date else "of"
                return words[form].format(day=facts.effective[1])
        return words["since"].format(day=day[1]) if day else ""

    def _place(self, reading: Reading) -> str:
        """“Title” (p. 1, lines 3-5): the document's title where there are several, else the section's."""
        candidate = reading.candidate
        facts = self.facts.get(candidate.document_id)
        title = facts.title if facts is not None and self.is_collection else candidate.section_title or ""
        marks = ("«", "»") if self.language == "es" else ("“", "”")
        named = f"{marks[0]}{title}{marks[1]} " if title else ""
        return f"{named}({self._lines(candidate)})"

    def _lines(self, candidate: PoolCandidate) -> str:
        words, anchor = self._words, candidate.anchor
        return words[_form(anchor)].format(
            page=anchor.page_start, first=anchor.line_start, last=anchor.line_end, page_end=anchor.page_end
        )


def _form(anchor: CandidateScope) -> str:
    if anchor.page_start != anchor.page_end:
        return "pages"
    return "line" if anchor.line_start == anchor.line_end else "lines"
