"""A corpus of any size made of real passages: their words recombined, and mixtures of their vectors.

Each passage takes two real ones, mostly of the first and the rest of the second: runs of their words, and the mean of
their vectors with a little noise. So the frequencies of words and the neighbourhoods of vectors are those of real text,
and real questions find real answers. A few made-up words keep the vocabulary growing with the corpus. The rest is as in
:mod:`.corpora`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tests.bench.corpora import PASSAGES_PER_SECTION, Batch, Corpus, Floats, Integers, Language, _unit

_WORD = re.compile(r"[a-z]{2,}|\ba\b")
#: Words that are taken together from one place of a real passage.
RUN = 6
#: Shorter ones are references and headings.
SHORTEST = 2 * RUN
TITLE_WORDS = 8
#: Share of made-up words, and of the first passage at least and at most. Length of the noise beside unit vectors.
MADE_UP, LEAST, MOST, NOISE = 0.02, 0.5, 0.95, 0.3


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without numbers and marks."""
    return _WORD.findall(text.lower())


@dataclass
class RealLanguage(Language):
    """The words of real texts by falling frequency, then the made-up ones; the topics are the texts."""

    texts: Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        in_each = [words_of(text) for text in self.texts]
        common = [word for word, _ in Counter(word for found in in_each for word in found).most_common()]
        numbers = {word: number for number, word in enumerate(common)}
        made_up = [word for word in self.words[self.functional :] if word not in numbers]
        self.real = len(common)
        self.words = np.array([*common, *made_up], dtype=object)
        each = [np.array([numbers[word] for word in found], dtype=np.intp) for found in in_each]
        self.lengths = np.array([len(found) for found in each])
        self.starts = np.cumsum(self.lengths) - self.lengths
        self.running = np.concatenate(each)
        self.topic_words = np.stack(
            [np.resize(np.unique(found)[: -TITLE_WORDS - 1 : -1], TITLE_WORDS) for found in each]
        )

    def made_up(self, rng: np.random.Generator, count: int) -> Integers:
        """Numbers of made-up words, the first ones most often."""
        among = len(self.words) - self.real
        return np.asarray(self.real + among * rng.random(count) ** 3, dtype=np.intp)


@dataclass(kw_only=True)
class RecombinedCorpus(Corpus):
    """:class:`Corpus` of real passages. ``vectors`` are theirs, in the order of the language's texts."""

    language: RealLanguage
    vectors: Floats

    def _batch(self, count: int) -> Batch:
        rng, texts = self._rng, len(self.language.texts)
        groups = -(-count // PASSAGES_PER_SECTION)
        first = np.repeat(rng.integers(0, texts, groups), PASSAGES_PER_SECTION)[:count]
        second = rng.integers(0, texts, count)
        share = rng.uniform(LEAST, MOST, count)
        mixed = share[:, None] * self.vectors[first] + (1 - share)[:, None] * self.vectors[second]
        vectors = _unit(_unit(mixed) + NOISE * _unit(rng.normal(size=mixed.shape)))
        return Batch(first, self._words(rng, first, second, share), vectors)

    def _words(
        self, rng: np.random.Generator, first: Integers, second: Integers, share: npt.NDArray[np.float64]
    ) -> list[Integers]:
        """Of each passage as many words as another real one has, in runs of its two."""
        language = self.language
        runs = -(-language.lengths[rng.integers(0, len(language.texts), len(first))].clip(20, 220) // RUN)
        owner = np.repeat(np.arange(len(first)), runs)
        source = np.where(rng.random(len(owner)) < share[owner], first[owner], second[owner])
        place = (rng.random(len(owner)) * (language.lengths[source] - RUN + 1)).astype(np.intp)
        numbers = language.running[(language.starts[source] + place)[:, None] + np.arange(RUN)].ravel()
        strange = rng.random(len(numbers)) < MADE_UP
        numbers[strange] = language.made_up(rng, int(strange.sum()))
        return np.split(numbers, np.cumsum(runs * RUN)[:-1])
