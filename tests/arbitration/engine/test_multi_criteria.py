from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.assembly import assemble
from arbitration.contracts import ROLE_ORDER, Role
from arbitration.decision import Decision, arbitrate
from arbitration.errors import LLMFailure, StrategyUnavailable
from arbitration.prompting import load_prompt
from arbitration.protocols import ChatRequest
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.multi_criteria import Composite, order_key
from arbitration.strategies.registry import get_strategy
from arbitration.strategies.rubrics import PROPERTIES, RelevanceScale, Rubric
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
    return re.findall(r"^candidate_id: (id\d+)$", request.user, re.MULTILINE)


def assessment(identity: str, relevance: int = 8, **properties: int) -> dict[str, object]:
    scores = dict.fromkeys(PROPERTIES, 2) | properties
    return {"candidate_id": identity, "reasoning": "states the years", "relevance": relevance, **scores}


def one_turn(request: ChatRequest) -> str:
    return json.dumps(
        {"assessments": [assessment(i, 9 if n == 2 else 4) for n, i in enumerate(ids_in(request))]}
    )


SCALE = {"zero": "no years", "three": "records", "six": "terms", "eight": "some years", "ten": "all years"}
RUBRIC = {
    "relevance": SCALE,
    "criteria": [
        {"name": "Bindingness", "definition": "who is bound", "zero": "nobody", "five": "all", "weight": 0.8}
    ],
}


def two_turns(request: ChatRequest) -> str:
    if request.stage == "rubric":
        relevance_only = request.prompt_name == "multi-criteria-relevance-rubric"
        return json.dumps({"relevance": SCALE} if relevance_only else RUBRIC)
    scored = request.prompt_name == "multi-criteria-ranked"
    rows = [
        {"candidate_id": i, "reasoning": "r", "relevance": 8}
        | ({"scores": [{"criterion": "bindingness", "score": n % 6}]} if scored else {})
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
    assert Rubric.model_validate_json(decision.artefacts["rubric"]).criteria[0].weight == pytest.approx(0.8)
    assert decision.verdicts[0].raw_score == pytest.approx(8 + 0.8 * 5)
    assert "0.8 x bindingness" in decision.verdicts[0].terms


def test_an_edited_rubric_saves_the_first_call() -> None:
    edited = {"criteria": [{**RUBRIC["criteria"][0], "weight": 0.1}]}
    decision, chat = decide(two_turns, "multi-criteria-2", rubric=edited)
    assert [r.stage for r in chat.requests] == ["arbitrate"]
    assert decision.verdicts[0].raw_score == pytest.approx(8 + 0.1 * 5)
    assert any("a person edited" in note for note in decision.notes)


def test_two_turns_rank_by_the_inferred_meaning_of_relevance() -> None:
    decision, chat = decide(two_turns, "multi-criteria-2")
    assert Rubric.model_validate_json(decision.artefacts["rubric"]).relevance == RelevanceScale(**SCALE)
    assert "8 = some years" in chat.requests[1].user
    assert chat.requests[0].system.count("Example ") == 5


def test_a_rubric_without_a_scale_ranks_by_the_common_one() -> None:
    _, chat = decide(two_turns, "multi-criteria-2", rubric={"criteria": RUBRIC["criteria"]})
    assert "8 = states the main part of the answer" in chat.requests[0].user


@pytest.mark.parametrize("name", ["multi-criteria", "multi-criteria-2"])
def test_the_ablation_neither_infers_nor_shows_nor_counts_criteria(name: str) -> None:
    decision, chat = decide(two_turns, name, relevance_only=True)
    assert {v.raw_score for v in decision.verdicts} == {8.0}
    assert {v.score_scale for v in decision.verdicts} == {"0-10"}
    assert all(set(v.terms) == {"relevance", "total"} for v in decision.verdicts)
    for request in chat.requests:
        assert "criteri" not in f"{request.system} {request.user}".lower()
        assert not [name for name in PROPERTIES if name in request.system]
        assert "criteria" not in json.dumps(request.schema.model_json_schema() if request.schema else {})
    stages = [r.stage for r in chat.requests]
    assert stages == (["rubric", "arbitrate"] if name == "multi-criteria-2" else ["arbitrate"])


def mixed(request: ChatRequest) -> str:
    """Relevance 8 with nothing else to say for it, above relevance 7 with everything."""
    grades = [
        {"relevance": 8} | dict.fromkeys(PROPERTIES, 0),
        {"relevance": 7} | dict.fromkeys(PROPERTIES, 5),
    ]
    grades += [
        {"relevance": 2} | dict.fromkeys(PROPERTIES, 5),
        {"relevance": 4} | dict.fromkeys(PROPERTIES, 3),
    ]
    return json.dumps({"assessments": [assessment(i) | grades[n % 4] for n, i in enumerate(ids_in(request))]})


def test_the_composite_is_the_order_whatever_the_roles() -> None:
    decision, _ = decide(mixed)
    result, audit = assemble(pool=pool_of(), decision=decision)
    survivors = [v for v in decision.verdicts if v.role is not Role.DISCARDED]
    scores = [v.raw_score or 0.0 for v in survivors]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 19.5
    assert survivors[0].role is Role.SUPPORTING
    assert [c.candidate_id for c in result.candidates] == [v.candidate_id for v in survivors]
    assert result.ordered_by == "score"
    assert [v.role for v in decision.verdicts[len(survivors) :]] == [Role.DISCARDED] * (
        len(decision.verdicts) - len(survivors)
    )
    assert len(audit.candidates) == len(decision.verdicts)


@pytest.mark.parametrize("name", ["multi-criteria", "multi-criteria-2"])
def test_the_fixed_part_holds_nothing_of_the_question(name: str) -> None:
    _, chat = decide(two_turns, name, relevance_only=name == "multi-criteria")
    for request in chat.requests:
        prompt = load_prompt(request.prompt_name)
        assert request.system == prompt.system.strip()
        assert "{{" not in prompt.system


@pytest.mark.parametrize(
    ("quote", "status"), [("are kept 7 years", "verified"), ("are kept ninety years", "unverified")]
)
def test_a_quotation_comes_before_the_scores_and_is_checked(quote: str, status: str) -> None:
    def script(request: ChatRequest) -> str:
        return json.dumps({"assessments": [assessment(i) | {"quote": quote} for i in ids_in(request)]})

    decision, chat = decide(script)
    assert chat.requests[0].schema is not None
    (row,) = chat.requests[0].schema.model_json_schema()["$defs"].values()
    assert row["required"][:4] == ["candidate_id", "reasoning", "quote", "relevance"]
    holding = next(c.candidate_id for c in pool_of().candidates if "are kept 7 years" in c.anchor_text)
    verdict = next(v for v in decision.verdicts if v.candidate_id == holding)
    assert [check.status for check in verdict.quotes] == [status]
    assert any(r.startswith("unverified_quote") for r in verdict.needs_person_reasons) is (
        status == "unverified"
    )


@pytest.mark.parametrize("name", ["offline", "bm25"])
def test_other_strategies_keep_primary_first(name: str) -> None:
    decision = arbitrate(pool=pool_of(), strategy=get_strategy(name))
    result, _ = assemble(pool=pool_of(), decision=decision)
    places = [ROLE_ORDER[c.role] for c in result.candidates if c.role]
    assert places == sorted(places)
    assert result.ordered_by == "role"


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
def test_a_failed_turn_leaves_what_is_clear_to_the_rules_and_the_rest_undecided(stage: str) -> None:
    decision, _ = decide(
        lambda r: LLMFailure("timeout", "slow") if r.stage == stage else two_turns(r), "multi-criteria-2"
    )
    assert {v.decided_by.kind for v in decision.verdicts} <= {"fallback", "undecided"}
    assert any(v.decided_by.kind == "fallback" for v in decision.verdicts)
    assert not decision.not_found


def test_unknown_properties_are_refused() -> None:
    with pytest.raises(StrategyUnavailable, match="no property charm"):
        decide(one_turn, weights={"charm": 1.0})
