from __future__ import annotations

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.answers import Answer
from arbitration.contracts import Role
from arbitration.decision import Decision, arbitrate
from arbitration.errors import LLMFailure, StrategyUnavailable
from arbitration.protocols import ChatRequest
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.consensus import Bar, log_odds, planned_calls, reply_log_odds
from arbitration.strategies.registry import get_strategy
from arbitration.written_answers import answer_with_model
from tests.arbitration.engine.makers import FakeChat
from tests.arbitration.engine.test_pointwise import pool_of

# --- formulas ------------------------------------------------------------------------------------------


def test_log_odds_sum_the_variants_of_each_word() -> None:
    odds = log_odds({"Yes": math.log(0.4), " yes": math.log(0.2), "NO": math.log(0.1), "No": math.log(0.1)})
    assert odds == pytest.approx(math.log(0.6) - math.log(0.2))


def test_a_missing_side_is_floored_by_the_smallest_returned() -> None:
    odds = log_odds({"Yes": math.log(0.9), "Maybe": math.log(0.01)})
    assert odds == pytest.approx(math.log(0.9) - math.log(0.01))


def test_without_either_word_there_are_no_odds() -> None:
    assert log_odds({"Maybe": -0.1}) is None
    assert reply_log_odds("Yes", ()) is None
    assert reply_log_odds("Perhaps", ({"Perhaps": -0.1, "Yes": -2.0},)) is None


def test_a_side_alone_is_weighed_against_what_it_leaves() -> None:
    assert log_odds({"Yes": math.log(0.9)}) == pytest.approx(math.log(0.9) - math.log(0.1))
    assert (log_odds({"No": 0.0}) or 0.0) < -10


NO = {"No": -0.02, "Yes": -4.0}
UNSURE = {"Yes": -2.0, "No": -6.0}  # what else might have stood where something else stands


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        ("No\nnothing", ({"No": -0.02, "Yes": -4.0}, {"\n": -0.01})),
        ("\nNo", ({"\n": -0.2, **UNSURE}, NO)),
        ("**No**", ({"**": -0.2, **UNSURE}, NO, {"**": -0.01, "Yes": -7.0})),
        ("**No**", ({"**No": -0.02, "**Yes": -4.0}, {"**": -0.01})),
        ('"No"', ({'"': -0.2, **UNSURE}, NO, {'"': -0.01})),
        ("“No.”", ({"\\xe2\\x80": -0.2, **UNSURE}, {"\\x9c": -0.01, **UNSURE}, NO, {".”": -0.1})),
        (" no.", ({" no.": -0.02, " yes.": -4.0, " maybe": -5.0},)),
        ("* No", ({"*": -0.3, "Yes": -1.5}, {" No": -0.02, " Yes": -4.0})),
        ("NO", ({"N": -0.02, "Y": -4.0}, {"O": -0.01})),
    ],
)
def test_the_odds_are_read_at_the_verdict_itself(text: str, positions: tuple[dict[str, float], ...]) -> None:
    assert reply_log_odds(text, positions) == pytest.approx(-3.98)


def test_words_after_the_verdict_say_nothing() -> None:
    positions = ({"Yes": -0.1, "No": -2.1}, {"\n": -0.1}, {"No": -0.1, "Yes": -9.0})
    assert reply_log_odds("Yes\nNo year is given.", positions) == pytest.approx(2.0)


def test_the_worked_check_of_the_paper() -> None:
    bar = Bar(tau=3.0, sigma=0.0, n=0.0)
    assert [bar.role(score) for score in (3.8, 2.5, 4.2)] == [Role.PRIMARY, Role.DISCARDED, Role.PRIMARY]


def test_tau_is_the_mean_and_sigma_the_population_deviation() -> None:
    bar = Bar.of([1.0, 2.0, 3.0, 6.0], n=1.0)
    assert bar.tau == pytest.approx(3.0)
    assert bar.sigma == pytest.approx(math.sqrt(14 / 4))
    assert bar.role(3.0) is Role.PRIMARY
    assert bar.role(1.5) is Role.SUPPORTING
    assert bar.role(1.0) is Role.DISCARDED


@given(st.floats(-50, 50), st.integers(1, 40))
def test_equal_scores_all_stay_above_the_floor_and_none_at_or_below_it(score: float, count: int) -> None:
    bar = Bar.of([score] * count)
    assert bar.role(score) is (Role.PRIMARY if score > 0 else Role.DISCARDED)


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=30), st.floats(-5, 5))
def test_more_tolerance_never_keeps_less_and_nothing_below_the_floor(
    scores: list[float], floor: float
) -> None:
    bars = [Bar.of(scores, n, floor=floor) for n in (0.0, 0.5, 1.0, 1.5)]
    kept = [[score for score in scores if bar.role(score) is not Role.DISCARDED] for bar in bars]
    assert bool(kept[0]) is (max(scores) > floor)
    assert [len(names) for names in kept] == sorted(len(names) for names in kept)
    assert all(score > floor for score in kept[-1])


def test_twenty_candidates_are_forty_one_calls() -> None:
    assert planned_calls(20) == 41
    assert planned_calls(100) == 41
    assert planned_calls(0) == 0


# --- behaviour -----------------------------------------------------------------------------------------


def years(request: ChatRequest) -> int:
    digits = [int(word) for word in request.user.split() if word.isdigit()]
    return digits[-1] if digits else 0


def script(request: ChatRequest) -> str:
    if request.stage == "judge":
        return "Yes\nIt states the years." if "kind 7" in request.user else "No\nNo years are stated."
    if request.stage == "answer":
        ids = re.findall(r"^candidate_id: (\S+)$", request.user, re.MULTILINE)
        quote = "Audit records of kind 7 are kept 7 years."
        sentence = {"text": "Records of kind 7 are kept 7 years.", "candidate_ids": ids, "quote": quote}
        return json.dumps({"sentences": [sentence]})
    return "They are kept."


def odds(request: ChatRequest) -> tuple[dict[str, float], ...]:
    if not request.want_logprobs:
        return ()
    sure = -0.01 if "kind 7" in request.user else -4.0
    return ({"Yes": sure, "No": math.log(1 - math.exp(sure))},)


def decide(chat: FakeChat, **options: object) -> Decision:
    services = StrategyServices(chat=chat, options=options)
    return arbitrate(pool=pool_of(), strategy=get_strategy("consensus"), services=services)


def answered(chat: FakeChat, **options: object) -> Answer:
    services = StrategyServices(chat=chat, options=options)
    return answer_with_model(pool=pool_of(), decision=decide(chat, **options), services=services)


def test_predictor_judge_and_bar() -> None:
    decision = decide(FakeChat(script, supports_logprobs=True, logprobs=odds))
    best = decision.verdicts[0]
    assert best.role is Role.PRIMARY
    assert best.reason == "It states the years."
    assert best.score_scale == "log-odds"
    assert best.terms["tau"] == pytest.approx(
        sum(v.raw_score or 0 for v in decision.verdicts) / len(decision.verdicts)
    )


def test_the_final_predictors_answer_is_the_one_that_is_shown() -> None:
    chat = FakeChat(script, supports_logprobs=True, logprobs=odds)
    answer = answered(chat)
    assert len(chat.requests) == planned_calls(len(pool_of().candidates))
    assert {r.temperature for r in chat.requests} == {0.0}
    assert (chat.requests[-1].stage, chat.requests[-1].prompt_name) == ("answer", "consensus-answer")
    assert answer.kind == "generated"
    assert [s.text for s in answer.sentences] == ["Records of kind 7 are kept 7 years."]
    assert answer.sentences[0].quotes[0].status == "verified"


@pytest.mark.parametrize("score", ["log_odds", "yes_no"])
def test_a_judge_that_says_no_to_everything_finds_nothing(score: str) -> None:
    def no(request: ChatRequest) -> str:
        return "No\nNothing is stated." if request.stage == "judge" else "They are kept."

    chat = FakeChat(no, supports_logprobs=True, logprobs=lambda r: ({"No": -0.001, "Yes": -12.001},))
    decision = decide(chat, score=score, n=1.5)
    assert {v.role for v in decision.verdicts} == {Role.DISCARDED}
    assert decision.not_found
    assert (decision.not_found_reason or "").startswith("all_discarded")
    assert decision.needs_person
    assert (
        answer_with_model(pool=pool_of(), decision=decision, services=StrategyServices(chat=chat)).kind
        == "not_found"
    )


def test_the_floor_can_be_set() -> None:
    chat = FakeChat(script, supports_logprobs=True, logprobs=odds)
    best = max(v.raw_score or 0.0 for v in decide(chat).verdicts)
    assert decide(chat, floor=best).not_found
    assert not decide(chat, floor=best - 0.1).not_found


def test_an_endpoint_without_logprobs_is_refused_clearly() -> None:
    with pytest.raises(StrategyUnavailable, match="needs log-probabilities"):
        decide(FakeChat(script))


def test_plain_yes_and_no_run_without_logprobs() -> None:
    decision = decide(FakeChat(script), score="yes_no")
    kept = [v for v in decision.verdicts if v.role is Role.PRIMARY]
    assert len(kept) == 1


def test_the_order_of_the_final_answer_can_be_turned() -> None:
    orders = {}
    for order in ("descending", "ascending", "random"):
        chat = FakeChat(
            lambda r: '{"sentences": []}' if r.stage == "answer" else "Yes\nfine",
            supports_logprobs=True,
            logprobs=lambda r: ({"Yes": -0.1, "No": -3.0},),
        )
        answered(chat, order=order)
        final = next(r for r in chat.requests if r.stage == "answer")
        orders[order] = [line for line in final.user.splitlines() if "kind" in line]
    assert len(orders["descending"]) > 1
    assert orders["descending"] == list(reversed(orders["ascending"]))
    assert sorted(orders["random"]) == sorted(orders["descending"])
    assert orders["random"] not in (orders["descending"], orders["ascending"])


def test_a_failed_call_leaves_its_candidate_to_the_rules_and_the_bar_to_the_others() -> None:
    def failing(request: ChatRequest) -> str | LLMFailure:
        return (
            LLMFailure("timeout", "slow")
            if "kind 3" in request.user and request.stage == "judge"
            else script(request)
        )

    decision = decide(FakeChat(failing, supports_logprobs=True, logprobs=odds))
    (left,) = [v for v in decision.verdicts if v.decided_by.kind != "llm"]
    assert left.decided_by.kind in ("fallback", "undecided")
    assert left.raw_score is None or left.score_scale != "log-odds"
    assert any("no verdict on 1 of" in note for note in decision.notes)
    same_role = [v for v in decision.verdicts if v.role is left.role]
    assert same_role[-1] is left, "its score has another scale"


def test_a_judge_without_odds_of_either_word_gives_no_verdict() -> None:
    chat = FakeChat(lambda r: "Perhaps", supports_logprobs=True, logprobs=lambda r: ({"Perhaps": -0.1},))
    decision = decide(chat)
    assert all(v.decided_by.kind in ("fallback", "undecided") for v in decision.verdicts)
    assert not decision.not_found
