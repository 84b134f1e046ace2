"""Many candidates: batches on one scale, replies cut off, and endpoints that give no answer."""

from __future__ import annotations

import re

import pytest

from arbitration.contracts import Role
from arbitration.decision import Decision, arbitrate
from arbitration.detection import detect
from arbitration.errors import LLMFailure
from arbitration.pool import CandidatePool
from arbitration.protocols import ChatRequest
from arbitration.settings import EngineSettings
from arbitration.strategies.arbiter import MOST_IN_A_CALL
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.registry import get_strategy
from tests.arbitration.engine.makers import (
    FakeChat,
    HashEmbedder,
    Script,
    SectionText,
    make_document,
    make_store,
)
from tests.arbitration.engine.test_arbiter import all_primary, ids_in, output, ranking, read_by

#: What a ranking of the fake model costs, roughly as much as real ones do.
TOKENS_A_RANKING = 60


def pool_of(sections: int = 10) -> CandidatePool:
    """A pool of as many candidates as the document has sections."""
    texts = (
        (f"{n} Part", (f"Audit records of kind {n} are kept {n} years.",)) for n in range(1, sections + 1)
    )
    embedder = HashEmbedder()
    pool = detect(
        question="How long are audit records kept?",
        store=make_store(make_document(*(SectionText(*text) for text in texts)), embedder=embedder),
        embedder=embedder,
        settings=EngineSettings(top_k=200),
    )
    assert len(pool.candidates) == sections
    return pool


def decide(script: Script, pool: CandidatePool, **options: object) -> tuple[Decision, FakeChat]:
    chat = FakeChat(script)
    services = StrategyServices(chat=chat, options=options)
    return arbitrate(pool=pool, strategy=get_strategy("arbiter"), services=services), chat


def cut_off_above(tokens: int) -> Script:
    def script(request: ChatRequest) -> str | LLMFailure:
        if request.stage == "conflicts":
            return '{"conflicts": []}'
        if len(ids_in(request)) * TOKENS_A_RANKING > tokens:
            return LLMFailure("cut_off", f"cut off at {tokens} tokens")
        return all_primary(request)

    return script


def by_kind(request: ChatRequest) -> str:
    """Low kinds answer, high ones do not."""
    if request.stage == "conflicts":
        ids = ids_in(request)
        pair = f'{{"first_id": "{ids[0]}", "second_id": "{ids[-1]}", "explanation": "other years"}}'
        return f'{{"conflicts": [{pair}]}}'
    blocks = re.findall(r"candidate_id: (\S+)\n(.*?)(?=\ncandidate_id: |\Z)", request.user, re.DOTALL)
    roles = (
        (i, "primary" if int(re.findall(r"kind (\d+)", text)[0]) <= 50 else "discarded") for i, text in blocks
    )
    return output(*(ranking(identity, role) for identity, role in roles))


@pytest.mark.parametrize("sections", [41, 60, 120])
def test_many_candidates_go_in_batches_and_each_is_asked_about_once(sections: int) -> None:
    pool = pool_of(sections)
    decision, chat = decide(by_kind, pool)
    asked = [list(read_by(r, pool).values()) for r in chat.requests if r.stage == "arbitrate"]
    assert len(asked) > 1
    assert max(map(len, asked)) <= MOST_IN_A_CALL
    assert sorted(i for ids in asked for i in ids) == sorted(c.candidate_id for c in pool.candidates)
    assert decision.undecided_ids == ()
    assert {v.decided_by.kind for v in decision.verdicts} == {"llm"}


def test_later_batches_see_passages_of_the_first_with_their_roles() -> None:
    _, chat = decide(by_kind, pool_of(100))
    first, *later = [r.user for r in chat.requests if r.stage == "arbitrate"]
    assert "Already judged" not in first
    assert len(later) == 2
    for user in later:
        assert re.findall(r"^Already judged as (\w+):$", user, re.MULTILINE) == ["primary", "discarded"]


def test_a_passage_that_gives_orders_is_shown_to_no_other_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arbitration.strategies.arbiter.injection_reasons", lambda text: ["gives orders"])
    _, chat = decide(by_kind, pool_of(60))
    assert not any("Already judged" in r.user for r in chat.requests)


def test_contradictions_between_batches_are_found() -> None:
    decision, chat = decide(by_kind, pool_of(100))
    assert chat.requests[-1].stage == "conflicts"
    assert [c.explanation for c in decision.conflicts] == ["other years"]


@pytest.mark.parametrize("sections", [60, 120, 190])
def test_a_reply_that_is_cut_off_is_asked_for_in_halves(sections: int) -> None:
    pool = pool_of(sections)
    decision, _ = decide(cut_off_above(1500), pool)
    assert len(decision.undecided_ids) <= 0.05 * len(pool.candidates)
    assert {v.decided_by.kind for v in decision.verdicts} == {"llm"}
    assert [c.outcome for c in decision.calls].count(
        "cut_off"
    ) == 1  # what was too much is not asked for again


def test_one_passage_that_is_always_cut_off_leaves_the_others_alone() -> None:
    pool = pool_of(60)
    worst = pool.candidates[7].candidate_id

    def script(request: ChatRequest) -> str | LLMFailure:
        if worst in read_by(request, pool).values():
            return LLMFailure("cut_off", "cut off")
        return '{"conflicts": []}' if request.stage == "conflicts" else all_primary(request)

    decision, _ = decide(script, pool)
    assert {v.candidate_id for v in decision.verdicts if v.decided_by.kind != "llm"} == {worst}


@pytest.mark.parametrize(
    "outcome",
    [
        "server_error",
        "timeout",
        "connection",
        "rate_limited",
        "stopped",
        "budget",
        "not_allowed",
        "circuit_open",
    ],
)
def test_without_an_answer_rules_and_reranker_decide_what_is_clear(outcome: str) -> None:
    pool = pool_of(60)
    offline = {v.candidate_id: v for v in arbitrate(pool=pool, strategy=get_strategy("offline")).verdicts}
    decision, chat = decide(lambda r: LLMFailure(outcome, "no luck"), pool)
    assert len(chat.requests) == 1  # a second call would fare no better
    clear = {i for i, v in offline.items() if not v.needs_person}
    assert clear
    for verdict in decision.verdicts:
        if verdict.candidate_id in clear:
            assert verdict.role is offline[verdict.candidate_id].role
            assert verdict.decided_by.kind == "fallback"
            assert "without the language model" in verdict.reason
            assert verdict.needs_person is (verdict.role is not Role.DISCARDED)
        else:
            assert verdict.role is None
            assert verdict.needs_person
    assert any(f"rules and reranker decided {len(clear)}" in note for note in decision.notes)


def test_an_endpoint_that_fails_half_way_keeps_the_verdicts_it_gave() -> None:
    def script(request: ChatRequest) -> str | LLMFailure:
        return LLMFailure("budget", "used up") if "Already judged" in request.user else by_kind(request)

    decision, _ = decide(script, pool_of(60))
    kinds = {v.decided_by.kind for v in decision.verdicts}
    assert kinds >= {"llm", "fallback"}
    assert all(v.role is not Role.TANGENTIAL for v in decision.verdicts if v.decided_by.kind == "fallback")


def test_the_models_own_confidence_is_kept_beside_ours() -> None:
    decision, _ = decide(
        lambda r: output(*(ranking(i, "primary") | {"confidence": 0.55} for i in ids_in(r))), pool_of()
    )
    assert {v.model_confidence for v in decision.verdicts} == {0.55}
    assert all(v.probability is not None and v.probability != 0.55 for v in decision.verdicts)


@pytest.mark.parametrize("said", [85, -1, None])
def test_a_confidence_off_its_scale_costs_no_verdict(said: float | None) -> None:
    decision, _ = decide(
        lambda r: output(*(ranking(i, "primary") | {"confidence": said} for i in ids_in(r))), pool_of()
    )
    assert {(v.role, v.model_confidence) for v in decision.verdicts} == {(Role.PRIMARY, None)}
