"""Queries of an index of words that find whatever :class:`arbitration.text.TermMatcher` finds, whatever keeps the index
(:mod:`.text_index`).

The matcher is generous: words by their stems, phrases also written as one word, long words also written apart
(``cyber security``), codes whatever stands between their parts (``ISO 27001``). An index that is less generous would
prove an absence that is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from arbitration.text import (
    fold,
    index_terms,
    is_code,
    join_letter_spaced,
    stem,
    stem_each,
    stems,
    words,
)

WORDS, PARTS = "words", "parts"
#: Stands between lines in the field of parts, so that no phrase crosses a line. No text holds it as a word.
LINE_BREAK = "|"
_PART = re.compile(r"[^\W\d_]+|\d+")
_APART_FROM = 10  # as in the matcher: shorter stems are never looked for in pieces
_MOST_PIECES = 3
_FEW = 50


def index_words(text: str, language: str) -> list[str]:
    """The words a text is found by; a code is one word, without the blanks inside it."""
    return [word.replace(" ", "") for word in index_terms(text, language)]


def parts(text: str) -> list[str]:
    """Runs of letters and runs of digits, folded: what codes and words written apart are made of."""
    return _PART.findall(fold(join_letter_spaced(text)))


def query_words(terms: Sequence[str], language: str) -> list[str]:
    """The words of terms as the index holds them."""
    found: list[str] = []
    for term in terms:
        found += [fold(term).replace(" ", "")] if is_code(term) else stems(term, language)
    return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class Phrase:
    """Entries that hold the words one after another in a field; a single word is a phrase of one."""

    field: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Combined:
    """Entries that match any of the queries, or all of them."""

    queries: tuple[Query, ...]
    holds_all: bool = False


Query = Phrase | Combined


class Vocabulary(Protocol):
    """The parts that the entries of one kind are made of."""

    def expect(self, word: str) -> None:
        """Pieces of this word are asked for next."""

    def holds(self, piece: str) -> bool:
        """Whether it is a part of any entry."""

    def beginnings(self, each: Sequence[str]) -> list[list[str]]:
        """The parts that begin so, for each of these beginnings."""


#: Terms whose queries are kept for one state of an index.
_KEPT = 4096
#: Parts that are kept by their beginning: a few megabytes.
_PARTS_KEPT = 100_000


@dataclass(frozen=True, slots=True)
class TermQueries:
    """Makes the queries of terms for one state of an index; those of a term that comes again are kept."""

    vocabulary: Vocabulary
    _known: dict[tuple[str, str], list[Query]] = field(default_factory=dict)
    _beginnings: dict[str, list[str]] = field(default_factory=dict)
    _counts: dict[tuple[str, str], int] = field(default_factory=dict)

    def known_count(self, term: str, language: str) -> int | None:
        """How many entries of the whole index hold the term; None while nobody counted."""
        return self._counts.get((term, language))

    def keep_count(self, term: str, language: str, count: int) -> None:
        """Remembers a count for as long as the index stays as it is."""
        if len(self._counts) >= _KEPT:
            self._counts.clear()
        self._counts[term, language] = count

    def holding(self, term: str, language: str) -> list[Query]:
        """Queries of which one or more find every entry that holds the term."""
        known = self._known.get((term, language))
        if known is None:
            known = self._holding(term, language)
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[term, language] = known
        return known

    def _holding(self, term: str, language: str) -> list[Query]:
        if is_code(term):
            return list(self._code(term))
        sequence = stems(term, language)
        if not sequence:
            return []
        found: list[Query] = [self._phrase(WORDS, sequence)]
        single = sequence[0]
        if len(sequence) > 1:
            single = stem("".join(words(term)), language)
            found.append(self._phrase(WORDS, [single]))
        return [*found, *self._apart(single, language)]

    def special(self, terms: Sequence[str], language: str) -> list[Query]:
        """The queries of terms that their single words would not find."""
        return [
            query for term in terms for query in self.holding(term, language)[0 if is_code(term) else 1 :]
        ]

    def _code(self, code: str) -> Iterator[Query]:
        yield self._phrase(WORDS, [fold(code).replace(" ", "")])
        pieces = parts(code)
        if pieces:
            yield self._phrase(PARTS, pieces)
            yield self._phrase(PARTS, [*pieces[:-1], f"{pieces[-1]}s"])  # plural of an acronym

    def _apart(self, wanted: str, language: str) -> Iterator[Query]:
        """A long word in two or three pieces; only pieces that the index holds are tried."""
        if len(wanted) < _APART_FROM:
            return
        self.vocabulary.expect(wanted)
        begin = wanted[:-1]  # the last letter of a stem may differ in the text (policy, polici)
        cuts = list(self._cut(begin, _MOST_PIECES))
        self._look_up([rest for *_, rest in cuts])
        for *first, rest in cuts:
            for last in self._continuations("".join(first), rest, wanted, language):
                yield self._phrase(PARTS, [*first, last])

    def _continuations(self, start: str, rest: str, wanted: str, language: str) -> list[str]:
        """Parts that may end the word; of very many only those that give its stem."""
        found = self._parts_with(rest)
        if len(found) <= _FEW:
            return found
        whole = stem_each([start + last for last in found], language)
        return [last for last, word_stem in zip(found, whole, strict=True) if word_stem == wanted]

    def _parts_with(self, beginning: str) -> list[str]:
        """The parts that begin so. Of one letter there are thousands, and the next long word asks for them again."""
        known = self._beginnings.get(beginning)
        return self._look_up([beginning])[beginning] if known is None else known

    def _look_up(self, beginnings: Sequence[str]) -> dict[str, list[str]]:
        """The parts with each of these beginnings that is not known yet; asked for together."""
        unknown = [beginning for beginning in dict.fromkeys(beginnings) if beginning not in self._beginnings]
        found = dict(zip(unknown, self.vocabulary.beginnings(unknown), strict=True)) if unknown else {}
        for beginning, known in found.items():
            if sum(map(len, list(self._beginnings.values()))) + len(known) > _PARTS_KEPT:
                self._beginnings.clear()
            if len(known) <= _PARTS_KEPT:
                self._beginnings[beginning] = known
        return found

    def _cut(self, text: str, most: int) -> Iterator[list[str]]:
        for place in range(1, len(text)):
            if not self.vocabulary.holds(text[:place]):
                continue
            yield [text[:place], text[place:]]
            if most > 2:
                yield from ([text[:place], *rest] for rest in self._cut(text[place:], most - 1))

    @staticmethod
    def _phrase(field: str, sequence: Sequence[str]) -> Query:
        return Phrase(field, tuple(sequence))
