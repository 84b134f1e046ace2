from __future__ import annotations

import json
import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.contracts import Role
from arbitration.decision import Decision, arbitrate
from arbitration.detection import detect
from arbitration.errors import LLMFailure, StrategyUnavailable
from arbitration.pool import CandidatePool
from arbitration.protocols import ChatRequest
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.pointwise import (
    PointwiseOptions,
    batches,
    parse_grades,
)
from arbitration.strategies.registry import get_strategy
from arbitration.strategies.shortlist import Fallback
from arbitration.strategies.streams import MergeRule, merged, stream_of
from tests.arbitration.engine.makers import (
    FakeChat,
    HashEmbedder,
    Script,
    SectionText,
    make_document,
    make_store,
)


def pool_of(sections: int = 10) -> CandidatePool:
    document = make_document(
        *(
            SectionText(f"{n} Part", (f"Audit records of kind {n} are kept {n} years.",))
            for n in range(1, sections + 1)
        )
    )
    embedder = HashEmbedder()
    return detect(
        question="How long are audit records kept?",
        store=make_store(document, embedder=embedder),
        embedder=embedder,
    )


def decide(script: Script, pool: CandidatePool | None = None, **options: object) -> tuple[Decision, FakeChat]:
    chat = FakeChat(script)
    services = StrategyServices(chat=chat, options=options)
    return arbitrate(pool=pool or pool_of(), strategy=get_strategy("pointwise"), services=services), chat


def ids_in(request: ChatRequest) -> list[str]:
    return re.findall(r"^(id\d+)$", request.user, re.MULTILINE)


# --- formulas ------------------------------------------------------------------------------------------


@given(st.integers(0, 60), st.integers(1, 12))
def test_batch_j_holds_the_candidates_t_with_t_mod_n_equal_j(count: int, n: int) -> None:
    candidates = list(range(count))
    groups = batches(candidates, n)  # type: ignore[arg-type]
    assert sorted(t for group in groups for t in group) == candidates  # type: ignore[type-var]
    for group in groups:
        assert len({t % n for t in group}) == 1  # type: ignore[operator]
        assert group


@pytest.mark.parametrize(
    ("grade", "role"),
    [
        (10, "primary"),
        (8, "primary"),
        (7, "supporting"),
        (6, "supporting"),
        (5, "tangential"),
        (4, "discarded"),
    ],
)
def test_grades_and_roles(grade: int, role: str) -> None:
    assert PointwiseOptions().role(grade) == Role(role)


def test_the_compact_object_is_parsed_with_its_faults_told_apart() -> None:
    said = parse_grades('Here: {"id0":9,"id1":11,"id7":6,"id0":5,"id2":true}', ["id0", "id1", "id2"])
    assert said.grades == {"id0": 9}
    assert said.unknown == ("id7",)
    assert said.repeated == ("id0",)
    assert said.off_scale == ("id1", "id2")


@pytest.mark.parametrize("text", ["", "no grades", '{"id0":9', '{"id0":9,}'])
def test_what_is_no_object_is_a_failure(text: str) -> None:
    with pytest.raises(LLMFailure) as failure:
        parse_grades(text, ["id0"])
    assert failure.value.outcome == "unparseable"


# --- behaviour -----------------------------------------------------------------------------------------


def test_four_calls_without_retries_cover_every_candidate_once() -> None:
    pool = pool_of()
    decision, chat = decide(lambda r: "{}", pool)
    assert len(chat.requests) == 4
    assert sum(len(ids_in(r)) for r in chat.requests) == len(pool.candidates)
    assert {r.retries for r in chat.requests} == {0}
    assert all(v.role is Role.DISCARDED and "below 5" in v.reason for v in decision.verdicts)
    assert decision.not_found


def test_the_fixed_part_of_the_prompt_comes_first_and_is_the_same_for_all() -> None:
    _, chat = decide(lambda r: "{}")
    assert len({r.system for r in chat.requests}) == 1


def test_the_highest_grade_comes_first_with_its_scale() -> None:
    def script(request: ChatRequest) -> str:
        return json.dumps(
            {identity: 9 if index == 0 else 6 for index, identity in enumerate(ids_in(request))}
        )

    decision, _ = decide(script)
    scores = [v.raw_score for v in decision.verdicts]
    assert scores == sorted(scores, key=lambda s: -(s or 0))
    assert (decision.verdicts[0].role, decision.verdicts[0].score_scale) == (Role.PRIMARY, "0-10")
    assert decision.verdicts[0].normalised_score == pytest.approx(0.9)
    assert decision.verdicts[-1].role is Role.SUPPORTING


@pytest.mark.parametrize("fault", ["timeout", "server_error", "refused", "nonsense"])
def test_a_lost_batch_is_scored_by_the_fallback_and_marked_so(fault: str) -> None:
    lock, seen = threading.Lock(), []

    def script(request: ChatRequest) -> str | LLMFailure:
        with lock:
            seen.append(request)
            first = len(seen) == 1
        if first:
            return "sorry" if fault == "nonsense" else LLMFailure(fault, "gone")
        return "{}"

    pool = pool_of()
    decision, _ = decide(script, pool)
    stand_ins = [v for v in decision.verdicts if v.decided_by.kind == "fallback"]
    assert stand_ins
    assert len(decision.verdicts) == len(pool.candidates)
    assert json.loads(decision.artefacts["shards"]) == {"asked": 4, "lost": 1}
    assert any("was lost" in note for note in decision.notes)


def test_a_batch_that_hangs_costs_no_more_than_its_time_out() -> None:
    release = threading.Event()

    def script(request: ChatRequest) -> str:
        release.wait(20)
        return "{}"

    try:
        decision, _ = decide(script, timeout_s=0.05)
        assert decision.latency_ms < 5000
        assert {v.decided_by.kind for v in decision.verdicts} == {"fallback"}
    finally:
        release.set()


def test_invented_and_repeated_ids_are_recorded_and_ignored() -> None:
    decision, _ = decide(lambda r: '{"id0":9,"id0":2,"id99":10}', n=1)
    assert decision.unknown_ids == ("id99",)
    assert len(decision.repeated_ids) == 1
    assert decision.verdicts[0].raw_score == 9


def test_beyond_k_nothing_is_asked_and_the_record_says_so() -> None:
    pool = pool_of()
    decision, chat = decide(lambda r: "{}", pool, k=3)
    assert sum(len(ids_in(r)) for r in chat.requests) == 3
    rest = [v for v in decision.verdicts if v.decided_by.kind == "rule"]
    assert len(rest) == len(pool.candidates) - 3
    assert all("not among the 3 candidates" in v.reason for v in rest)


def test_a_stream_can_be_capped() -> None:
    _, chat = decide(lambda r: "{}", per_stream=2)
    assert sum(len(ids_in(r)) for r in chat.requests) == 2


def two_types(contracts: int = 8, policies: int = 3) -> CandidatePool:
    """Contracts before policies in the fallback's order."""
    pool = pool_of(contracts + policies)
    ordered = Fallback.of(pool, StrategyServices()).probabilities
    best = sorted(pool.candidates, key=lambda c: -ordered[c.candidate_id])
    of_policy = {c.candidate_id for c in best[contracts:]}
    contract = pool.documents[0].model_copy(update={"document_type": "Contract"})
    policy = contract.model_copy(update={"document_id": "d2", "document_type": "policy"})
    return pool.model_copy(
        update={
            "documents": (contract, policy),
            "candidates": tuple(
                c.model_copy(update={"document_id": "d2"}) if c.candidate_id in of_policy else c
                for c in pool.candidates
            ),
        }
    )


def types_of(pool: CandidatePool, decision: Decision) -> list[str]:
    streams = {c.candidate_id: stream_of(pool, c) for c in pool.candidates}
    return [streams[v.candidate_id] for v in decision.verdicts if v.decided_by.kind == "llm"]


def all_six(request: ChatRequest) -> str:
    return json.dumps(dict.fromkeys(ids_in(request), 6))


def test_streams_share_the_places_and_have_batches_of_their_own() -> None:
    pool = two_types()
    without, _ = decide(all_six, pool, k=4, n=2)
    assert set(types_of(pool, without)) == {"contract"}, "one type crowds the other out"

    texts = {c.anchor_text: stream_of(pool, c) for c in pool.candidates}
    decision, chat = decide(all_six, pool, k=4, n=2, streams=True)
    assert sorted(types_of(pool, decision)) == ["contract", "contract", "policy", "policy"]
    for request in chat.requests:
        assert len({stream for text, stream in texts.items() if text in request.user}) == 1
    assert any("contract 2, policy 2" in note for note in decision.notes)


@pytest.mark.parametrize(
    ("rule", "options", "order"),
    [
        ("score", {}, ["contract"] * 3 + ["policy"] * 3),
        ("round-robin", {}, ["contract", "policy"] * 3),
        ("quota", {"per_stream": 3}, ["contract"] * 3 + ["policy"] * 3),
    ],
)
def test_the_merge_rule_orders_the_streams(rule: str, options: dict[str, int], order: list[str]) -> None:
    pool = two_types()
    decision, _ = decide(all_six, pool, k=6, n=2, streams=True, merge=rule, **options)
    assert types_of(pool, decision) == order


@given(
    st.lists(st.sampled_from("abc"), max_size=30),
    st.sampled_from(["score", "round-robin", "quota"]),
    st.none() | st.integers(1, 10),
)
def test_merging_loses_nothing_and_keeps_each_stream_in_order(
    streams: list[str], rule: MergeRule, quota: int | None
) -> None:
    items = list(enumerate(streams))
    result = merged(items, lambda item: item[1], rule=rule, quota=quota)
    assert sorted(result) == items
    for name in set(streams):
        own = [place for place, stream in result if stream == name]
        assert own == sorted(own)


def test_quota_puts_the_first_of_each_stream_before_the_rest() -> None:
    items = list(enumerate("aaaab"))
    result = merged(items, lambda item: item[1], rule="quota", quota=2)
    assert [stream for _, stream in result] == ["a", "a", "b", "a", "a"]


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(StrategyUnavailable, match="n: Input should be greater"):
        decide(lambda r: "{}", n=0)
