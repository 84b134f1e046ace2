"""Whatever a real, small and unruly model does, a run ends and every candidate has an outcome."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import pytest

from arbitration.adapters.endpoints import Endpoint
from arbitration.adapters.onnx_embedder import default_embedder
from arbitration.adapters.openai_chat import OpenAIChat
from arbitration.answers import AnswerSentence
from arbitration.contracts import ArbiterOutput
from arbitration.errors import LLMFailure, StrategyUnavailable
from arbitration.memory import InMemoryStore, StoredDocument
from arbitration.parsing.isolation import parse_isolated
from arbitration.pipeline import ask
from arbitration.protocols import ChatReply, ChatRequest
from arbitration.settings import EngineSettings
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.registry import STRATEGIES
from arbitration.written_answers import answer_with_model
from tests.live.conftest import TIMEOUT_S, ListLedger

POLICY = """# Records policy

## Retention

Payment records are kept for ten years after the end of the financial year.
Visitor lists are destroyed after thirty days.

## Audit

The internal auditor samples payment records each quarter and reports to the board.
Records under legal hold are not destroyed, whatever their retention period.

## Canteen

Lunch is served from noon. The canteen keeps its own list of allergies.
"""
QUESTION = "How long are payment records kept?"
#: Short answers and few candidates: the model is slow, and rambles when it is let. Under ``r-flow`` everything is
#: uncertain, so that the verifier is asked.
SETTINGS = EngineSettings(
    max_output_tokens=160, timeout_s=TIMEOUT_S, pool_size=4, rules_accept=1.0, rules_reject=0.0
)
ASKED = 3
ASK_A_MODEL = ("arbiter", "consensus", "multi-criteria", "multi-criteria-2", "pointwise", "r-flow")
LLM_OUTCOMES = frozenset(
    {
        "timeout",
        "connection",
        "rate_limited",
        "server_error",
        "refused",
        "cut_off",
        "unparseable",
        "wrong_schema",
    }
)


def a_request(**changes: object) -> ChatRequest:
    fields: dict[str, object] = {
        "prompt_name": "live",
        "prompt_version": "v1",
        "prompt_hash": "",
        "system": "You judge evidence. Every candidate gets a role and a short reason.",
        "user": f"Question: {QUESTION}\n\ncandidate_id: p1_l5_l5\nPayment records are kept for ten years.",
        "max_output_tokens": 120,
        "timeout_s": TIMEOUT_S,
    }
    return ChatRequest(**(fields | changes))  # type: ignore[arg-type]


def test_the_probe_finds_chat_and_model(live_endpoint: Endpoint) -> None:
    assert live_endpoint.capabilities is not None
    assert live_endpoint.capabilities.models


def test_a_plain_answer_comes_with_its_token_counts(live_chat: OpenAIChat) -> None:
    reply = live_chat.complete(a_request(max_output_tokens=60, user="Say hello in one short sentence."))

    assert reply.text.strip()
    assert reply.input_tokens > 0
    assert reply.output_tokens > 0


def test_a_structured_answer_is_valid_or_an_honest_failure(live_chat: OpenAIChat) -> None:
    outcome: ChatReply | LLMFailure
    try:
        outcome = live_chat.complete(a_request(schema=ArbiterOutput))
    except LLMFailure as failure:
        outcome = failure

    if isinstance(outcome, LLMFailure):
        assert outcome.outcome in LLM_OUTCOMES
    else:
        assert isinstance(outcome.parsed, ArbiterOutput)


def test_log_probabilities_are_log_probabilities(live_chat: OpenAIChat) -> None:
    if not live_chat.supports_logprobs:
        with pytest.raises(LLMFailure):
            live_chat.complete(a_request(want_logprobs=True))
        return
    request = a_request(want_logprobs=True, max_output_tokens=8, user="Is the sky blue? Answer Yes or No.")
    first = _even_if_cut_off(live_chat, request).top_logprobs[0]

    assert len(first) >= 2
    assert sum(math.exp(value) for value in first.values()) <= 1.01


def _even_if_cut_off(chat: OpenAIChat, request: ChatRequest) -> ChatReply:
    """A small model may not stop by itself; give it room once more."""
    try:
        return chat.complete(request)
    except LLMFailure as failure:
        if failure.outcome != "cut_off":
            raise
        return chat.complete(replace(request, max_output_tokens=200))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> InMemoryStore:
    """The policy, parsed and embedded once."""
    path = tmp_path_factory.mktemp("policy") / "policy.md"
    path.write_text(POLICY)
    parsed = parse_isolated(path=path, filename=path.name)
    return InMemoryStore([StoredDocument("d1", path.name, parsed)], embedder=default_embedder())


def is_missing_logprobs(strategy: str, chat: OpenAIChat) -> bool:
    """Whether the strategy is made of log-probabilities and the endpoint gives none. A trained model is in no need:
    the rules' own estimate stands in for it."""
    return "logprobs" in STRATEGIES[strategy].requires and not chat.supports_logprobs


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_under_every_strategy_each_candidate_has_an_outcome(
    live_chat: OpenAIChat, ledger: ListLedger, strategy: str, store: InMemoryStore
) -> None:
    ask_it = partial(
        ask,
        question=QUESTION,
        store=store,
        strategy=strategy,
        embedder=default_embedder(),
        settings=SETTINGS,
        services=StrategyServices(chat=live_chat, store=store, options={"k": ASKED, "n": 2}),
    )
    if is_missing_logprobs(strategy, live_chat):
        with pytest.raises(StrategyUnavailable):
            ask_it()
        return
    asked = ask_it()

    offered = [candidate.candidate_id for candidate in asked.pool.candidates]
    judged = [provenance.candidate_id for provenance in asked.audit.provenances]
    assert offered
    assert sorted(judged) == sorted(offered)
    for provenance in asked.audit.provenances:
        assert provenance.decided_by is not None
        assert provenance.llm_role is not None or provenance.needs_person
    if strategy in ASK_A_MODEL:
        assert ledger.entries
        assert {call.outcome for call in ledger.entries} <= LLM_OUTCOMES | {"ok"}
    if not any(call.outcome == "ok" for call in ledger.entries):
        assert all(verdict.decided_by.kind != "llm" for verdict in asked.decision.verdicts)
    quoted = {name for sentence in asked.answer.sentences for name in _cited(sentence)}
    assert quoted <= set(offered)


def test_a_written_answer_stands_on_evidence_or_is_taken_from_the_text(
    live_chat: OpenAIChat, ledger: ListLedger, store: InMemoryStore
) -> None:
    services = StrategyServices(chat=live_chat, store=store)
    asked = ask(
        question=QUESTION,
        store=store,
        embedder=default_embedder(),
        settings=SETTINGS.model_copy(update={"rules_accept": 0.25}),
        services=services,
    )
    answer = answer_with_model(pool=asked.pool, decision=asked.decision, services=services)

    assert ledger.entries
    assert answer.sentences
    survivors = {candidate.candidate_id for candidate in asked.result.candidates}
    for sentence in answer.sentences:
        assert sentence.citations
        assert set(_cited(sentence)) <= survivors


def _cited(sentence: AnswerSentence) -> list[str]:
    """The candidates that a sentence of an answer stands on."""
    return [citation.candidate_id for citation in sentence.citations]
