from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.contracts import Role
from arbitration.decision import Decision, arbitrate
from arbitration.errors import LLMFailure, StrategyUnavailable
from arbitration.protocols import ChatRequest
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.multi_criteria import PROPERTIES, Composite, order_key, rubric_from_json
from arbitration.strategies.registry import get_strategy
from tests.arbitration.engine.makers import FakeChat, Script
from tests.arbitration.engine.test_pointwise import pool_of

HALVES = dict.fromkeys(PROPERTIES, 0.5)


def composite(relevance: float, **properties: float) -> Composite:
    return Composite(relevance, dict.fromkeys(PROPERTIES, 0.0) | properties, HALVES)


# --- formulas ------------------------------------------------------------------------------------------


def test_the_composite_adds_weighted_properties_to_relevance() -> None:
    made = composite(7, depth=4, diversity=1, clarity=5, authoritativeness=3, recency=2)
    assert made.total == pytest.approx(7 + 0.5 * (4 + 1 + 5 + 3 + 2))
    assert made.terms()["0.5 x clarity"] == pytest.approx(2.5)
    assert made.top == pytest.approx(22.5)


def test_ties_go_to_the_higher_authority() -> None:
    plain, binding = composite(7, depth=4), composite(7, authoritativeness=4)
    assert plain.total == binding.total
    assert sorted([plain, binding], key=order_key)[0] is binding


@pytest.mark.parametrize(
    ("relevance", "role"),
    [(10, "primary"), (8, "primary"), (7, "supporting"), (6, "supporting"), (5, "tangential"), (3, "tangential"),
     (2, "discarded")],
)  # fmt: skip
def test_relevance_alone_gives_the_role(relevance: int, role: str) -> None:
    assert composite(relevance, depth=5, clarity=5).role == Role(role)


@given(st.integers(0, 10), st.lists(st.integers(0, 5), min_size=5, max_size=5))
def test_the_composite_never_exceeds_its_scale(relevance: int, scores: list[int]) -> None:
    made = Composite(relevance, dict(zip(PROPERTIES, map(float, scores), strict=True)), HALVES)
    assert relevance <= made.total <= made.top


# --- behaviour -----------------------------------------------------------------------------------------


def ids_in(request: ChatRequest) -> list[str]:
    return re.findall(r"^(id\d+)$", request.user, re.MULTILINE)


def assessment(identity: str, relevance: int = 8, **properties: int) -> dict[str, object]:
    scores = dict.fromkeys(PROPERTIES, 2) | properties
    return {"candidate_id": identity, "reasoning": "states the years", "relevance": relevance, **scores}


def one_turn(request: ChatRequest) -> str:
    return json.dumps(
        {"assessments": [assessment(i, 9 if n == 2 else 4) for n, i in enumerate(ids_in(request))]}
    )


RUBRIC = {
    "criteria": [
        {"name": "Bindingness", "definition": "who is bound", "zero": "nobody", "five": "all", "weight": 0.8}
    ]
}


def two_turns(request: ChatRequest) -> str:
    if request.stage == "rubric":
        return json.dumps(RUBRIC)
    rows = [
        {
            "candidate_id": i,
            "reasoning": "r",
            "relevance": 8,
            "scores": [{"criterion": "bindingness", "score": n % 6}],
        }
        for n, i in enumerate(ids_in(request))
    ]
    return json.dumps({"assessments": rows})


def decide(script: Script, name: str = "multi-criteria", **options: object) -> tuple[Decision, FakeChat]:
    chat = FakeChat(script)
    services = StrategyServices(chat=chat, options=options)
    return arbitrate(pool=pool_of(), strategy=get_strategy(name), services=services), chat


def test_one_turn_scores_all_and_shows_every_term() -> None:
    decision, chat = decide(one_turn)
    assert len(chat.requests) == 1
    best = decision.verdicts[0]
    assert (best.role, best.raw_score) == (Role.PRIMARY, pytest.approx(9 + 5 * 0.5 * 2))
    assert set(best.terms) == {"relevance", "total", *(f"0.5 x {name}" for name in PROPERTIES)}
    assert best.score_scale == "0-22.5"


def test_weights_are_the_collections() -> None:
    decision, _ = decide(one_turn, weights={"clarity": 1.0})
    assert decision.verdicts[0].raw_score == pytest.approx(9 + 2)


def test_nothing_at_three_or_above_is_not_found() -> None:
    decision, _ = decide(lambda r: json.dumps({"assessments": [assessment(i, 2) for i in ids_in(r)]}))
    assert decision.not_found
    assert (decision.not_found_reason or "").startswith("all_discarded")


def test_two_turns_infer_store_and_apply_the_rubric() -> None:
    decision, chat = decide(two_turns, "multi-criteria-2")
    assert [r.stage for r in chat.requests] == ["rubric", "arbitrate"]
    assert "How long are audit records kept?" in chat.requests[0].user
    assert rubric_from_json(decision.artefacts["rubric"]).criteria[0].weight == pytest.approx(0.8)
    assert decision.verdicts[0].raw_score == pytest.approx(8 + 0.8 * 5)
    assert "0.8 x bindingness" in decision.verdicts[0].terms


def test_an_edited_rubric_saves_the_first_call() -> None:
    edited = {"criteria": [{**RUBRIC["criteria"][0], "weight": 0.1}]}
    decision, chat = decide(two_turns, "multi-criteria-2", rubric=edited)
    assert [r.stage for r in chat.requests] == ["arbitrate"]
    assert decision.verdicts[0].raw_score == pytest.approx(8 + 0.1 * 5)
    assert any("a person edited" in note for note in decision.notes)


def test_the_ablation_counts_relevance_only() -> None:
    decision, _ = decide(two_turns, "multi-criteria-2", relevance_only=True)
    assert {v.raw_score for v in decision.verdicts} == {8.0}


def test_missing_invented_and_repeated_ids() -> None:
    def script(request: ChatRequest) -> str:
        first = ids_in(request)[0]
        rows = [assessment(first), assessment(first, 1), assessment("id99")]
        if request.stage == "repair":
            rows = [assessment(i, 3) for i in ids_in(request)[:1]]
        return json.dumps({"assessments": rows})

    decision, chat = decide(script)
    assert [r.stage for r in chat.requests] == ["arbitrate", "repair"]
    assert decision.unknown_ids == ("id99",)
    assert len(decision.repeated_ids) == 1
    assert decision.undecided_ids
    assert all(v.needs_person for v in decision.verdicts if v.role is None)


@pytest.mark.parametrize("stage", ["rubric", "arbitrate"])
def test_a_failed_turn_leaves_everything_undecided(stage: str) -> None:
    decision, _ = decide(
        lambda r: LLMFailure("timeout", "slow") if r.stage == stage else two_turns(r), "multi-criteria-2"
    )
    assert all(v.role is None for v in decision.verdicts)
    assert not decision.not_found


def test_unknown_properties_and_bad_rubrics_are_refused() -> None:
    with pytest.raises(StrategyUnavailable, match="no property charm"):
        decide(one_turn, weights={"charm": 1.0})
    with pytest.raises(StrategyUnavailable, match="rubric"):
        rubric_from_json('{"criteria": []}')
