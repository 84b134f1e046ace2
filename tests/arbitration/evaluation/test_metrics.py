from __future__ import annotations

from itertools import count
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbitration.evaluation.judge import Judgement
from arbitration.evaluation.metrics import (
    METRICS,
    RANKING_METRICS,
    JudgedQuestion,
    QuestionOutcome,
    ndcg_at_10,
    ranking_values,
    strategy_metrics,
)
from arbitration.evaluation.records import RankedAnchor

_ROWS = count()


def found_at(*ranks: int, units: int, length: int = 50) -> Judgement:
    """A list of ``length`` candidates that finds one unit at each of the 1-based ``ranks``."""
    at = {rank: unit for unit, rank in enumerate(ranks)}
    return Judgement(tuple((at[r],) if r in at else () for r in range(1, length + 1)), (1,) * units)


def values_of(judgement: Judgement) -> dict[str, float]:
    return {name: float(values[0]) for name, values in ranking_values([judgement]).items()}


def row(
    judgement: Judgement | None = None, *, answerable: bool = True, cluster: str = "", **outcome: object
) -> JudgedQuestion:
    return JudgedQuestion(cluster or f"row {next(_ROWS)}", answerable, QuestionOutcome(**outcome), judgement)  # type: ignore[arg-type]


def test_two_units_found_at_ranks_two_and_four_of_three() -> None:
    values = values_of(found_at(2, 4, units=3))

    ideal = 1 + 1 / log2(3) + 1 / log2(4)
    assert values == pytest.approx(
        {
            "MRR": 1 / 2,
            "MRR@10": 1 / 2,
            "P@1": 0,
            "P@5": 2 / 5,
            "R@1": 0,
            "R@5": 2 / 3,
            "R@10": 2 / 3,
            "hit@10": 1,
            "MAP@10": (1 / 2 + 2 / 4) / 3,
            "NDCG@5": (1 / log2(3) + 1 / log2(5)) / ideal,
            "NDCG@10": (1 / log2(3) + 1 / log2(5)) / ideal,
        }
    )


def test_only_mrr_without_cut_off_sees_rank_forty() -> None:
    values = values_of(found_at(40, units=1))

    assert values.pop("MRR") == pytest.approx(1 / 40)
    assert set(values.values()) == {0.0}


def test_a_candidate_that_finds_three_units_is_one_precise_hit_with_full_recall() -> None:
    values = values_of(Judgement(((), (0, 1, 2), ()), (1, 1, 1)))

    assert values["MRR"] == pytest.approx(1 / 2)
    assert values["P@5"] == pytest.approx(1 / 5)
    assert values["R@1"] == 0
    assert values["R@5"] == pytest.approx(1)


def test_grades_weigh_in_ndcg() -> None:
    low_first = Judgement(((0,), (1,)), (1, 3))
    high_first = Judgement(((1,), (0,)), (1, 3))

    assert values_of(high_first)["NDCG@10"] == pytest.approx(1)
    assert values_of(low_first)["NDCG@10"] == pytest.approx((1 + 3 / log2(3)) / (3 + 1 / log2(3)))


def test_an_empty_list_scores_zero_everywhere() -> None:
    assert set(values_of(Judgement((), (1, 1))).values()) == {0.0}


@given(
    st.lists(st.sets(st.integers(1, 60), min_size=0, max_size=5), min_size=1, max_size=8),
    st.integers(0, 3),
)
def test_values_match_the_textbook_for_one_unit_per_candidate(lists: list[set[int]], missed: int) -> None:
    judgements = [found_at(*sorted(r), units=max(1, len(r) + missed), length=60) for r in lists]

    values = ranking_values(judgements)

    for i, ranks in enumerate(map(sorted, lists)):
        units = max(1, len(ranks) + missed)
        assert values["MRR"][i] == pytest.approx(1 / ranks[0] if ranks else 0)
        assert values["hit@10"][i] == bool(ranks and ranks[0] <= 10)
        assert values["R@10"][i] == pytest.approx(sum(r <= 10 for r in ranks) / units)
        precise = [(n / r) for n, r in enumerate(ranks, start=1) if r <= 10]
        assert values["MAP@10"][i] == pytest.approx(sum(precise) / units)


graded_lists = st.lists(
    st.tuples(
        st.lists(st.sets(st.integers(0, 5), max_size=3), max_size=30),
        st.lists(st.integers(1, 3), min_size=6, max_size=6),
    ),
    max_size=6,
)


@given(graded_lists)
def test_ndcg_alone_is_the_ndcg_of_all(drawn: list[tuple[list[set[int]], list[int]]]) -> None:
    judgements = []
    for ranks, grades in drawn:
        seen: set[int] = set()
        found = []
        for units in ranks:
            found.append(tuple(sorted(units - seen)))
            seen |= units
        judgements.append(Judgement(tuple(found), tuple(grades)))

    assert ndcg_at_10(judgements) == pytest.approx(ranking_values(judgements)["NDCG@10"])


def test_every_published_key_is_there_with_its_interval() -> None:
    figures = strategy_metrics([row(found_at(1, units=1), latency_ms=3.0), row(found_at(2, units=1))])

    assert list(figures)[: len(METRICS)] == list(METRICS)
    for figure in figures.values():
        assert set(figure.as_json()) == {"value", "low", "high", "n"}


def test_ranking_averages_judged_questions_only() -> None:
    figures = strategy_metrics([row(found_at(1, units=1)), row(found_at(4, units=1)), row(answerable=False)])

    assert figures["MRR"].value == pytest.approx((1 + 1 / 4) / 2)
    assert figures["MRR"].n == 2


def test_a_failed_question_counts_as_finding_nothing() -> None:
    figures = strategy_metrics(
        [row(found_at(1, units=1)), row(Judgement((), (1,)), error="the endpoint timed out", not_found=True)]
    )

    assert figures["MRR"].value == pytest.approx(1 / 2)
    assert figures["failures"].value == pytest.approx(1 / 2)
    assert figures["not_found_precision"].n == 0


def test_not_found_precision_and_recall() -> None:
    rows = [
        row(answerable=False, not_found=True),
        row(answerable=False, not_found=False),
        row(answerable=False, not_found=True),
        row(found_at(1, units=1), not_found=True),
        row(found_at(1, units=1)),
    ]

    figures = strategy_metrics(rows)

    assert (figures["not_found_precision"].value, figures["not_found_precision"].n) == (
        pytest.approx(2 / 3),
        3,
    )
    assert (figures["not_found_recall"].value, figures["not_found_recall"].n) == (pytest.approx(2 / 3), 3)


def test_not_found_is_unknown_when_never_said() -> None:
    figures = strategy_metrics([row(found_at(1, units=1))])

    assert figures["not_found_precision"].as_json() == {"value": None, "low": None, "high": None, "n": 0}


def test_shares_and_costs() -> None:
    figures = strategy_metrics(
        [
            row(
                None, candidates=10, llm_candidates=5, llm_calls=2, tokens=100, decided={"llm": 5, "gate": 5}
            ),
            row(None, candidates=30, llm_candidates=3, llm_calls=0, tokens=0, decided={"mlp": 30}),
        ]
    )

    assert figures["llm_share"].value == pytest.approx(8 / 40)
    assert figures["calls"].value == pytest.approx(1)
    assert figures["tokens"].value == pytest.approx(50)
    assert figures["share_gate"].value == pytest.approx(5 / 40)
    assert figures["share_mlp"].value == pytest.approx(30 / 40)


def test_same_seed_same_interval() -> None:
    rows = [row(found_at(rank, units=1)) for rank in (1, 2, 3, 9, 1, 1)]

    assert strategy_metrics(rows, seed=7) == strategy_metrics(rows, seed=7)
    assert set(RANKING_METRICS) < set(METRICS)


def test_variants_of_one_question_are_drawn_together() -> None:
    """Two perfectly opposed variants of each question: their mean never varies between resamples."""
    rows = [
        row(found_at(1, units=1) if variant else Judgement((), (1,)), cluster=f"q{n}")
        for n in range(20)
        for variant in (0, 1)
    ]

    figure = strategy_metrics(rows)["MRR"]

    assert (figure.value, figure.low, figure.high, figure.n) == (
        0.5,
        pytest.approx(0.5),
        pytest.approx(0.5),
        20,
    )


def test_latency_percentiles_are_by_nearest_rank() -> None:
    rows = [row(None, latency_ms=float(ms)) for ms in range(1, 101)]

    figures = strategy_metrics(rows)

    assert [figures[f"p{q}_ms"].value for q in (50, 95, 99)] == [50.0, 95.0, 99.0]
    low, high = figures["p50_ms"].low, figures["p50_ms"].high
    assert low is not None
    assert high is not None
    assert 30 < low < 50 < high < 70


def test_the_interval_of_a_mean_covers_the_truth_about_95_percent_of_the_time() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for repetition in range(60):
        hits = rng.random(120) < 0.4
        rows = [
            row(found_at(1, units=1) if hit else Judgement((), (1,)), cluster=str(i))
            for i, hit in enumerate(hits)
        ]
        figure = strategy_metrics(rows, seed=repetition)["MRR"]
        assert figure.low is not None
        assert figure.high is not None
        covered += figure.low <= 0.4 <= figure.high
    assert 51 <= covered <= 60


def told(holders: tuple[int, ...], anchors: list[tuple[bool, bool]], **fields: object) -> JudgedQuestion:
    """An answerable question whose candidates are (kept, asks a person); ``holders`` are those with evidence."""
    ranking = tuple(
        RankedAnchor("d", 1, place, 1, place, is_kept=kept, asks_person=asks)
        for place, (kept, asks) in enumerate(anchors, start=1)
    )
    found = tuple((0,) if place == (holders or (-1,))[0] else () for place in range(len(anchors)))
    outcome = QuestionOutcome(ranking=ranking, **fields)  # type: ignore[arg-type]
    return JudgedQuestion(
        f"q{id(outcome)}",
        True,
        outcome,
        Judgement(found, (1,), holders),
        ("The fee is due on the first day of each quarter.",),
    )


QUOTE = "The fee is due on the first day of each quarter."
KEPT, DISCARDED, ASKED = (True, False), (False, False), (False, True)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (told((0,), [KEPT, DISCARDED]), {"pool": 1, "lost": 0, "silent_loss": 0, "kept": 1}),
        (told((0, 1), [DISCARDED, KEPT]), {"pool": 1, "lost": 0, "silent_loss": 0}),
        (told((0,), [DISCARDED, KEPT]), {"pool": 1, "lost": 1, "silent_loss": 1, "to_people": 0}),
        (told((0,), [ASKED, KEPT]), {"lost": 1, "silent_loss": 0, "to_people": 1}),
        (told((0,), [DISCARDED], not_found=True, asks_to_confirm=True), {"lost": 1, "silent_loss": 0}),
        (
            told((0,), [DISCARDED], not_found=True),
            {"silent_loss": 1, "false_absent": 1, "answerable_flagged": 1},
        ),
        (told((), [KEPT]), {"pool": 0, "lost": 0, "silent_loss": 0}),
        (told((0,), [KEPT], no_strong_match=True), {"false_absent": 0, "answerable_flagged": 1}),
        (
            told((0,), [KEPT], first_sentence="It is due on the first day of each quarter."),
            {"first_sentence": 1},
        ),
        (told((0,), [KEPT], first_sentence="The fee is due on another day."), {"first_sentence": 0}),
        (told((0,), [KEPT], first_sentence=""), {"first_sentence": 0}),
    ],
)
def test_what_becomes_of_evidence(question: JudgedQuestion, expected: dict[str, float]) -> None:
    figures = strategy_metrics([question])

    assert {name: figures[name].value for name in expected} == expected


def test_flags_of_absent_questions_are_counted_apart() -> None:
    absent = [
        JudgedQuestion("a", False, QuestionOutcome(not_found=True), None),
        JudgedQuestion("b", False, QuestionOutcome(no_strong_match=True), None),
        JudgedQuestion("c", False, QuestionOutcome(), None),
    ]

    figures = strategy_metrics([*absent, told((0,), [KEPT])])

    assert figures["absent_flagged"].value == pytest.approx(2 / 3)
    assert figures["answerable_flagged"].value == 0
    assert (figures["false_absent"].value, figures["false_absent"].n) == (0, 1)
    assert figures["first_sentence"].value is None
