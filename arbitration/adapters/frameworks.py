"""What the adapters for LangChain, LlamaIndex and Haystack share: which passages they give on, with what words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from arbitration.contracts import Role
from arbitration.library import Arbiter
from arbitration.reranking import JudgedPassage, Reranker
from arbitration.results import Candidate

#: What is given on unless other roles are asked for.
EVIDENCE = (Role.PRIMARY, Role.SUPPORTING)
TOP_K = 10


def retrieved(
    arbiter: Arbiter, question: str, *, strategy: str, roles: Collection[Role], top_k: int
) -> list[Candidate]:
    """The best passages of these roles."""
    finding = arbiter.ask(question, strategy=strategy)
    return [candidate for candidate in finding.candidates if candidate.role in roles][:top_k]


def reranked(
    reranker: Reranker, question: str, texts: Sequence[str], *, roles: Collection[Role], top_k: int
) -> Iterator[JudgedPassage]:
    """The best of the caller's passages, of these roles."""
    kept = [passage for passage in reranker.rank(question, texts) if passage.role in roles]
    yield from kept[:top_k]


def verdict_fields(judged: Candidate | JudgedPassage) -> dict[str, Any]:
    """Role and reason as metadata: plain values, which every framework can store."""
    return {
        "role": judged.role.value if judged.role else None,
        "reason": judged.reason,
        "probability": judged.probability,
        "decided_by": judged.decided_by.name,
        "needs_review": judged.needs_review,
    }


def candidate_fields(candidate: Candidate) -> dict[str, Any]:
    """Role, reason, and where the passage stands."""
    return verdict_fields(candidate) | {
        "candidate_id": candidate.candidate_id,
        "source": candidate.place.document,
        "place": str(candidate.place),
        "page": candidate.place.page_start,
        "section": candidate.section,
    }
