from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.contracts import Role
from arbitration.decision import Decision, arbitrate
from arbitration.errors import LLMFailure, StrategyUnavailable
from arbitration.protocols import ChatRequest
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.consensus import Bar, kept_in_order, log_odds, planned_calls, reply_log_odds
from arbitration.strategies.registry import get_strategy
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
    assert reply_log_odds(()) is None


def test_the_first_position_with_either_word_counts() -> None:
    assert reply_log_odds(({"\n": -0.1}, {"Yes": -0.1, "No": -2.1})) == pytest.approx(2.0)


def test_the_worked_check_of_the_paper() -> None:
    scores = {"first": 3.8, "second": 2.5, "third": 4.2}
    assert kept_in_order(scores, Bar(tau=3.0, sigma=0.0, n=0.0)) == ["third", "first"]


def test_tau_is_the_mean_and_sigma_the_population_deviation() -> None:
    bar = Bar.of([1.0, 2.0, 3.0, 6.0], n=1.0)
    assert bar.tau == pytest.approx(3.0)
    assert bar.sigma == pytest.approx(math.sqrt(14 / 4))
    assert bar.role(3.0) is Role.PRIMARY
    assert bar.role(1.5) is Role.SUPPORTING
    assert bar.role(1.0) is Role.DISCARDED


@given(st.floats(-50, 50), st.integers(1, 40))
def test_equal_scores_all_stay(score: float, count: int) -> None:
    bar = Bar.of([score] * count)
    assert bar.role(score) is Role.PRIMARY


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=30))
def test_something_always_stays_and_more_tolerance_never_keeps_less(scores: list[float]) -> None:
    by_name = {str(i): score for i, score in enumerate(scores)}
    kept = [len(kept_in_order(by_name, Bar.of(scores, n))) for n in (0.0, 0.5, 1.0, 1.5)]
    assert kept[0] >= 1
    assert kept == sorted(kept)


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
    return "They are kept."


def odds(request: ChatRequest) -> tuple[dict[str, float], ...]:
    if not request.want_logprobs:
        return ()
    sure = -0.01 if "kind 7" in request.user else -4.0
    return ({"Yes": sure, "No": math.log(1 - math.exp(sure))},)


def decide(chat: FakeChat, **options: object) -> Decision:
    services = StrategyServices(chat=chat, options=options)
    return arbitrate(pool=pool_of(), strategy=get_strategy("consensus"), services=services)


def test_predictor_judge_bar_and_final_answer() -> None:
    chat = FakeChat(script, supports_logprobs=True, logprobs=odds)
    decision = decide(chat)
    pool = pool_of()
    assert len(chat.requests) == planned_calls(len(pool.candidates))
    assert {r.temperature for r in chat.requests} == {0.0}
    best = decision.verdicts[0]
    assert best.role is Role.PRIMARY
    assert best.reason == "It states the years."
    assert best.score_scale == "log-odds"
    assert best.terms["tau"] == pytest.approx(
        sum(v.raw_score or 0 for v in decision.verdicts) / len(decision.verdicts)
    )
    assert decision.artefacts["answer"] == "They are kept."


def test_an_endpoint_without_logprobs_is_refused_clearly() -> None:
    with pytest.raises(StrategyUnavailable, match="needs log-probabilities"):
        decide(FakeChat(script))


def test_plain_yes_and_no_run_without_logprobs() -> None:
    decision = decide(FakeChat(script), score="yes_no")
    kept = [v for v in decision.verdicts if v.role is Role.PRIMARY]
    assert len(kept) == 1


def test_the_order_of_the_final_answer_can_be_turned() -> None:
    orders = {}
    for order in ("descending", "ascending"):
        chat = FakeChat(
            lambda r: "Yes\nfine", supports_logprobs=True, logprobs=lambda r: ({"Yes": -0.1, "No": -3.0},)
        )
        decide(chat, order=order)
        final = next(r for r in chat.requests if r.stage == "answer")
        orders[order] = [line for line in final.user.splitlines() if "kind" in line]
    assert orders["descending"] == list(reversed(orders["ascending"]))


def test_a_failed_call_leaves_its_candidate_undecided_and_the_bar_to_the_others() -> None:
    def failing(request: ChatRequest) -> str | LLMFailure:
        return (
            LLMFailure("timeout", "slow")
            if "kind 3" in request.user and request.stage == "judge"
            else script(request)
        )

    decision = decide(FakeChat(failing, supports_logprobs=True, logprobs=odds))
    assert len(decision.undecided_ids) == 1
    assert next(v for v in decision.verdicts if v.role is None).needs_person


def test_a_judge_without_odds_of_either_word_gives_no_verdict() -> None:
    chat = FakeChat(lambda r: "Perhaps", supports_logprobs=True, logprobs=lambda r: ({"Perhaps": -0.1},))
    decision = decide(chat)
    assert all(v.role is None for v in decision.verdicts)
    assert not decision.not_found
