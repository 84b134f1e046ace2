"""The deployed model in an evaluation: used, unless it was trained on a question of the set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from arbitration.evaluation.question_groups import question_hash
from arbitration.strategies.base import StrategyServices

from .champion import champion_model, champion_services


@dataclass(frozen=True, slots=True)
class Deployed:
    """The champion at an evaluation. ``overlap`` are the tested questions that are in its training: with any, it is
    set aside and the rules stand in."""

    version: str | None
    overlap: tuple[str, ...]
    services: StrategyServices

    @property
    def is_used(self) -> bool:
        """Whether learned strategies are scored by it."""
        return self.version is not None and not self.overlap

    def as_json(self) -> dict[str, Any]:
        """What the report says of it."""
        return {"version": self.version, "used": self.is_used, "overlap_questions": len(self.overlap)}


def deployed_for(questions: Iterable[str]) -> Deployed:
    """The champion, if no tested question (by its words) is among those it was trained on."""
    served = champion_model()
    if served is None:
        return Deployed(None, (), StrategyServices())
    trained = set(served.scorer.manifest.questions)
    overlap = tuple(text for text in dict.fromkeys(questions) if question_hash(text) in trained)
    return Deployed(served.version, overlap, StrategyServices() if overlap else champion_services())
