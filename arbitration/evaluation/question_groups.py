"""Which questions are the same question: near-duplicates form one group, and a group is never split.

Two questions are near-duplicates when the Jaccard similarity of their word stems is at least 4/5. Groups
decide on which side of a training split a question falls.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from arbitration.text import fold, normalise, stem, words

_SHARED, _OF = 4, 5  # near-duplicates share at least 4 of 5 stems


def question_key(text: str) -> str:
    """The question's words in one form: blind to case, accents, punctuation and white space."""
    return " ".join(words(fold(normalise(text))))


def question_hash(text: str) -> str:
    """Stable 64-bit hash of :func:`question_key`, in hexadecimal."""
    return hashlib.sha256(question_key(text).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class _Tokens:
    members: frozenset[str]
    key: str

    def is_near(self, other: _Tokens) -> bool:
        if self.key == other.key:
            return True
        shared = len(self.members & other.members)
        return shared > 0 and shared * _OF >= _SHARED * (len(self.members) + len(other.members) - shared)


def _tokens(text: str) -> _Tokens:
    key = question_key(text)
    return _Tokens(frozenset(stem(word) for word in key.split()), key)


class NearDuplicateIndex:
    """Finds earlier questions that a new one nearly repeats.

    Exact, by prefix filtering: two sets that are similar enough share one of the first few members of any
    fixed order, so only those are looked up.
    """

    def __init__(self) -> None:
        self._questions: list[_Tokens] = []
        self._by_token: dict[str, list[int]] = defaultdict(list)
        self._by_key: dict[str, int] = {}

    def add(self, text: str) -> list[int]:
        """Positions of the earlier near-duplicates, in order; the question takes the next position."""
        tokens = _tokens(text)
        prefix = _prefix(tokens.members)
        candidates = {position for token in prefix for position in self._by_token[token]}
        if tokens.key in self._by_key:
            candidates.add(self._by_key[tokens.key])
        near = sorted(p for p in candidates if tokens.is_near(self._questions[p]))
        position = len(self._questions)
        self._questions.append(tokens)
        self._by_key.setdefault(tokens.key, position)
        for token in prefix:
            self._by_token[token].append(position)
        return near


def _prefix(members: frozenset[str]) -> list[str]:
    ordered = sorted(members, key=lambda token: (-len(token), token))  # long words first: they are rarer
    needed = -(-_SHARED * len(ordered) // _OF)
    return ordered[: len(ordered) - needed + 1]


def question_groups(texts: Iterable[str]) -> list[int]:
    """For each question, the position of the first question of its group (near-duplicates, transitively).

    Each wording is compared once: labelled sets ask the same few questions of hundreds of documents.
    """
    index = NearDuplicateIndex()
    parents: list[int] = []
    first_of: dict[str, int] = {}
    wordings: list[int] = []
    for position, text in enumerate(texts):
        first = first_of.setdefault(question_key(text), position)
        parents.append(first)
        if first == position:
            wordings.append(position)
            for near in index.add(text):
                _union(parents, wordings[near], position)
    return [_root(parents, position) for position in range(len(parents))]


def _root(parents: list[int], position: int) -> int:
    while parents[position] != position:
        parents[position] = parents[parents[position]]
        position = parents[position]
    return position


def _union(parents: list[int], left: int, right: int) -> None:
    low, high = sorted((_root(parents, left), _root(parents, right)))
    parents[high] = low


def cross_fit_folds(texts: Sequence[str], *, folds: int, seed: int) -> list[int]:
    """The fold (0 to folds - 1) of each question: whole groups, spread evenly, in an order set by ``seed``.

    Raises ``ValueError`` when there are fewer question groups than folds.
    """
    groups = question_groups(texts)
    sizes = Counter(groups)
    if folds < 2 or len(sizes) < folds:
        raise ValueError(f"cannot make {folds} parts of {len(sizes)} different questions; ask for 2 or more")
    order = sorted(sizes, key=lambda group: (-sizes[group], _shuffle_key(texts[group], seed)))
    loads = [0] * folds
    fold_of: dict[int, int] = {}
    for group in order:
        lightest = loads.index(min(loads))
        fold_of[group] = lightest
        loads[lightest] += sizes[group]
    return [fold_of[group] for group in groups]


def _shuffle_key(text: str, seed: int) -> str:
    return hashlib.sha256(f"{seed}:{question_key(text)}".encode()).hexdigest()


def shared_questions(tested: Sequence[str], trained: Sequence[str]) -> list[str]:
    """Tested questions, each once, that are in the training questions too (same words)."""
    known = {question_key(text) for text in trained}
    return [text for text in dict.fromkeys(tested) if question_key(text) in known]
