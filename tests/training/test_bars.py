"""Bars by risk control: what each bar does to a question, and the bar that keeps a promise."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pytest

from arbitration.pipeline import ask
from arbitration.pool import CandidatePool
from arbitration.settings import EngineSettings
from arbitration.strategies.base import StrategyServices
from tests.arbitration.engine.makers import SectionText, make_document, make_store
from tests.arbitration.engine.test_interaction import ByMeaning
from training.bars import (
    LADDERS,
    DecidedQuestion,
    Decides,
    Measure,
    Replayed,
    bar_curve,
    bar_settings,
    measure_of,
    replayed,
    seen_bar,
    shipped_bar,
)

DISCARD, ACCEPT = Decides.DISCARD, Decides.ACCEPT


@pytest.fixture(scope="module")
def pool() -> CandidatePool:
    """One passage that answers, and sixty that are much alike."""
    lines = [
        SectionText(f"{n} Rule", (f"Rule number {n} about the equipment of staff is read aloud.",))
        for n in range(2, 62)
    ]
    answer = SectionText("1 Loss", ("Staff who lose laptops tell the desk within one day.",))
    encoder = ByMeaning()
    store = make_store(make_document(answer, *lines), embedder=encoder)
    return ask(question="Whom do staff tell if they lose laptops?", store=store, embedder=encoder).pool


@dataclass(frozen=True)
class Ranks:
    """A model whose probability falls evenly from candidate to candidate."""

    version: str = "v1"
    architecture: str = "mlp"
    feature_version: int = 1
    threshold: float = 0.5
    blend_weight: float = 0.0
    asked: list[int] = field(default_factory=list)

    def probabilities(self, features: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.linspace(0.9, 0.0, len(features))


def with_model(model: Ranks) -> StrategyServices:
    def rows(pool: CandidatePool) -> npt.NDArray[np.float64]:
        model.asked.append(len(pool.candidates))
        return np.zeros((len(pool.candidates), 1))

    return StrategyServices(scorer=model, feature_rows=rows)


class TestWhatABarDoes:
    @pytest.mark.parametrize(("decides", "measure"), LADDERS)
    def test_what_ships_stands_on_every_ladder_and_changes_nothing(
        self, decides: Decides, measure: Measure
    ) -> None:
        bar = shipped_bar(decides, measure)
        changed = EngineSettings(**bar_settings(decides, measure, bar))

        assert bar in LADDERS[decides, measure]
        kept = {"borrowed_reject"} if measure is Measure.MODEL and decides is DISCARD else set()
        assert changed.model_dump(exclude=kept) == EngineSettings().model_dump(exclude=kept)

    def test_a_model_is_measured_by_its_probability_and_the_rules_by_what_is_near(self) -> None:
        assert measure_of(DISCARD, has_model=True, has_late=True) is Measure.MODEL
        assert measure_of(DISCARD, has_model=False, has_late=True) is Measure.NEAREST
        assert measure_of(DISCARD, has_model=False, has_late=False) is Measure.ESTIMATE
        assert measure_of(ACCEPT, has_model=False, has_late=True) is Measure.ESTIMATE

    def test_a_bar_is_shown_on_the_scale_of_the_cards(self) -> None:
        shown = seen_bar(DISCARD, Measure.MODEL, 0.4, threshold=0.2)

        assert shown == pytest.approx(EngineSettings().bars(threshold=0.2).reject)
        assert seen_bar(DISCARD, Measure.NEAREST, 24, threshold=None) == 24

    def test_the_more_are_kept_the_fewer_are_lost_and_the_more_people_read(self, pool: CandidatePool) -> None:
        last = list(pool.candidates)[-1].candidate_id
        question = DecidedQuestion("q", pool, frozenset({last}), frozenset())
        model = Ranks()

        found = replayed(question, decides=DISCARD, measure=Measure.MODEL, services=with_model(model))

        assert found.losses[0] == 1.0
        assert np.all(np.diff(found.cards) >= 0)
        assert found.cards[-1] > found.cards[0]
        assert len(model.asked) == 1, "the features of a list are computed once"

    def test_all_that_was_found_is_kept_at_the_end_of_the_ladder(self, pool: CandidatePool) -> None:
        each = [
            DecidedQuestion("q", pool, frozenset({candidate.candidate_id}), frozenset())
            for candidate in list(pool.candidates)[:: len(pool.candidates) // 5]
        ]
        ways = [
            replayed(one, decides=DISCARD, measure=Measure.NEAREST, services=StrategyServices())
            for one in each
        ]
        losses = np.array([way.losses for way in ways])

        assert losses[:, 0].mean() > 0.5
        assert not losses[:, -1].any()
        assert np.all(np.diff(losses.mean(axis=0)) <= 0)

    def test_a_bar_that_the_question_was_asked_with_does_not_count(self, pool: CandidatePool) -> None:
        asked = pool.model_copy(update={"settings": EngineSettings(near_limit=200, near_share=0.0)})
        evidence = frozenset({list(pool.candidates)[-1].candidate_id})

        def losses(of: CandidatePool) -> list[float]:
            question = DecidedQuestion("q", of, evidence, frozenset())
            return list(
                replayed(
                    question, decides=ACCEPT, measure=Measure.ESTIMATE, services=StrategyServices()
                ).cards
            )

        assert losses(asked) == losses(pool)

    def test_of_what_is_accepted_the_share_that_is_no_evidence_counts(self, pool: CandidatePool) -> None:
        names = [candidate.candidate_id for candidate in pool.candidates]
        question = DecidedQuestion("q", pool, frozenset(names[:1]), frozenset(names[1:4]))

        found = replayed(question, decides=ACCEPT, measure=Measure.MODEL, services=with_model(Ranks()))

        assert found.losses[0] == pytest.approx(3 / 4)
        assert found.losses[-1] == 0.0
        assert found.cards[-1] > found.cards[0]

    def test_a_question_without_evidence_tells_of_accepting_alone(self, pool: CandidatePool) -> None:
        question = DecidedQuestion("q", pool, frozenset(), frozenset({"c1"}))

        assert question.tells(ACCEPT)
        assert not question.tells(DISCARD)


def questions(lost_up_to: list[int], *, ladder: int = 5) -> list[Replayed]:
    """Questions whose evidence is lost with so many of the first bars."""
    return [
        Replayed(np.array([float(way < count) for way in range(ladder)]), np.arange(ladder) * 3.0)
        for count in lost_up_to
    ]


LADDER = (3, 6, 12, 24, 48)


class TestThePromise:
    def test_the_first_bar_that_keeps_it_is_taken_with_its_effect(self) -> None:
        found = questions([0] * 37 + [2, 4])

        curve = bar_curve(found, [str(n) for n in range(39)], ladder=LADDER, promised=0.05)

        assert curve.chosen == 2  # (1 + 1) / 40 is 5 % at 12; (2 + 1) / 40 is more at 6
        assert curve.ways[2].bar == 12
        assert curve.ways[2].lost == pytest.approx(1 / 39)
        assert curve.ways[2].bound == pytest.approx(0.05)
        assert curve.ways[2].cards == 6.0
        assert curve.missing == 0

    def test_too_few_questions_promise_nothing_and_say_how_many_are_missing(self) -> None:
        curve = bar_curve(questions([0] * 7), [str(n) for n in range(7)], ladder=LADDER, promised=0.05)

        assert curve.chosen is None
        assert (curve.groups, curve.needed, curve.missing) == (7, 19, 12)

    def test_no_question_at_all(self) -> None:
        curve = bar_curve([], [], ladder=LADDER, promised=0.1)

        assert curve.chosen is None
        assert curve.missing == 9
        assert curve.ways[0].bound == 1.0

    def test_the_same_question_asked_often_counts_once(self) -> None:
        curve = bar_curve(questions([0] * 30), ["same"] * 30, ladder=LADDER, promised=0.1)

        assert (curve.questions, curve.groups, curve.missing) == (30, 1, 8)
        assert curve.chosen is None

    def test_enough_questions_whose_evidence_no_bar_keeps(self) -> None:
        curve = bar_curve(questions([5] * 30), [str(n) for n in range(30)], ladder=LADDER, promised=0.1)

        assert curve.chosen is None
        assert curve.missing == 0

    def test_a_cheaper_bar_is_no_better_than_a_dearer_one(self) -> None:
        """Conflicts and definitions may turn what one bar keeps into something else at the next."""
        odd = [Replayed(np.array([0.0, 0.0, 1.0, 0.0, 0.0]), np.zeros(5)) for _ in range(10)]

        curve = bar_curve(odd, [str(n) for n in range(10)], ladder=LADDER, promised=0.2)

        assert [way.lost for way in curve.ways] == pytest.approx([1, 1, 1, 0, 0])
        assert curve.chosen == 3

    @pytest.mark.parametrize("promised", [0.05, 0.1, 0.2])
    def test_it_holds_over_draws_of_questions_in_groups(self, promised: float) -> None:
        """Questions come in groups of one to four that are alike. The bar chosen on 120 groups loses, on groups that
        it did not see, no more than promised on average over the draws, and not much less either."""
        rng = np.random.default_rng(16)
        ladder = tuple(range(1, 41))
        shares = []
        for _ in range(150):
            sizes = rng.integers(1, 5, size=240)
            centre = rng.geometric(0.2, size=240)
            found, groups, seen = [], [], []
            for group, size in enumerate(sizes):
                needs = np.maximum(1, centre[group] + rng.integers(-1, 2, size=size))
                for need in needs:
                    losses = (need > np.array(ladder)).astype(float)
                    if group < 120:
                        found.append(Replayed(losses, np.array(ladder, dtype=float)))
                        groups.append(str(group))
                if group >= 120:
                    seen.append(needs)
            curve = bar_curve(found, groups, ladder=ladder, promised=promised)
            assert curve.chosen is not None
            bar = curve.ways[curve.chosen].bar
            shares.append(np.mean([(needs > bar).mean() for needs in seen]))

        spread = float(np.std(shares) / np.sqrt(len(shares)))
        assert np.mean(shares) <= promised + 2 * spread
        assert np.mean(shares) >= promised / 2
