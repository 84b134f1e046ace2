"""A quotation in a model's reason is looked up in the source, whichever strategy asked the model."""

from __future__ import annotations

import json
import re

import pytest

from arbitration.contracts import Role
from arbitration.decision import Decision, arbitrate
from arbitration.protocols import ChatRequest
from arbitration.settings import EngineSettings
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.multi_criteria import PROPERTIES
from arbitration.strategies.registry import STRATEGIES, get_strategy
from tests.arbitration.engine.makers import FakeChat
from tests.arbitration.engine.test_pointwise import pool_of

#: Those whose model gives reasons; of pointwise it gives grades alone.
WITH_REASONS = [
    name
    for name, strategy in STRATEGIES.items()
    if (name == "r-flow" or "chat" in strategy.requires) and name != "pointwise"
]
FALSE = "It says “kept for ninety long years” of them."


def answer(request: ChatRequest) -> str:
    """A reason with an invented quotation, in the shape that is asked for."""
    ids = re.findall(r"^(?:candidate_id: )?(id\d+|p\d+_l\d+_l\d+)$", request.user, re.MULTILINE)
    scale = dict.fromkeys(("zero", "three", "six", "eight", "ten"), "x")
    criterion = {"name": "c", "definition": "d", "zero": "z", "five": "f", "weight": 0.5}
    match request.prompt_name:
        case "arbiter":
            rows = [{"candidate_id": i, "role": "primary", "reason": FALSE} for i in ids]
            return json.dumps({"rankings": rows, "conflicts": []})
        case "consensus-judge":
            return f"Yes\n{FALSE}"
        case "multi-criteria":
            scores = dict.fromkeys(PROPERTIES, 3) | {"relevance": 9, "reasoning": FALSE}
            return json.dumps({"assessments": [scores | {"candidate_id": i} for i in ids]})
        case "multi-criteria-rubric":
            return json.dumps({"relevance": scale, "criteria": [criterion]})
        case "multi-criteria-ranked":
            row = {"reasoning": FALSE, "relevance": 9, "scores": [{"criterion": "c", "score": 3}]}
            return json.dumps({"assessments": [row | {"candidate_id": i} for i in ids]})
        case "r-flow-verifier":
            return json.dumps({"reason": FALSE, "score": 9, "counter_argument": None})
        case _:
            return "They are kept."


def decide(name: str) -> Decision:
    chat = FakeChat(
        answer,
        supports_logprobs=True,
        logprobs=lambda r: ({"Yes": -0.01, "No": -5.0},) if r.want_logprobs else (),
    )
    pool = pool_of()
    if name == "r-flow":  # every candidate is uncertain, so that the model is asked about each
        settings = EngineSettings(rules_accept=1.0, rules_reject=0.0)
        pool = pool.model_copy(update={"settings": settings})
    return arbitrate(pool=pool, strategy=get_strategy(name), services=StrategyServices(chat=chat))


def test_every_strategy_with_a_model_is_meant() -> None:
    assert set(WITH_REASONS) == {"arbiter", "r-flow", "consensus", "multi-criteria", "multi-criteria-2"}


@pytest.mark.parametrize("name", WITH_REASONS)
def test_an_invented_quotation_is_found_out(name: str) -> None:
    judged = [v for v in decide(name).verdicts if v.decided_by.kind == "llm"]
    assert judged
    assert {v.role for v in judged} <= {Role.PRIMARY, Role.SUPPORTING}
    assert {q.status for v in judged for q in v.quotes} == {"unverified"}
    assert all(v.quotes and v.needs_person for v in judged)
