"""Passages as precedence reads them: sentences, what each is about, and the addresses that stand before them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.questions.references import leading_address, section_address
from arbitration.text import content_stems, normalise

#: Characters of a passage that are read; an anchor holds about 700.
MOST_CHARACTERS = 4000
_END = re.compile(r"(?<=[.?!;:])[\"'”’»)\]]{0,3} (?=[\"'“‘«(\[¿¡]{0,3}[A-ZÀ-Þ0-9])")
#: What ends with a point and no sentence: "No. 1", "Rev. 2", "p. 3".
_SHORTENED = re.compile(
    r"(?:\b(?:no|nos|rev|art|arts|sec|cl|cap|p|pp|para|vol|ver|v|núm|num|pág|mr|ms|mrs|dr|st|inc|ltd|co|corp)\.)\Z",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d")
#: A line that a number opens ("4.2 The Client", "Section 1. The board"), and not one that speaks of a place
#: ("Section 2 does not apply").
_OPENS = re.compile(r"\s{0,4}(?:[\d(\[]|\w{1,12}\.? {1,3}[\w.]{1,12}(?:[.:)\]–—-]|\Z))")
_LEAD = re.compile(r"\W{0,3}(?:\d{1,3}(?:\.\d{1,3}){0,4}[.)]?|\([a-z0-9]{1,3}\))\Z", re.IGNORECASE)


def sentences_of(text: str) -> Iterator[str]:
    """The sentences of a text, white space made one. A number that opens a clause stays with it."""
    flat = normalise(text[:MOST_CHARACTERS])
    begin = 0
    for match in _END.finditer(flat):
        part = flat[begin : match.start()]
        if _SHORTENED.search(part) or _LEAD.match(part):
            continue
        yield part
        begin = match.end()
    if flat[begin:]:
        yield flat[begin:]


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence and the stems of its content words, numbers aside."""

    text: str
    stems: frozenset[str]


@dataclass(frozen=True)
class Reading:
    """A candidate as its own words tell it: sentences without the heading, and where it may be cited from."""

    candidate: PoolCandidate
    language: str

    @classmethod
    def of(cls, candidate: PoolCandidate, pool: CandidatePool) -> Self:
        """A candidate of a pool, read in its document's language."""
        document = pool.document(candidate.document_id)
        return cls(candidate, document.language if document else "en")

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences of the anchor; its section's heading is none of them."""
        lines = self.candidate.anchor_text.split("\n")
        title = normalise(self.candidate.section_title or "")
        if title and lines and normalise(lines[0]) == title:
            lines = lines[1:]
        return tuple(
            Sentence(text, subject_stems(text, self.language)) for text in sentences_of("\n".join(lines))
        )

    @cached_property
    def stems(self) -> frozenset[str]:
        """Of all sentences and the section's title."""
        of_title = subject_stems(self.candidate.section_title or "", self.language)
        return of_title.union(*(sentence.stems for sentence in self.sentences))

    @cached_property
    def addresses(self) -> tuple[tuple[str, ...], ...]:
        """The address of its section, and of each numbered line in it."""
        own = section_address(self.candidate.section_title or "", self.candidate.breadcrumb or "")
        opened = (line[:200] for line in self.candidate.anchor_text.split("\n")[:60] if _OPENS.match(line))
        lines = [leading_address(line) for line in opened]
        numbered = [(*(step for step in own if step not in line), *line) for line in lines if line]
        return tuple(dict.fromkeys(address for address in (own, *numbered) if address))


def subject_stems(text: str, language: str) -> frozenset[str]:
    """Stems of the content words, without numbers: what a text is about, whatever figures it gives."""
    return frozenset(stem for stem in content_stems(text, language) if not _NUMBER.search(stem))


@dataclass(frozen=True)
class Matter:
    """What was asked, and how much each word tells passages apart: ln(1 + n / df) over n passages."""

    asked: frozenset[str]
    weights: Mapping[str, float]

    @classmethod
    def of(cls, asked: frozenset[str], readings: Sequence[Reading]) -> Self:
        """The weights over some passages."""
        counts = Counter(stem for reading in readings for stem in reading.stems)
        size = len(readings)
        return cls(asked, {stem: math.log1p(size / n) for stem, n in counts.items()})

    def shared(self, one: Sequence[Sentence], other: Sequence[Sentence]) -> float:
        """How far sentences of two passages speak of one matter that was asked about, 0 to 1: of the pair nearest to
        each other the weight of the words in common, as a share of the lighter one. What was asked must be among
        them."""
        best = 0.0
        for first in self._telling(one):
            for second in self._telling(other):
                common = first.stems & second.stems
                if len(common) >= _FEWEST_SHARED and common & self.asked:
                    lighter = min(self._weight(first.stems), self._weight(second.stems))
                    best = max(best, self._weight(common) / (lighter or 1.0))
        return best

    def only_in(self, one: frozenset[str], other: frozenset[str]) -> float:
        """The weight of what was asked that one has and the other has not."""
        return self._weight(self.asked & one - other)

    def _weight(self, stems: frozenset[str]) -> float:
        return sum(self.weights.get(stem, _RARE) for stem in stems)

    def _telling(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """The sentences that hold most of what was asked."""
        held = [sentence for sentence in sentences if sentence.stems & self.asked]
        return sorted(held, key=lambda sentence: -self._weight(sentence.stems & self.asked))[:_MOST_TELLING]


_FEWEST_SHARED = 2
_RARE = 1.0
_MOST_TELLING = 3
