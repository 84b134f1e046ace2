"""Which sentence takes the lead in an answer or a reason: one that gives the value that the question asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from arbitration.expected_values import counted, counts, expected_kinds, gives_value
from arbitration.questions.model import ParsedQuestion
from arbitration.text import term_matcher


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """A sentence and its weight. ``order`` is the rank of its passage, best first, and its place there."""

    text: str
    language: str
    weight: float
    order: tuple[int, int]


AnyWeighed = TypeVar("AnyWeighed", bound=Weighed)


def giving_the_value(
    lead: AnyWeighed, sentences: Sequence[AnyWeighed], question: ParsedQuestion
) -> AnyWeighed:
    """The sentence that gives the value asked for where the one that leads gives none: of the same passage, or else of
    the next one that has such a sentence. It speaks of the matter too: it has half of the question's words that the
    leading one has. The leading one where there is none."""

    def words_met(sentence: AnyWeighed) -> int:
        matched = term_matcher(question.terms(), sentence.language).matched(sentence.text)
        return len({word for term in matched for word in term.split()})

    kinds, noun = expected_kinds(question.normalised), counted(question.normalised)
    gives = gives_value(lead.text, kinds)
    if not kinds or (gives and (not noun or counts(lead.text, noun, lead.language))):
        return lead
    enough = max(1, words_met(lead) / 2)
    giving = [s for s in sentences if gives_value(s.text, kinds) and words_met(s) >= enough]
    if noun:
        # A figure of something else may lead only where its own passage counts nothing, never that of another passage.
        beside = [s for s in giving if s.order[0] == lead.order[0]]
        counting = [s for s in (beside if gives else giving) if counts(s.text, noun, s.language)]
        giving = counting or ([] if gives else beside)
    return min(giving, key=lambda s: (s.order[0] != lead.order[0], s.order[0], -s.weight), default=lead)
