"""The deployed model in an evaluation: used, unless it was trained on a question or a document of the set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from arbitration.evaluation.question_groups import question_hash
from arbitration.strategies.base import StrategyServices

from .champion import ServedModel, champion_model, champion_services
from .seed import seed_card


@dataclass(frozen=True, slots=True)
class Deployed:
    """The champion at an evaluation. ``overlap`` are the tested questions that are in its training, and
    ``documents`` counts the documents of the set that are: with any, it is set aside and the rules stand in."""

    version: str | None
    overlap: tuple[str, ...]
    services: StrategyServices
    documents: int = 0

    @property
    def is_used(self) -> bool:
        """Whether learned strategies are scored by it."""
        return self.version is not None and not self.overlap and not self.documents

    def as_json(self) -> dict[str, Any]:
        """What the report says of it."""
        return {
            "version": self.version,
            "used": self.is_used,
            "overlap_questions": len(self.overlap),
            "overlap_documents": self.documents,
        }


def deployed_for(questions: Iterable[str], documents: Iterable[str] = ()) -> Deployed:
    """The champion, if none of the tested questions (by their words) and none of the documents (by content hash)
    is among those it was trained on. Of the documents, only the shipped model keeps a record."""
    served = champion_model()
    if served is None:
        return Deployed(None, (), StrategyServices())
    trained = set(served.scorer.manifest.questions)
    overlap = tuple(text for text in dict.fromkeys(questions) if question_hash(text) in trained)
    on_record = _training_documents(served)
    known = len(on_record & set(documents)) if on_record else 0  # or else no file is read for its hash
    services = StrategyServices() if overlap or known else champion_services()
    return Deployed(served.version, overlap, services, known)


def _training_documents(served: ServedModel) -> set[str]:
    card = seed_card()
    ours = card.get("digest") == served.scorer.manifest.version
    return set(card.get("documents", ())) if ours else set()
