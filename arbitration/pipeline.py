"""The engine from end to end, in stages that may run in different processes.

``detect`` finds candidates, ``arbitrate`` gives them roles, ``assemble`` writes the audit format, and
``write_answer`` answers from the surviving evidence. ``ask`` runs all four.
"""

from __future__ import annotations

from dataclasses import dataclass

from arbitration.answers import Answer, write_answer
from arbitration.assembly import assemble
from arbitration.contracts import AuditedRetrievalResult, RetrievalResult
from arbitration.decision import Decision, arbitrate
from arbitration.detection import detect
from arbitration.pool import CandidatePool
from arbitration.protocols import CandidateStore, Embedder
from arbitration.questions.dictionary import Dictionary
from arbitration.questions.model import ParsedQuestion
from arbitration.settings import EngineSettings
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.registry import get_strategy

__all__ = ["Asked", "arbitrate", "ask", "assemble", "detect", "write_answer"]


@dataclass(frozen=True, slots=True)
class Asked:
    """Everything one question brought."""

    pool: CandidatePool
    decision: Decision
    result: RetrievalResult
    audit: AuditedRetrievalResult
    answer: Answer


def ask(
    *,
    question: str | ParsedQuestion,
    store: CandidateStore,
    strategy: str = "offline",
    embedder: Embedder | None = None,
    settings: EngineSettings | None = None,
    dictionary: Dictionary | None = None,
    services: StrategyServices | None = None,
) -> Asked:
    """Ask one question under one strategy. Raises :class:`StrategyUnavailable` for an unknown or unusable one."""
    services = services or StrategyServices(store=store)
    chosen = get_strategy(strategy)
    pool = detect(
        question=question,
        store=store,
        embedder=embedder,
        settings=settings,
        dictionary=dictionary,
        progress=services.progress,
        clock=services.clock,
    )
    decision = arbitrate(pool=pool, strategy=chosen, services=services)
    result, audit = assemble(pool=pool, decision=decision)
    answer = write_answer(pool=pool, decision=decision, services=services)
    return Asked(pool, decision, result, audit, answer)
