"""What pairs of passages are found in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from arbitration.pool import PrecedenceKind
from arbitration.precedence.documents import DocumentFacts
from arbitration.precedence.texts import Matter, Reading
from arbitration.questions.model import ParsedQuestion

#: Share of a subject in common from which two passages speak of one matter; less where one names the other's number.
SAME_MATTER, SAME_MATTER_NAMED = 0.25, 0.12


@dataclass(frozen=True)
class Scene:
    """The readings in the pool's order, the documents by id, and the sentences (document, sentence) that say which of
    two texts prevails. ``asked``: stems of the question."""

    question: ParsedQuestion
    asked: frozenset[str]
    readings: Sequence[Reading]
    facts: Mapping[str, DocumentFacts]
    orders: Sequence[tuple[str, str]] = ()
    is_collection: bool = False
    _by_document: dict[str, list[Reading]] = field(default_factory=dict)

    @cached_property
    def matter(self) -> Matter:
        """The question's words with their weights among the readings."""
        return Matter.of(self.asked, self.readings)

    def of(self, document_id: str) -> list[Reading]:
        """The readings of one document."""
        if not self._by_document:
            for reading in self.readings:
                self._by_document.setdefault(reading.candidate.document_id, []).append(reading)
        return self._by_document.get(document_id, [])

    def is_singled_out(self, over: frozenset[str], under: Reading) -> bool:
        """Whether the question is about the case of an exception: it has words of the exception that the rule does not
        have, and they weigh no less than the words that only the rule has."""
        own, others = self.matter.only_in(over, under.stems), self.matter.only_in(under.stems, over)
        return own > 0.0 and own >= others


@dataclass(frozen=True, slots=True)
class Pair:
    """``over`` prevails over ``under``; ``said`` is the sentence that says so, if any."""

    over: Reading
    under: Reading
    kind: PrecedenceKind
    said: str = ""
