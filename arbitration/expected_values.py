"""Answers that are values: who asks how long, how much or by when is answered by a duration, a sum or a date.

Which kinds a question expects is read from its wording, in English and Spanish; a passage is looked at for such a value
in a sentence that has words of the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

from arbitration.pattern_files import PatternFile
from arbitration.questions.model import ParsedQuestion
from arbitration.text import content_stems, normalise, stem, words

ValueKind = Literal["money", "percent", "duration", "date", "number"]

#: Characters of a text that are read.
MOST_CHARACTERS = 4000

_FILE = PatternFile(__file__)
_VALUES: tuple[tuple[ValueKind, re.Pattern[str]], ...] = tuple(
    (kind, _FILE.compiled(pattern)) for kind, pattern in _FILE.table["values"].items()
)
_QUESTIONS: tuple[tuple[frozenset[ValueKind], re.Pattern[str]], ...] = tuple(
    (frozenset(one["kinds"]), _FILE.compiled(one["pattern"])) for one in _FILE.table["asked"]
)


_COUNTED = re.compile(r"\b(?:how many|cuánt[oa]s) (?P<noun>[^\W\d_]{3,})", re.IGNORECASE)
#: Characters behind a number in which stands what it counts.
_NEAR = 40
_SENTENCE = re.compile(r"(?<=[.?!;]) (?=\S)")


class Value(NamedTuple):
    """A value of a text, as written, with the offset at which it stands."""

    kind: ValueKind
    text: str
    start: int


def values_in(text: str) -> list[Value]:
    """The values of a text in reading order; what is a sum, a share, a time or a date is no bare number besides."""
    plain = text[:MOST_CHARACTERS]
    found: list[Value] = []
    taken: list[tuple[int, int]] = []
    for kind, pattern in _VALUES:
        for match in pattern.finditer(plain):
            start, end = match.span()
            if not any(first < end and start < last for first, last in taken):
                found.append(Value(kind, match[0], start))
                taken.append((start, end))
    return sorted(found, key=lambda value: value.start)


def expected_kinds(question: str) -> frozenset[ValueKind]:
    """The kinds of value that a question asks for; empty where it asks for none."""
    return next(
        (kinds for kinds, pattern in _QUESTIONS if pattern.search(question[:MOST_CHARACTERS])), frozenset()
    )


def gives_value(text: str, kinds: frozenset[ValueKind]) -> bool:
    """Whether a text, as it is written, holds a value of one of these kinds."""
    return any(value.kind in kinds for value in values_in(normalise(text)))


def counted(question: str) -> str:
    """What a question wants counted: "songs" of "how many songs"; empty where it counts nothing, or asks for a time."""
    found = _COUNTED.search(question[:MOST_CHARACTERS])
    return found["noun"] if found and expected_kinds(question) == {"number"} else ""


def counts(text: str, noun: str, language: str) -> bool:
    """Whether a text gives a number of something: "five (5) songs"."""
    wanted = stem(noun, language)
    plain = normalise(text)
    return any(
        wanted in [stem(word, language) for word in words(plain[value.start + len(value.text) :][:_NEAR])[:3]]
        for value in values_in(plain)
        if value.kind == "number"
    )


def asking_words(question: str) -> tuple[str, ...]:
    """The words by which a question asks for a value ("how long"): an answer need not repeat them."""
    plain = question[:MOST_CHARACTERS]
    found = next((match for _, pattern in _QUESTIONS if (match := pattern.search(plain))), None)
    return tuple(words(found[0])) if found else ()


@dataclass(frozen=True, slots=True)
class ExpectedValues:
    """What a question expects, and the stems of its words by language."""

    kinds: frozenset[ValueKind]
    wordings: tuple[str, ...]

    @classmethod
    def of(cls, question: ParsedQuestion) -> Self:
        """Of a parsed question."""
        return cls(expected_kinds(question.normalised), tuple(text for text, _ in question.wordings))

    def signal(self, lines: Sequence[str], language: str) -> float | None:
        """Share of the question's words in the sentence of a passage that holds a value of a kind asked for, 0 to 1;
        ``None`` where none is asked for."""
        if not self.kinds:
            return None
        asked = frozenset(stem for text in self.wordings for stem in content_stems(text, language))
        best = 0.0
        for sentence in _sentences(lines):
            if any(value.kind in self.kinds for value in values_in(sentence)):
                best = max(
                    best, len(asked.intersection(content_stems(sentence, language))) / max(1, len(asked))
                )
        return best


def _sentences(lines: Sequence[str]) -> Iterator[str]:
    yield from _SENTENCE.split(normalise("\n".join(lines)[:MOST_CHARACTERS]))
