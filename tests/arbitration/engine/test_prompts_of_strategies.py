"""What the prompts of all strategies have in common: fences, what is known of the document, order, language."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from arbitration.decision import Decision, arbitrate
from arbitration.pool import CandidatePool
from arbitration.prompting import load_prompt
from arbitration.protocols import ChatRequest
from arbitration.settings import EngineSettings
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.registry import get_strategy
from tests.arbitration.engine.makers import FakeChat
from tests.arbitration.engine.test_pointwise import pool_of as pool_of_sections
from tests.arbitration.engine.test_quotes_everywhere import answer

STRATEGIES = ("arbiter", "pointwise", "multi-criteria", "multi-criteria-2", "consensus", "r-flow")
JUDGING = {
    "arbiter",
    "pointwise",
    "multi-criteria",
    "multi-criteria-ranked",
    "consensus-predictor",
    "consensus-judge",
    "r-flow-verifier",
}


def pool_in(language: str = "en") -> CandidatePool:
    """Ten passages of a titled document; under r-flow the model is asked about each."""
    pool = pool_of_sections()
    (document,) = pool.documents
    known = {"title": "Branch manual", "effective_date": "2022-07-01", "version_number": 3}
    return pool.model_copy(
        update={
            "documents": (document.model_copy(update=known),),
            "question": pool.question.model_copy(update={"language": language}),
            "settings": EngineSettings(rules_accept=1.0, rules_reject=0.0),
        }
    )


def decide(
    name: str, pool: CandidatePool, script: Callable[[ChatRequest], str] = answer, **options: object
) -> tuple[Decision, FakeChat]:
    chat = FakeChat(
        script,
        supports_logprobs=True,
        logprobs=lambda r: ({"Yes": -0.01, "No": -5.0},) if r.want_logprobs else (),
    )
    services = StrategyServices(chat=chat, options=options)
    return arbitrate(pool=pool, strategy=get_strategy(name), services=services), chat


def judging(name: str, pool: CandidatePool, **options: object) -> list[ChatRequest]:
    requests = [r for r in decide(name, pool, **options)[1].requests if r.prompt_name in JUDGING]
    assert requests
    return requests


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_question_is_fenced_and_the_fixed_part_knows_nothing_of_it(name: str) -> None:
    for request in decide(name, pool_in())[1].requests:
        assert re.match(r"Question:\n<<<DATA question \w+>>>\nHow long", request.user)
        assert request.system == load_prompt(request.prompt_name).system.strip()
        assert "{{" not in request.system


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_passage_comes_with_what_is_known_of_its_document(name: str) -> None:
    for request in judging(name, pool_in()):
        passages = request.user.count("\ntext:\n")
        assert passages
        assert request.user.count("\ndocument: Branch manual\n") == passages
        known = re.findall(
            r"^effective 2022-07-01; version 3; the latest version\n<<<DATA", request.user, re.M
        )
        assert len(known) == passages


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "pointwise"])
@pytest.mark.parametrize(("language", "named"), [("en", "English"), ("es", "Spanish")])
def test_what_people_read_is_asked_for_in_the_language_of_the_question(
    name: str, language: str, named: str
) -> None:
    assert all(f"{named}" in request.user for request in judging(name, pool_in(language)))


@pytest.mark.parametrize("name", ["arbiter", "pointwise", "multi-criteria", "multi-criteria-2"])
def test_the_order_in_a_call_follows_the_seed_that_is_kept(name: str) -> None:
    def kinds(seed: int) -> list[list[str]]:
        calls = judging(name, pool_in(), seed=seed)
        return sorted(re.findall(r"of kind (\d+)", request.user) for request in calls)

    assert kinds(1) == kinds(1)
    assert kinds(1) != kinds(2)
    assert sorted(k for call in kinds(1) for k in call) == sorted(k for call in kinds(2) for k in call)
    decision, _ = decide(name, pool_in(), seed=2)
    assert json.loads(decision.artefacts["order"])["seed"] == 2


@pytest.mark.parametrize(
    ("quote", "flag"), [("are kept 1 years", ""), ("", "no_quote"), ("kept for ever", "unverified")]
)
def test_the_verifier_quotes_before_it_scores(quote: str, flag: str) -> None:
    def script(request: ChatRequest) -> str:
        return json.dumps({"reason": "It states it.", "quote": quote, "score": 9, "counter_argument": None})

    pool = pool_in()
    decision, chat = decide("r-flow", pool, script)
    schema = chat.requests[0].schema
    assert schema is not None
    assert list(schema.model_json_schema()["properties"]) == ["reason", "quote", "score", "counter_argument"]
    first = next(c.candidate_id for c in pool.candidates if "are kept 1 years" in c.anchor_text)
    verdict = next(v for v in decision.verdicts if v.candidate_id == first)
    told = [r for r in verdict.needs_person_reasons if r.startswith(("no_quote", "unverified"))]
    assert [bool(reason.startswith(flag)) for reason in told] == ([True] if flag else [])
