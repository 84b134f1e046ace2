"""The arbiter over real HTTP: what is sent, what an endpoint can keep of it, and what comes back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from arbitration.adapters.endpoints import EndpointCapabilities
from arbitration.adapters.openai_chat import OpenAIChat
from arbitration.contracts import Role
from arbitration.decision import Decision, arbitrate
from arbitration.pool import CandidatePool
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.registry import get_strategy
from tests.arbitration.adapters.conftest import ALL, CHAT_ONLY, ListLedger
from tests.arbitration.engine.test_arbiter import pool_of
from tests.fake_llm import FakeLLM, FakeRequest

pytest_plugins = ["tests.fake_llm.plugin"]
Build = Callable[..., OpenAIChat]


def decided(chat: OpenAIChat, pool: CandidatePool, **options: object) -> Decision:
    services = StrategyServices(chat=chat, options=options)
    return arbitrate(pool=pool, strategy=get_strategy("arbiter"), services=services)


@pytest.mark.parametrize(
    "able", [ALL, CHAT_ONLY, EndpointCapabilities(json_mode=True), EndpointCapabilities()]
)
def test_every_kept_passage_is_quoted_whatever_the_endpoint_enforces(
    chat_for: Build, able: EndpointCapabilities
) -> None:
    decision = decided(chat_for(able), pool_of())
    kept = [v for v in decision.verdicts if v.role in (Role.PRIMARY, Role.SUPPORTING)]
    assert kept
    assert all(check.status in ("verified", "repaired") for v in kept for check in v.quotes)
    assert all(v.quotes for v in kept)
    assert decision.undecided_ids == ()


def test_the_schema_on_the_wire_has_the_reason_first(fake_llm: FakeLLM, chat_for: Build) -> None:
    decided(chat_for(), pool_of())
    schema = fake_llm.requests[0].schema
    assert schema is not None
    fields = list(schema["$defs"]["Judgement"]["properties"])
    assert fields == ["candidate_id", "reason", "quote", "role", "counter_argument", "confidence"]
    assert schema["$defs"]["Judgement"]["required"] == fields


def test_another_question_finds_the_fixed_part_in_the_endpoints_cache(
    chat_for: Build, ledger: ListLedger
) -> None:
    chat = chat_for()
    for question in ("How long are audit records kept?", "Who supervises the destruction of records?"):
        decided(chat, pool_of(question))
    first, second = (entry.cached_tokens for entry in ledger.entries if entry.stage == "arbitrate")
    assert first == 0
    assert second >= 1024


def test_an_id_that_was_never_shown_is_on_record_and_decides_nothing(
    fake_llm: FakeLLM, chat_for: Build
) -> None:
    pool = pool_of()
    fake_llm.fault("invented_ids")
    decision = decided(chat_for(), pool)
    assert decision.unknown_ids == ("p999_l1_l2",)
    assert {v.candidate_id for v in decision.verdicts} == {c.candidate_id for c in pool.candidates}


@pytest.mark.parametrize("kind", ["reason", "quote", "counter_argument"])
def test_words_without_end_are_cut_and_cost_no_verdict(fake_llm: FakeLLM, chat_for: Build, kind: str) -> None:
    pool = pool_of()
    fake_llm.behave(lambda request: _endless(request, kind))
    decision = decided(chat_for(), pool)
    assert {v.decided_by.kind for v in decision.verdicts} == {"llm"}
    for verdict in decision.verdicts:
        told = [verdict.reason, verdict.counter_argument or "", *(q.quote for q in verdict.quotes)]
        assert max(map(len, told)) <= 4_000


def _endless(request: FakeRequest, kind: str) -> str:
    row = {"reason": "It says so.", "quote": "", "role": "discarded", "counter_argument": None}
    rows = [row | {"candidate_id": i} for i in re.findall(r"^candidate_id: (\S+)$", request.user, re.M)]
    rows[0] |= {kind: "“id0 «\"' … " * 400}
    return json.dumps({"rankings": rows, "conflicts": []})
