"""Judgments become labels; where several exist for one pair, authority decides.

adjudicated > override, approve (reviewer) > annotator > llm. People always outrank models; the losers stay on
record. Verdicts by gate, model, rule or a shard's fallback, and failed calls, are no labels at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from arbitration.contracts import Role
from arbitration.evaluation.question_groups import question_key


class LabelSource(StrEnum):
    """Where a judgment comes from."""

    ADJUDICATED = "adjudicated"
    OVERRIDE = "override"
    APPROVE = "approve"
    ANNOTATOR = "annotator"
    LLM = "llm"

    @property
    def authority(self) -> int:
        """Greater wins; an override and an approval are both a reviewer's word."""
        return _AUTHORITY[self]

    @property
    def is_human(self) -> bool:
        """Whether a person judged."""
        return self is not LabelSource.LLM

    @property
    def weight(self) -> float:
        """Sample weight in training, in (0, 1]."""
        return _WEIGHT[self]


_AUTHORITY = {
    LabelSource.ADJUDICATED: 3,
    LabelSource.OVERRIDE: 2,
    LabelSource.APPROVE: 2,
    LabelSource.ANNOTATOR: 1,
    LabelSource.LLM: 0,
}
#: An approval is given with the machine's verdict in view, so it says less than an override.
_WEIGHT = {
    LabelSource.ADJUDICATED: 1.0,
    LabelSource.OVERRIDE: 1.0,
    LabelSource.APPROVE: 0.7,
    LabelSource.ANNOTATOR: 0.8,
    LabelSource.LLM: 0.2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRow:
    """One judgment of one question-candidate pair. Never overwritten.

    ``candidate`` identifies document version, scope and text; ``judge`` the person or model. ``blind`` says that
    the machine's verdict was hidden until the judgment was given; ``chance``, in (0, 1], with which it was drawn for
    that, ``None`` where nothing was drawn.
    """

    label_id: str
    question: str
    candidate: str
    role: Role
    source: LabelSource
    judge: str
    created_at: datetime
    collection: str = ""
    document_type: str = ""
    guideline_version: str = ""
    blind: bool = False
    chance: float | None = None
    seconds: float | None = None

    @property
    def pair(self) -> tuple[str, str]:
        """(question, candidate), the question's words in one form."""
        return (question_key(self.question), self.candidate)

    @property
    def label(self) -> int:
        """1 for evidence (primary, supporting), else 0."""
        return self.role.binary_label


@dataclass(frozen=True, slots=True)
class Resolution:
    """Which label speaks for each pair. ``overruled`` maps a losing label's id to the winner's; ``disputed``
    holds the labels of pairs where annotators disagree and nobody has adjudicated: they train nothing."""

    winners: tuple[LabelRow, ...]
    overruled: dict[str, str]
    disputed: tuple[LabelRow, ...]


def resolve(labels: Iterable[LabelRow]) -> Resolution:
    """The winning label of each pair, in order of the pairs' first labels.

    Of one person's labels of the same authority the latest counts. Reviewers and adjudicators overrule earlier
    ones; annotators do not overrule each other.
    """
    by_pair: dict[tuple[str, str], list[LabelRow]] = defaultdict(list)
    for label in labels:
        by_pair[label.pair].append(label)
    winners: list[LabelRow] = []
    overruled: dict[str, str] = {}
    disputed: list[LabelRow] = []
    for rows in by_pair.values():
        standing = _standing(rows)
        if _is_disputed(standing):
            disputed += standing
            continue
        winner = standing[-1]
        winners.append(winner)
        overruled |= {row.label_id: winner.label_id for row in rows if row.label_id != winner.label_id}
    return Resolution(tuple(winners), overruled, tuple(disputed))


def _standing(rows: Sequence[LabelRow]) -> list[LabelRow]:
    """Each judge's latest label of the highest authority present, the earliest first."""
    highest = max(row.source.authority for row in rows)
    latest: dict[str, LabelRow] = {}
    for row in sorted(rows, key=lambda row: (row.created_at, row.label_id)):
        if row.source.authority == highest:
            latest.pop(row.judge, None)
            latest[row.judge] = row
    return list(latest.values())


def _is_disputed(standing: Sequence[LabelRow]) -> bool:
    by_annotators = standing[0].source.authority == LabelSource.ANNOTATOR.authority
    return by_annotators and len({row.label for row in standing}) > 1


def one_per_candidate(labels: Iterable[LabelRow], candidates: Mapping[str, str]) -> tuple[LabelRow, ...]:
    """The labels, of those that mean the same candidate only the one that speaks for it.

    ``candidates`` names by label id the candidate and its list; a label that is not among them is alone. A passage that
    holds evidence is evidence, whatever else was marked in it: of equal authority evidence wins, then the latest.
    """
    best: dict[str, LabelRow] = {}
    for label in labels:
        name = candidates.get(label.label_id) or f"label {label.label_id}"
        best[name] = max(best.get(name, label), label, key=_weight_of_word)
    return tuple(best.values())


def _weight_of_word(label: LabelRow) -> tuple[int, int, datetime]:
    return label.source.authority, label.label, label.created_at
