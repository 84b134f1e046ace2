"""How much of a question's own wording stands in each passage of a pool, its function words aside."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from arbitration.text import begins_a_word, fold, is_stop_word, term_matcher, words

#: A word of another stem that shares this part of its beginning ("president" for "presidential") counts by half.
RELATIVE_PREFIX, RELATIVE_LETTERS, RELATIVE_SHARE = 0.6, 7, 0.5

#: A question of at most so many content words is a phrase more than a sentence: the order of its words says much.
PHRASE_WORDS = 3


@dataclass(frozen=True, slots=True)
class Wording:
    """``coverage``: share of the question's content words, each weighing ln((n + 1) / (df + .5)) by the number df
    of the n passages that hold it. ``phrase``: share of a short question's neighbouring words that are neighbours
    here too; 0 for longer questions. Both 0 to 1."""

    coverage: float
    phrase: float


def wordings(question: str, *, language: str, passages: Sequence[tuple[str, str]]) -> list[Wording]:
    """One :class:`Wording` per passage of (text, language)."""
    asked = _Asked.of(question, language)
    readers = {name: _Reader(asked, name) for name in dict.fromkeys(name for _, name in passages)}
    held: list[dict[str, float]] = [{} for _ in passages]
    for name, reader in readers.items():
        places = [place for place, (_, language) in enumerate(passages) if language == name]
        for place, shares in zip(places, reader.held([passages[place][0] for place in places]), strict=True):
            held[place] = shares
    rarity = _rarity(asked.words, held)
    total = sum(rarity.values()) or 1.0
    return [
        Wording(
            coverage=sum(rarity[word] * shares.get(word, 0.0) for word in asked.words) / total,
            phrase=sum(shares.get(pair, 0.0) for pair in asked.pairs) / max(1, len(asked.pairs)),
        )
        for shares in held
    ]


def _rarity(asked: Sequence[str], held: Sequence[Mapping[str, float]]) -> dict[str, float]:
    counts = {word: sum(shares.get(word, 0.0) for shares in held) for word in asked}
    return {word: max(0.0, math.log((len(held) + 1) / (count + 0.5))) for word, count in counts.items()}


@dataclass(frozen=True, slots=True)
class _Asked:
    """The question's distinct content words, and the pairs of neighbouring ones with what stands between them."""

    words: tuple[str, ...]
    pairs: tuple[str, ...]

    @classmethod
    def of(cls, question: str, language: str) -> _Asked:
        said = words(question)
        places = [place for place, word in enumerate(said) if not is_stop_word(word, language)]
        content = tuple(dict.fromkeys(said[place] for place in places))
        if len(content) > PHRASE_WORDS:
            return cls(content, ())
        runs = pairwise(places)
        return cls(content, tuple(dict.fromkeys(" ".join(said[first : last + 1]) for first, last in runs)))


class _Reader:
    """Looks for the question's words in passages of one language."""

    def __init__(self, asked: _Asked, language: str) -> None:
        self._matcher = term_matcher((*asked.words, *asked.pairs), language)
        self._beginnings = {
            word: fold(word)[: math.ceil(RELATIVE_PREFIX * len(word))]
            for word in asked.words
            if len(word) >= RELATIVE_LETTERS
        }

    def held(self, texts: Sequence[str]) -> list[dict[str, float]]:
        """For each text 1 for each word or pair that stands in it, :data:`RELATIVE_SHARE` for a word's relative."""
        found = [dict.fromkeys(matched, 1.0) for matched in self._matcher.matched_in_each(texts)]
        for text, shares in zip(texts, found, strict=True):
            plain = fold(text)
            for word, beginning in self._beginnings.items():
                if word not in shares and begins_a_word(beginning, plain):
                    shares[word] = RELATIVE_SHARE
        return found
