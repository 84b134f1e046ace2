"""For Haystack: the engine as a retriever, and as a ranker of documents that another retriever found.

Needs the extra ``haystack``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from haystack import Document, component

from arbitration.adapters.frameworks import (
    EVIDENCE,
    TOP_K,
    candidate_fields,
    reranked,
    retrieved,
    verdict_fields,
)
from arbitration.contracts import Role
from arbitration.library import Arbiter
from arbitration.reranking import Reranker


@component
class ArbiterRetriever:
    """Evidence from an :class:`~arbitration.Arbiter`'s documents; ``meta`` holds role, reason and place."""

    def __init__(
        self,
        arbiter: Arbiter,
        *,
        strategy: str = "offline",
        roles: Collection[Role] = EVIDENCE,
        top_k: int = TOP_K,
    ) -> None:
        self._arbiter = arbiter
        self._strategy = strategy
        self._roles = roles
        self._top_k = top_k

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """The evidence for a question, the best first."""
        found = retrieved(
            self._arbiter, query, strategy=self._strategy, roles=self._roles, top_k=top_k or self._top_k
        )
        return {
            "documents": [
                Document(content=one.text, meta=candidate_fields(one), score=one.probability) for one in found
            ]
        }


@component
class ArbiterRanker:
    """Orders documents and drops what is no evidence; role and reason join their ``meta``."""

    def __init__(
        self,
        reranker: Reranker | None = None,
        *,
        roles: Collection[Role] = EVIDENCE,
        top_k: int = TOP_K,
    ) -> None:
        self._reranker = reranker or Reranker()
        self._roles = roles
        self._top_k = top_k

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """The evidence among the documents, the best first."""
        texts = [document.content or "" for document in documents]
        ranked = reranked(self._reranker, query, texts, roles=self._roles, top_k=top_k or self._top_k)
        return {
            "documents": [
                replace(
                    documents[judged.index],
                    meta=documents[judged.index].meta | verdict_fields(judged),
                    score=judged.probability,
                )
                for judged in ranked
            ]
        }
