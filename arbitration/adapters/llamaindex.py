"""For LlamaIndex: the engine as a retriever, and as a postprocessor of nodes that another retriever found.

Needs the extra ``llamaindex``.
"""

from __future__ import annotations

from collections.abc import Collection

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
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

    def __init__(
        self,
        arbiter: Arbiter,
        *,
        strategy: str = "offline",
        roles: Collection[Role] = EVIDENCE,
        top_k: int = TOP_K,
    ) -> None:
        super().__init__()
        self._arbiter = arbiter
        self._strategy = strategy
        self._roles = roles
        self._top_k = top_k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = retrieved(
            self._arbiter,
            query_bundle.query_str,
            strategy=self._strategy,
            roles=self._roles,
            top_k=self._top_k,
        )
        return [
            NodeWithScore(node=TextNode(text=one.text, metadata=candidate_fields(one)), score=one.probability)
            for one in found
        ]


class ArbiterReranker(BaseNodePostprocessor):
    """Orders nodes and drops what is no evidence; role and reason join their metadata."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    reranker: Reranker = Field(default_factory=Reranker)
    roles: tuple[Role, ...] = EVIDENCE
    top_k: int = TOP_K

    @classmethod
    def class_name(cls) -> str:
        """The name it is stored by."""
        return "ArbiterReranker"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise ValueError("Give the question: postprocess_nodes(nodes, query_str=...).")
        texts = [node.node.get_content() for node in nodes]
        question = query_bundle.query_str
        kept = []
        for judged in reranked(self.reranker, question, texts, roles=self.roles, top_k=self.top_k):
            node = nodes[judged.index].node.model_copy(deep=True)
            node.metadata |= verdict_fields(judged)
            kept.append(NodeWithScore(node=node, score=judged.probability))
        return kept
