"""The engine inside other frameworks, with their real packages."""

from __future__ import annotations

import os

import pytest

# Before it is imported: nothing is sent from tests.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from arbitration import Arbiter, Role, StoredDocument
from arbitration.reranking import MOST_PASSAGES, Reranker, as_document

QUESTION = "How long are payment records kept?"
PASSAGES = [
    "Lunch is served from noon. The canteen keeps its own list of allergies.",
    "Payment records are kept for ten years after the end of the financial year.",
    "The internal auditor samples payment records each quarter and reports to the board.",
    "",
    "Visitors sign at the front desk.",
]
ANSWERS = 1  # the passage that does


@pytest.fixture(scope="module")
def arbiter() -> Arbiter:
    documents = [
        StoredDocument(f"d{number}", f"{number}.txt", as_document(text))
        for number, text in enumerate(PASSAGES)
        if text
    ]
    return Arbiter.from_documents(documents)


def test_every_passage_is_judged_once_and_the_best_comes_first() -> None:
    ranked = Reranker().rank(QUESTION, PASSAGES)

    assert sorted(passage.index for passage in ranked) == list(range(len(PASSAGES)))
    assert ranked[0].index == ANSWERS
    assert ranked[0].role is Role.PRIMARY
    assert ranked[0].probability > ranked[-1].probability
    assert all(passage.reason for passage in ranked)
    assert next(passage for passage in ranked if passage.index == 3).role is Role.DISCARDED


def test_words_alone_judge_where_there_is_no_encoder() -> None:
    ranked = Reranker(embedder="none").rank(QUESTION, PASSAGES)

    assert ranked[0].index == ANSWERS
    assert {passage.index: passage.role for passage in ranked}[4] is Role.DISCARDED


def test_nothing_and_too_much_to_judge() -> None:
    assert Reranker().rank(QUESTION, []) == []
    assert [passage.role for passage in Reranker().rank(QUESTION, ["", " \n"])] == [Role.DISCARDED] * 2
    with pytest.raises(ValueError, match="too many"):
        Reranker().rank(QUESTION, ["x"] * (MOST_PASSAGES + 1))


def test_many_passages_all_come_back() -> None:
    passages = [f"Rule {number}: payment records of branch {number} are kept." for number in range(120)]

    assert len(Reranker().rank(QUESTION, passages)) == 120


def test_langchain_retrieves_and_reranks(arbiter: Arbiter) -> None:
    pytest.importorskip("langchain_core", reason="the extra langchain is not installed")
    from langchain_core.documents import Document

    from arbitration.adapters.langchain import ArbiterReranker, ArbiterRetriever

    (best, *_) = ArbiterRetriever(arbiter=arbiter).invoke(QUESTION)
    assert best.page_content == PASSAGES[ANSWERS]
    assert best.metadata["role"] == "primary"
    assert best.metadata["reason"]
    assert best.metadata["place"] == "1.txt, p. 1, line 1"

    given = [Document(page_content=text, metadata={"mine": number}) for number, text in enumerate(PASSAGES)]
    kept = ArbiterReranker().compress_documents(given, QUESTION)
    assert kept[0].metadata["mine"] == ANSWERS
    assert kept[0].metadata["role"] == "primary"
    assert len(kept) < len(given)
    assert given[ANSWERS].metadata == {"mine": ANSWERS}, "the caller's documents stay as they were"


def test_llamaindex_retrieves_and_reranks(arbiter: Arbiter) -> None:
    pytest.importorskip("llama_index.core", reason="the extra llamaindex is not installed")
    from llama_index.core.schema import NodeWithScore, TextNode

    from arbitration.adapters.llamaindex import ArbiterReranker, ArbiterRetriever

    (best, *_) = ArbiterRetriever(arbiter).retrieve(QUESTION)
    assert best.node.get_content() == PASSAGES[ANSWERS]
    assert best.node.metadata["role"] == "primary"
    assert best.node.metadata["source"] == "1.txt"

    given = [
        NodeWithScore(node=TextNode(text=text, metadata={"mine": number}), score=0.5)
        for number, text in enumerate(PASSAGES)
    ]
    kept = ArbiterReranker().postprocess_nodes(given, query_str=QUESTION)
    assert kept[0].node.metadata["mine"] == ANSWERS
    assert kept[0].node.metadata["reason"]
    assert kept[0].score is not None
    assert given[ANSWERS].node.metadata == {"mine": ANSWERS}
    with pytest.raises(ValueError, match="query_str"):
        ArbiterReranker().postprocess_nodes(given)


def test_haystack_retrieves_and_ranks_in_a_pipeline(arbiter: Arbiter) -> None:
    pytest.importorskip("haystack", reason="the extra haystack is not installed")
    from haystack import Document, Pipeline

    from arbitration.adapters.haystack import ArbiterRanker, ArbiterRetriever

    pipeline = Pipeline()
    pipeline.add_component("retriever", ArbiterRetriever(arbiter, roles=tuple(Role)))
    pipeline.add_component("ranker", ArbiterRanker())
    pipeline.connect("retriever.documents", "ranker.documents")

    kept = pipeline.run({"retriever": {"query": QUESTION}, "ranker": {"query": QUESTION}})["ranker"][
        "documents"
    ]

    assert kept[0].content == PASSAGES[ANSWERS]
    assert kept[0].meta["role"] == "primary"
    assert kept[0].meta["source"] == "1.txt"
    given = [Document(content=text, meta={"mine": number}) for number, text in enumerate(PASSAGES)]
    ranked = ArbiterRanker().run(query=QUESTION, documents=given, top_k=1)["documents"]
    assert [document.meta["mine"] for document in ranked] == [ANSWERS]
    assert given[ANSWERS].meta == {"mine": ANSWERS}
