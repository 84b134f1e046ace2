"""BM25 of entries in the database, by the statistics of the whole collection.

pg_textsearch knows the statistics of one index: on a cluster those of one shard, and always those of all collections
together. It chooses the candidates, of which more are taken than wanted; they are scored here, as the index on a disk
scores them (:mod:`.lexical`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log1p

from .term_queries import PARTS, WORDS, Phrase, Query

#: How soon a further occurrence counts little, and how much the length of an entry counts; tantivy's, which are fixed.
K1, B = 1.2, 0.75
#: Lengths up to this are counted exactly, longer ones from there on to four binary digits, as tantivy keeps them.
_EXACT_LENGTH = 24
_WORDS_KEPT = 100_000
#: The mean length holds until the collection has grown or shrunk by this part.
_DRIFT = 0.1


def phrases_in(query: Query) -> Iterator[Phrase]:
    """The phrases of a query, by which what it finds is ranked."""
    if isinstance(query, Phrase):
        yield query
    else:
        for part in query.queries:
            yield from phrases_in(part)


def weights(queries: Iterable[tuple[Query, int]]) -> dict[Phrase, int]:
    """Each phrase by how often it counts; what is named twice counts twice."""
    found: dict[Phrase, int] = {}
    for query, weight in queries:
        for phrase in phrases_in(query):
            found[phrase] = found.get(phrase, 0) + weight
    return found


@dataclass(slots=True)
class Statistics:
    """Of the entries of one kind in a collection: how many hold a word, and how long they are on average."""

    count: Callable[[list[Phrase]], list[int]]
    measure: Callable[[], Mapping[str, float]]
    _holding: dict[Phrase, int] = field(default_factory=dict)
    _means: tuple[Mapping[str, float], int] | None = None

    def begin_anew(self) -> None:
        """The index has changed, and every word is counted again."""
        self._holding = {}

    def scorer(self, wanted: Mapping[Phrase, int], entries: int) -> Scorer:
        """Scores by these phrases, now that there are so many entries."""
        holding = self.holding({word for phrase in wanted for word in _each(phrase)})
        means = self._means
        if means is None or _has_drifted(means[1], entries):
            means = self._means = self.measure(), entries
        weights = {
            phrase: times * sum(_rarity(holding[word], entries) for word in _each(phrase))
            for phrase, times in wanted.items()
        }
        return Scorer(weights, means[0], frozenset(phrase.field for phrase in wanted))

    def holding(self, words: Iterable[Phrase]) -> dict[Phrase, int]:
        """How many entries hold each of these single words; each is counted once for a state of the index."""
        if len(self._holding) > _WORDS_KEPT:
            self._holding = {}
        kept = self._holding  # another thread may begin anew meanwhile
        wanted = set(words)
        if unknown := sorted(wanted - kept.keys(), key=lambda word: (word.field, word.words)):
            kept.update(zip(unknown, self.count(unknown), strict=True))
        return {word: kept[word] for word in wanted}


def _each(phrase: Phrase) -> list[Phrase]:
    return [Phrase(phrase.field, (word,)) for word in phrase.words]


def _has_drifted(before: int, entries: int) -> bool:
    return abs(entries - before) > _DRIFT * entries


def _rarity(holding: int, entries: int) -> float:
    return log1p(max(entries - holding + 0.5, 0.5) / (holding + 0.5))


@dataclass(frozen=True, slots=True)
class Scorer:
    """BM25 for one search: the weight of each phrase, and the mean length of each field."""

    weights: Mapping[Phrase, float]
    means: Mapping[str, float]
    fields: frozenset[str]

    def score(self, words: str, parts: str) -> float:
        """The score of an entry with these words and parts between blanks."""
        texts = {WORDS: words, PARTS: parts}
        held = {field_: Counter(texts[field_].split(" ")) for field_ in self.fields}
        damped = {field_: K1 * (1 - B + B * _length(texts[field_]) / self.means[field_]) for field_ in held}
        total = 0.0
        for phrase, weight in self.weights.items():
            if times := _times(phrase.words, held[phrase.field], texts[phrase.field]):
                total += weight * times * (K1 + 1) / (times + damped[phrase.field])
        return total


def _times(words: Sequence[str], held: Mapping[str, int], text: str) -> int:
    """How often the words stand one after another."""
    if len(words) == 1:
        return held.get(words[0], 0)
    if not all(word in held for word in words):
        return 0
    return _doubled(text).count(_doubled(" ".join(words)))


def _doubled(text: str) -> str:
    """Each word with a blank of its own on both sides, so that neighbours are both found."""
    return f" {text.replace(' ', '  ')} "


def _length(text: str) -> int:
    length = text.count(" ") + 1 if text else 0
    beyond = max(length - _EXACT_LENGTH, 0)
    unseen = max(beyond.bit_length() - 4, 0)
    return length - beyond + (beyond >> unseen << unseen)
