"""Embeddings over HTTP: order, batches, length, failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from arbitration.adapters import openai_embedder
from arbitration.adapters.endpoints import Endpoint, Price
from arbitration.adapters.openai_embedder import OpenAIEmbedder
from arbitration.errors import LLMFailure
from tests.arbitration.adapters.conftest import SECRET, CountingGuard, ListLedger
from tests.fake_llm import FakeLLM
from tests.fake_llm.script import FaultKind

pytest_plugins = ["tests.fake_llm.plugin"]

Build = Callable[..., OpenAIEmbedder]


@pytest.fixture
def embedder_for(fake_llm: FakeLLM, ledger: ListLedger, pauses: list[float]) -> Iterator[Build]:
    built: list[OpenAIEmbedder] = []

    def build(**options: Any) -> OpenAIEmbedder:
        endpoint = Endpoint(
            "vectors", fake_llm.base_url, "fake-embedding", api_key=SECRET, price=Price(input=0.1)
        )
        hooks = {"ledger": ledger, "sleep": pauses.append, "jitter": lambda: 0.0}
        built.append(OpenAIEmbedder(endpoint, **(hooks | options)))
        return built[-1]

    yield build
    for embedder in built:
        embedder.close()


def test_vectors_are_unit_long_and_in_the_order_of_the_texts(embedder_for: Build) -> None:
    """The fake sends vectors of length 2, last text first."""
    embedder = embedder_for()
    texts = ["payment records", "the canteen", "payment records kept"]
    vectors = embedder.embed(texts)

    assert vectors.shape == (3, 64)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert vectors[0] @ vectors[2] > 0.7 > vectors[0] @ vectors[1]
    np.testing.assert_allclose(embedder.embed(texts[2:])[0], vectors[2])


def test_the_space_names_model_host_and_width(fake_llm: FakeLLM, embedder_for: Build) -> None:
    host = f"127.0.0.1:{fake_llm.port}"

    assert embedder_for().space == f"fake-embedding@{host}/64"
    assert embedder_for(dimensions=16).space == f"fake-embedding@{host}/16"


def test_shorter_vectors_can_be_asked_for(embedder_for: Build) -> None:
    assert embedder_for(dimensions=16).embed(["a text"]).shape == (1, 16)


def test_many_texts_go_in_batches(
    fake_llm: FakeLLM, embedder_for: Build, ledger: ListLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai_embedder, "BATCH_TEXTS", 4)
    monkeypatch.setattr(openai_embedder, "BATCH_CHARACTERS", 60)
    texts = [f"text number {number} " + "x" * number for number in range(11)]
    together = embedder_for().embed(texts)
    sent = [request["input"] for request in fake_llm.script.embedding_requests]

    assert [text for batch in sent for text in batch] == texts
    assert all(len(batch) <= 4 and sum(map(len, batch)) <= 60 for batch in sent)
    assert len(ledger.entries) == len(sent)
    np.testing.assert_allclose(together[7], embedder_for().embed([texts[7]])[0])


def test_odd_texts_are_sent_in_a_form_that_servers_take(fake_llm: FakeLLM, embedder_for: Build) -> None:
    vectors = embedder_for().embed(["", "broken \ud800 text", "x" * 100_000])
    first, second, third = fake_llm.script.embedding_requests[0]["input"]

    assert vectors.shape == (3, 64)
    assert (first, second, len(third)) == (" ", "broken ? text", openai_embedder.TEXT_CHARACTERS)


def test_no_texts_give_no_vectors(embedder_for: Build) -> None:
    assert embedder_for().embed([]).shape == (0, 64)


def test_the_ledger_counts_tokens_and_money(embedder_for: Build, ledger: ListLedger) -> None:
    embedder_for().embed(["payment records"])
    (entry,) = ledger.entries

    assert (entry.stage, entry.outcome, entry.model) == ("embed", "ok", "fake-embedding")
    assert entry.input_tokens > 0
    assert entry.cost == pytest.approx(entry.input_tokens * 0.1 / 1e6)


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("rate_limit", "rate_limited"),
        ("server_error", "server_error"),
        ("unauthorised", "not_allowed"),
        ("missing_ids", "wrong_schema"),
        ("hang", "timeout"),
    ],
)
def test_failures_have_outcomes(
    fake_llm: FakeLLM, embedder_for: Build, kind: FaultKind, outcome: str
) -> None:
    fake_llm.fault(kind)
    with pytest.raises(LLMFailure) as caught:
        embedder_for(retries=0, timeout_s=0.4).embed(["one", "two"])

    assert caught.value.outcome == outcome
    assert SECRET not in str(caught.value)


def test_passing_trouble_is_tried_again(fake_llm: FakeLLM, embedder_for: Build, ledger: ListLedger) -> None:
    fake_llm.fault("server_error", 1)

    assert embedder_for().embed(["one"]).shape == (1, 64)
    assert ledger.outcomes == ["server_error", "ok"]


def test_a_width_that_changes_is_refused(fake_llm: FakeLLM, embedder_for: Build) -> None:
    embedder = embedder_for()
    embedder.embed(["one"])
    fake_llm.script.embedding_width = 32
    with pytest.raises(LLMFailure, match="32, not 64"):
        embedder.embed(["two"])


def test_the_guard_is_asked(fake_llm: FakeLLM, embedder_for: Build) -> None:
    with pytest.raises(LLMFailure) as caught:
        embedder_for(guard=CountingGuard(0, "budget")).embed(["one"])

    assert caught.value.outcome == "budget"
    assert fake_llm.script.embedding_requests == []
