"""For LangChain: the engine as a retriever, and as a compressor of passages that another retriever found.

Needs the extra ``langchain``.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.callbacks import CallbackManagerForRetrieverRun, Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

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


class ArbiterRetriever(BaseRetriever):
    """Evidence from an :class:`~arbitration.Arbiter`'s documents; ``metadata`` holds role, reason and place."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    arbiter: Arbiter
    strategy: str = "offline"
    roles: tuple[Role, ...] = EVIDENCE
    top_k: int = TOP_K

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        found = retrieved(self.arbiter, query, strategy=self.strategy, roles=self.roles, top_k=self.top_k)
        return [Document(page_content=one.text, metadata=candidate_fields(one)) for one in found]


class ArbiterReranker(BaseDocumentCompressor):
    """Orders the documents of another retriever and drops what is no evidence; role and reason join their metadata."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    reranker: Reranker = Field(default_factory=Reranker)
    roles: tuple[Role, ...] = EVIDENCE
    top_k: int = TOP_K

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The evidence among the documents, the best first."""
        texts = [document.page_content for document in documents]
        return [
            documents[judged.index].model_copy(
                update={"metadata": documents[judged.index].metadata | verdict_fields(judged)}
            )
            for judged in reranked(self.reranker, query, texts, roles=self.roles, top_k=self.top_k)
        ]
