from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.training.makers import dataset
from training.draw import blind_chance
from training.gate import Contender, GateDecision, GatePolicy, decide, differing, paired_gain, way_of
from training.metrics import f1_score
from training.snapshot import Dataset

GOLD = dataset(60)
TRUTH = GOLD.labels.astype(np.float64)


def contender(probabilities: np.ndarray, *, version: str = "v", feature_version: int | None = 2) -> Contender:
    return Contender(version, feature_version, 0.5, probabilities)


def wrong_on(*rows: int) -> np.ndarray:
    """Nearly certain and right everywhere but on these rows."""
    probabilities = np.clip(TRUTH, 0.02, 0.98)
    probabilities[list(rows)] = 1 - probabilities[list(rows)]
    return probabilities


def decided(
    champion: np.ndarray, challenger: np.ndarray, gold: Dataset = GOLD, **options: object
) -> GateDecision:
    return decide(
        gold=gold,
        champion=contender(champion, version="v1"),
        challenger=contender(challenger, version="v2"),
        serving_feature_version=2,
        **options,  # type: ignore[arg-type]
    )


def test_a_better_challenger_is_deployed_and_the_reason_names_the_figures() -> None:
    decision = decided(wrong_on(*range(0, 200, 10)), wrong_on(0))

    assert decision.outcome == "deployed"
    assert decision.reasons[0].startswith("F1 rises from 0.")
    assert "v1" in decision.reasons[0]
    assert "95 % interval" in decision.reasons[0]
    assert decision.gain is not None
    assert decision.gain.value == pytest.approx(
        decision.challenger.metrics.f1 - decision.champion.metrics.f1  # type: ignore[union-attr]
    )


def test_a_tie_keeps_the_champion() -> None:
    decision = decided(wrong_on(0), wrong_on(10))

    assert decision.outcome == "kept"
    assert "a tie keeps v1" in decision.reasons[0]


def test_a_worse_challenger_is_not_deployed() -> None:
    decision = decided(wrong_on(0), wrong_on(0, 10, 20))

    assert (decision.outcome, decision.reasons[0][:13]) == ("kept", "F1 falls from")


def test_both_are_scored_on_the_same_rows_named_by_hash() -> None:
    assert decided(wrong_on(0), wrong_on()).gold == GOLD.digest


@pytest.mark.parametrize(
    "policy",
    [GatePolicy(min_positives=121), GatePolicy(min_negatives=481), GatePolicy(min_questions=61)],
)
def test_too_little_gold_deploys_nothing(policy: GatePolicy) -> None:
    decision = decided(wrong_on(0), wrong_on(), policy=policy)

    assert decision.outcome == "refused"
    assert decision.reasons[0].startswith(
        "not enough gold: 120 positive and 480 negative pairs from 60 questions"
    )


def test_exactly_enough_gold_is_enough() -> None:
    policy = GatePolicy(min_positives=120, min_negatives=480, min_questions=60)

    assert decided(wrong_on(0), wrong_on(), policy=policy).outcome == "deployed"


def test_a_feature_version_that_is_not_served_is_refused() -> None:
    decision = decide(
        gold=GOLD,
        champion=contender(wrong_on(0)),
        challenger=contender(wrong_on(), feature_version=3),
        serving_feature_version=2,
    )

    assert (decision.outcome, decision.reasons) == (
        "refused",
        ("the challenger reads feature version 3, the serving code computes version 2",),
    )


def test_a_fall_in_one_collection_is_refused_though_the_whole_improves() -> None:
    policies = [10 * n for n in range(0, 60, 2)]
    contracts = [10 * n for n in range(1, 60, 2)]

    decision = decided(wrong_on(*policies[:20]), wrong_on(*contracts[:5]))

    assert decision.outcome == "refused"
    assert decision.reasons[0].startswith("F1 of collection 'contracts' falls")


def test_worse_calibration_is_refused() -> None:
    unsure = np.where(TRUTH == 1, 0.55, 0.45)

    decision = decided(wrong_on(0), unsure)

    assert decision.outcome == "refused"
    assert decision.reasons[0].startswith("calibration is worse")


def test_a_policy_may_ask_that_the_interval_exclude_zero() -> None:
    champion, challenger = wrong_on(0), wrong_on()

    assert decided(champion, challenger).outcome == "deployed"
    strict = decided(champion, challenger, policy=GatePolicy(interval_excludes_zero=True))
    assert strict.outcome == "kept"
    assert "holds zero" in strict.reasons[0]


def test_the_first_model_must_beat_the_rules() -> None:
    rules = contender(wrong_on(*range(0, 300, 10)), version="rules", feature_version=None)

    decision = decide(
        gold=GOLD, champion=rules, challenger=contender(wrong_on()), serving_feature_version=2, is_first=True
    )

    assert (decision.outcome, decision.is_first) == ("deployed", True)


def test_the_gain_of_a_model_over_itself_is_nothing() -> None:
    gain = paired_gain(GOLD, contender(wrong_on(3)), contender(wrong_on(3)))

    assert (gain.value, gain.low, gain.high, gain.n) == (0, 0, 0, 60)


@given(st.sets(st.integers(0, 599), max_size=30), st.sets(st.integers(0, 599), max_size=30))
def test_nothing_is_ever_deployed_without_a_greater_f1(old: set[int], new: set[int]) -> None:
    decision = decided(wrong_on(*old), wrong_on(*new), policy=GatePolicy(resamples=100))

    assert decision.champion is not None
    assert decision.challenger is not None
    if decision.outcome == "deployed":
        assert decision.challenger.metrics.f1 > decision.champion.metrics.f1
    if decision.challenger.metrics.f1 <= decision.champion.metrics.f1:
        assert decision.outcome == "kept"


def test_gold_rows_of_other_content_have_another_hash() -> None:
    assert replace(GOLD, labels=1 - GOLD.labels).digest != GOLD.digest


def test_a_small_holdout_is_no_yardstick_and_all_gold_is_cross_validated() -> None:
    assert way_of(GOLD, GatePolicy()) == "holdout"
    assert way_of(GOLD, GatePolicy(min_questions=61)) == "cross_validation"


def test_in_cross_validation_the_interval_decides() -> None:
    """And less gold is asked for."""
    few = GOLD.taken(np.flatnonzero(np.arange(len(GOLD)) < 120))
    policy = GatePolicy(min_positives=50)

    def compared(old: np.ndarray, new: np.ndarray, **options: object) -> GateDecision:
        return decided(old[:120], new[:120], few, policy=policy, **options)

    assert compared(wrong_on(0), wrong_on()).outcome == "refused"
    by_chance = compared(wrong_on(0), wrong_on(), way="cross_validation")
    assert (by_chance.outcome, by_chance.way) == ("kept", "cross_validation")
    assert "with so little gold it must not" in by_chance.reasons[0]
    assert "decide differently on 1 of 120 gold pairs" in by_chance.reasons[0]
    better = compared(wrong_on(*range(0, 120, 10)), wrong_on(), way="cross_validation")
    assert better.outcome == "deployed"
    fewer = GatePolicy(min_cross_questions=13)
    refused = decided(wrong_on()[:120], wrong_on()[:120], few, policy=fewer, way="cross_validation")
    assert refused.reasons[0].endswith("at least 10, 10 and 13 are needed")


def test_each_row_may_have_a_threshold_of_its_own() -> None:
    scores = np.where(TRUTH == 1, 0.3, 0.1)
    scores[300:] += 0.5
    thresholds = np.where(np.arange(len(GOLD)) < 300, 0.2, 0.7)
    challenger = Contender("v2", 2, thresholds, scores)

    decision = decide(
        gold=GOLD, champion=contender(wrong_on(0)), challenger=challenger, serving_feature_version=2,
        policy=GatePolicy(max_ece_rise=1.0),
    )  # fmt: skip

    assert decision.challenger is not None
    assert decision.challenger.metrics.f1 == 1.0
    assert decision.challenger.metrics.threshold == pytest.approx(0.45)
    assert decision.outcome == "deployed"


@given(st.sets(st.integers(0, 599), min_size=1, max_size=60), st.sets(st.integers(0, 599), max_size=60))
def test_f1_rises_exactly_where_the_pairs_that_differ_say_so(old: set[int], new: set[int]) -> None:
    """2 * label - F1 of the champion, summed over what the challenger adds, less what it drops."""
    before, after = (wrong_on(*rows) >= 0.5 for rows in (old, new))
    f1 = f1_score(GOLD.labels, before)

    added = after.astype(int) - before.astype(int)

    rises = f1_score(GOLD.labels, after) - f1
    says = float((added * (2 * GOLD.labels - f1)).sum())
    assert np.sign(round(rises, 9)) == np.sign(round(says, 9))


def test_pairs_differ_by_what_is_decided() -> None:
    """However far apart the probabilities are."""
    assert differing(contender(wrong_on(0, 1)), contender(wrong_on(1, 2))) == 2
    assert differing(contender(np.full(600, 0.6)), contender(np.full(600, 0.9))) == 0


#: What docs/learning.md promises: of the months in which the challenger is worth exactly what the champion is, one in
#: twenty deploys it at most. Nominally the 95 % interval lies above zero in 2.5 %; with little gold it is too narrow.
PROMISED = 0.05
MONTHS = 500


@pytest.mark.parametrize(
    ("questions", "shared", "is_drawn"),
    [(50, 0.5, False), (50, 0.9, False), (50, 0.5, True), (100, 0.5, True)],
)
def test_a_challenger_that_is_no_better_is_seldom_deployed(
    questions: int, shared: float, is_drawn: bool
) -> None:
    """Gold as ordinary work brings it: a pair or two a question, one in seven evidence, or what the draw takes of ten
    pairs a question by what the old side says. Both sides see the truth through noise of the same size, partly the same
    noise, and have the same threshold: neither is better."""
    policy = GatePolicy(resamples=400)
    deployed = 0
    for month in range(MONTHS):
        rng = np.random.default_rng([questions, int(10 * shared), month])
        gold = small_gold(rng, questions, pairs=10 if is_drawn else None)
        noise = rng.normal(size=(3, len(gold)))
        old, new = (
            1.8 * gold.labels + np.sqrt(shared) * noise[0] + np.sqrt(1 - shared) * own for own in noise[1:]
        )
        if is_drawn:
            chances = np.array([blind_chance(0.1, 1 / (1 + np.exp(-2.0 * (p - 1.3))), 0.5) for p in old])
            rows = np.flatnonzero(rng.random(len(gold)) < chances)
            gold, old, new = gold.taken(rows), old[rows], new[rows]
            gold = replace(gold, weights=1 / chances[rows] / np.mean(1 / chances[rows]))
        gain = paired_gain(gold, Contender("v1", 2, 1.3, old), Contender("v2", 2, 1.3, new), policy=policy)
        assert gain.low is not None
        deployed += gain.low > 0

    assert 0 < deployed <= PROMISED * MONTHS


def small_gold(rng: np.random.Generator, questions: int, *, pairs: int | None = None) -> Dataset:
    """Cards of so many questions, so many each or one or two; at least as many of each kind as a comparison needs."""
    names = [f"q{number}" for number in range(questions) for _ in range(pairs or rng.integers(1, 3))]
    labels = (rng.random(len(names)) < 1 / 7).astype(np.int64)
    labels[:10] = 1
    return replace(
        GOLD,
        features=np.zeros((len(names), 0)),
        labels=labels,
        weights=np.ones(len(names)),
        **dict.fromkeys(("groups", "questions", "lists", "label_ids"), tuple(names)),
        collections=("policies",) * len(names),
        roles=(),
    )
