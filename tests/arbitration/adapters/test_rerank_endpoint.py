"""A cross-encoder over HTTP, in both shapes, and what the engine makes of its scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from arbitration.adapters import rerank_endpoint
from arbitration.adapters.endpoints import Endpoint, Price
from arbitration.adapters.rerank_endpoint import EndpointReranker
from arbitration.detection import detect
from arbitration.errors import LLMFailure
from arbitration.features import FEATURE_NAMES, MEASURED_FEATURES, pool_features
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.shortlist import Fallback
from tests.arbitration.adapters.conftest import SECRET, CountingGuard, ListLedger
from tests.arbitration.engine.makers import SectionText, make_document, make_store
from tests.fake_llm import FakeLLM

pytest_plugins = ["tests.fake_llm.plugin"]

Build = Callable[..., EndpointReranker]
QUESTION = "How long are payment records kept?"
PASSAGES = [
    "The canteen opens at noon.",
    "Payment records are kept for ten years.",
    "Records of meetings are public.",
]


@pytest.fixture
def reranker_for(fake_llm: FakeLLM, ledger: ListLedger) -> Iterator[Build]:
    built: list[EndpointReranker] = []

    def build(**options: Any) -> EndpointReranker:
        endpoint = Endpoint("ranks", fake_llm.base_url, "fake-rerank", api_key=SECRET, price=Price(input=0.1))
        built.append(EndpointReranker(endpoint, **({"ledger": ledger, "retries": 0} | options)))
        return built[-1]

    yield build
    for reranker in built:
        reranker.close()


@pytest.mark.parametrize("dialect", ["cohere", "tei"])
@pytest.mark.parametrize("raw", [False, True])
def test_scores_come_in_the_order_of_the_passages(
    fake_llm: FakeLLM, reranker_for: Build, ledger: ListLedger, dialect: str, raw: bool
) -> None:
    fake_llm.script.raw_scores = raw
    scores = reranker_for(dialect=dialect).scores(QUESTION, PASSAGES)
    assert scores[1] == max(scores)
    assert scores[0] == min(scores)
    assert all(0.0 <= score <= 1.0 for score in scores)
    sent = fake_llm.script.rerank_requests[0]
    assert (sent["query"], sent.get("documents", sent.get("texts"))) == (QUESTION, PASSAGES)
    entry = ledger.entries[0]
    assert (entry.stage, entry.model, entry.outcome) == ("rerank", "fake-rerank", "ok")
    assert (entry.input_tokens > 0) == (dialect == "cohere")  # TEI does not count


def test_many_passages_go_in_batches(
    fake_llm: FakeLLM, reranker_for: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(rerank_endpoint.BATCH_TEXTS, "cohere", 2)
    assert len(reranker_for().scores(QUESTION, [*PASSAGES, "", "\ud800"])) == 5
    assert [len(request["documents"]) for request in fake_llm.script.rerank_requests] == [2, 2, 1]


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [("rate_limit", "rate_limited"), ("server_error", "server_error"), ("missing_ids", "wrong_schema")],
)
def test_failures_leave_as_such(
    fake_llm: FakeLLM, reranker_for: Build, ledger: ListLedger, kind: str, outcome: str
) -> None:
    fake_llm.fault(kind)  # type: ignore[arg-type]
    with pytest.raises(LLMFailure) as failure:
        reranker_for().scores(QUESTION, PASSAGES)
    assert failure.value.outcome == outcome
    assert ledger.outcomes == [outcome]


def test_the_guard_is_asked_first(fake_llm: FakeLLM, reranker_for: Build) -> None:
    with pytest.raises(LLMFailure, match="no more calls"):
        reranker_for(guard=CountingGuard(0)).scores(QUESTION, PASSAGES)
    assert fake_llm.script.rerank_requests == []


def test_scores_are_features_and_the_fallback_of_fin(reranker_for: Build) -> None:
    store = make_store(
        make_document(*(SectionText(f"Part {n}", (text,)) for n, text in enumerate(PASSAGES, start=1)))
    )
    plain = detect(question=QUESTION, store=store)
    scored = detect(question=QUESTION, store=store, cross_encoder=reranker_for())
    assert (plain.cross_encoder, scored.cross_encoder) == (None, "fake-rerank")
    extra = len(FEATURE_NAMES) - len(MEASURED_FEATURES)
    without, features = pool_features(plain), pool_features(scored)
    assert not without[:, -extra:].any()
    assert features[:, -extra:].any()
    np.testing.assert_array_equal(without[:, :-extra], features[:, :-extra])

    fallback = Fallback.of(scored, StrategyServices(store=store))
    assert (fallback.decided_by.name, fallback.decided_by.version) == ("cross-encoder", "fake-rerank")
    best = max(fallback.probabilities, key=fallback.probabilities.__getitem__)
    assert "ten years" in scored.candidate(best).anchor_text  # type: ignore[union-attr]
    assert Fallback.of(plain, StrategyServices(store=store)).decided_by.name == "rules of detection"


def test_a_cross_encoder_that_fails_costs_nothing_but_a_note(reranker_for: Build) -> None:
    store = make_store(make_document(SectionText("Records", (PASSAGES[1],))))
    pool = detect(question=QUESTION, store=store, cross_encoder=reranker_for(guard=CountingGuard(0)))
    assert pool.candidates
    assert pool.cross_encoder is None
    assert any("the cross-encoder fake-rerank gave no scores" in note for note in pool.notes)
