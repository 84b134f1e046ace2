"""What a training reads: a frozen list of labelled feature rows, split by question, named by its content.

The split is by question group and stable: a group's side follows from the hash of its first question, before any
label exists. Near-duplicates join their group; where a question links two groups the holdout wins, so a
question once in the holdout never moves to training.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from arbitration.contracts import Role
from arbitration.evaluation.question_groups import NearDuplicateIndex, question_hash, question_key

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

HOLDOUT_SHARE = 0.10


class Side(StrEnum):
    """On which side of the split a question stands."""

    TRAINING = "training"
    HOLDOUT = "holdout"


class QuestionSides:
    """The sides of all questions ever asked, in the order they were first asked."""

    def __init__(self, *, holdout_share: float = HOLDOUT_SHARE, salt: str = "") -> None:
        self._share = holdout_share
        self._salt = salt
        self._index = NearDuplicateIndex()
        self._parents: list[int] = []
        self._texts: list[str] = []
        self._held_out: list[bool] = []
        self._position: dict[str, int] = {}

    @classmethod
    def of(
        cls, history: Iterable[str], *, holdout_share: float = HOLDOUT_SHARE, salt: str = ""
    ) -> QuestionSides:
        """The sides after the questions of ``history``, the oldest first."""
        sides = cls(holdout_share=holdout_share, salt=salt)
        for text in history:
            sides.add(text)
        return sides

    def add(self, text: str) -> Side:
        """Take in a question (again) and say its side."""
        key = question_key(text)
        if key not in self._position:
            self._position[key] = self._join(text)
        return self.side(text)

    def hold_out(self, text: str) -> None:
        """Put a question and its group into the holdout for good: an imported gold set was made to measure with."""
        self.add(text)
        self._held_out[self._root(self._position[question_key(text)])] = True

    def side(self, text: str) -> Side:
        """The side of a known question. Raises ``KeyError`` for one never added."""
        root = self._root(self._position[question_key(text)])
        return Side.HOLDOUT if self._held_out[root] else Side.TRAINING

    def group(self, text: str) -> str:
        """A name for the question's group: the hash of the group's first question."""
        return question_hash(self._texts[self._root(self._position[question_key(text)])])

    def _join(self, text: str) -> int:
        position = len(self._parents)
        near = self._index.add(text)
        self._parents.append(position)
        self._texts.append(text)
        self._held_out.append(not near and self._is_drawn(text))
        for other in near:
            self._unite(other, position)
        return position

    def _is_drawn(self, text: str) -> bool:
        digest = hashlib.sha256(f"{self._salt}:{question_key(text)}".encode()).digest()
        return int.from_bytes(digest[:8], "big") < self._share * 2**64

    def _unite(self, one: int, other: int) -> None:
        low, high = sorted((self._root(one), self._root(other)))
        self._parents[high] = low
        self._held_out[low] = self._held_out[low] or self._held_out[high]

    def _root(self, position: int) -> int:
        while self._parents[position] != position:
            self._parents[position] = self._parents[self._parents[position]]
            position = self._parents[position]
        return position


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One labelled pair with its features; ``label_id`` leads back to the judgment."""

    label_id: str
    question: str
    role: Role
    weight: float
    features: tuple[float, ...]
    collection: str = ""
    candidate_list: str = ""  # the run or document asked; pairs of one question and list are ranked together

    @property
    def label(self) -> int:
        """1 for evidence, else 0."""
        return self.role.binary_label


@dataclass(frozen=True)
class Dataset:
    """Examples as arrays, in order: ``features`` (n, f), ``labels`` and ``weights`` (n,), and per row the
    question group, the question's text, the collection and the candidate list it was ranked in."""

    features: Floats
    labels: Labels
    weights: Floats
    groups: tuple[str, ...]
    questions: tuple[str, ...]
    collections: tuple[str, ...]
    lists: tuple[str, ...]
    label_ids: tuple[str, ...]
    roles: tuple[str, ...] = ()  # as judged, per row; empty where only the binary label is known

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def of(cls, examples: Sequence[Example], groups: Sequence[str] | None = None) -> Dataset:
        """The examples as arrays. Without ``groups`` each different question is its own group."""
        groups = groups if groups is not None else [question_key(example.question) for example in examples]
        width = len(examples[0].features) if examples else 0
        return cls(
            features=np.array([e.features for e in examples], dtype=np.float64).reshape(len(examples), width),
            labels=np.array([example.label for example in examples], dtype=np.int64),
            weights=np.array([example.weight for example in examples], dtype=np.float64),
            groups=tuple(groups),
            questions=tuple(example.question for example in examples),
            collections=tuple(example.collection for example in examples),
            lists=tuple(f"{question_key(e.question)}|{e.candidate_list}" for e in examples),
            label_ids=tuple(example.label_id for example in examples),
            roles=tuple(str(example.role) for example in examples),
        )

    def taken(self, rows: npt.NDArray[np.intp]) -> Dataset:
        """Only these rows, in their order."""
        names = ("groups", "questions", "collections", "lists", "label_ids", "roles")
        return Dataset(
            features=self.features[rows],
            labels=self.labels[rows],
            weights=self.weights[rows],
            **{
                name: tuple(column[row] for row in rows) if (column := getattr(self, name)) else ()
                for name in names
            },
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the rows in order: the same rows are the same data set."""
        hasher = hashlib.sha256()
        for column in (self.features, self.labels, self.weights):
            hasher.update(str(column.shape).encode())
            hasher.update(np.ascontiguousarray(column).tobytes())
        names = [self.groups, self.questions, self.collections, self.lists, self.label_ids, self.roles]
        hasher.update(json.dumps(names, ensure_ascii=False).encode())
        return hasher.hexdigest()


@dataclass(frozen=True)
class Snapshot:
    """A frozen training set. ``held_out`` counts the labels of holdout questions, which train nothing."""

    training: Dataset
    feature_version: int
    held_out: int
    excluded: int

    @cached_property
    def content_hash(self) -> str:
        """Names the snapshot: its ordered rows and the feature version."""
        return hashlib.sha256(f"{self.feature_version}:{self.training.digest}".encode()).hexdigest()


def build_snapshot(
    examples: Iterable[Example],
    *,
    sides: QuestionSides,
    feature_version: int,
    excluded_questions: Iterable[str] = (),
) -> Snapshot:
    """The examples of training questions, ordered by label id.

    Every example's question must be known to ``sides``. ``excluded_questions`` (benchmark questions) and all
    questions of their groups are left out.
    """
    excluded = {sides.group(text) for text in excluded_questions if sides.add(text)}
    training: list[Example] = []
    held_out = left_out = 0
    for example in sorted(examples, key=lambda example: example.label_id):
        if sides.group(example.question) in excluded:
            left_out += 1
        elif sides.side(example.question) is Side.HOLDOUT:
            held_out += 1
        else:
            training.append(example)
    groups = [sides.group(example.question) for example in training]
    return Snapshot(Dataset.of(training, groups), feature_version, held_out, left_out)
