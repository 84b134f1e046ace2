"""How likely the simulated year deploys its first model by a given month, by the share of cards that is blind.

One year shows one draw of blind cards. Here the reviews of the first months are held fixed and the blind cards among
them are drawn again many times; the gate of the product decides each time, against the rules. What the challenger says
of each reviewed card is cross-fitted once a month by question, over all of them. Only the pairs on which both sides
differ carry information about the gain, so these are counted.

Needs the shared test data and services:
``python -m workbench.stack exec --migrated -- python -m tests.bench year_chances``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import numpy as np

from arbitration.features import FEATURE_VERSION
from arbitration.settings import EngineSettings
from tests.bench.registry import Figure, Size, measurement
from tests.bench.year import DOCUMENTS, RULES, SEED, START, UNREVIEWED, Asked, Year, described, f1_of
from training.crossfit import Recipe, cross_fitted
from training.gate import Contender, GatePolicy, decide, differing
from training.labels import resolve
from training.run import train_model
from training.snapshot import Dataset, QuestionSides, build_snapshot

#: Labelled sets, and which of their documents are asked; None for all.
SETS: dict[str, frozenset[str] | None] = {"obliqa": frozenset(DOCUMENTS), "policyqa": None}
MONTHS = 5
ASKED_FOR = 3
SHARES = (0.1, 0.2, 0.3, 0.5)
DRAWS = (SEED, 1, 2)
REDRAWS = 40


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The cards reviewed up to a month, with what both sides say of them, and what the challenger is truly worth: F1
    over all candidates of questions that nobody reviewed."""

    month: int
    cards: Dataset
    champion: Contender
    challenger: Contender
    unseen_f1: float

    def blind(self, chosen: np.ndarray) -> Reviewed:
        """Only the chosen cards."""
        rows = np.flatnonzero(chosen[: len(self.cards)])
        thresholds = np.broadcast_to(self.challenger.threshold, len(self.cards))
        return replace(
            self,
            cards=self.cards.taken(rows),
            champion=replace(self.champion, probabilities=self.champion.probabilities[rows]),
            challenger=replace(
                self.challenger,
                threshold=thresholds[rows],
                probabilities=self.challenger.probabilities[rows],
            ),
        )


@dataclass
class Chances:
    """By month, over all draws: whether a first model was deployed by then, and on how many blind pairs both sides
    differ."""

    deployed: dict[int, list[bool]] = field(default_factory=dict)
    differ: dict[int, list[int]] = field(default_factory=dict)

    def by(self, month: int) -> float:
        """Share of the draws that deployed in this month or before."""
        return float(np.mean(self.deployed[month]))


def months_reviewed(year: Year, months: int = MONTHS) -> Iterator[Reviewed]:
    """Month after month while the rules serve."""
    for month in range(1, months + 1):
        year._review(START + timedelta(days=30 * month - 15))
        sides = QuestionSides.of(question.question for question in year.questions[: year.asked])
        labels = resolve(year.labels).winners
        cards = year._rows(labels, sides)
        snapshot = build_snapshot(
            [year._example(row) for row in labels], sides=sides, feature_version=FEATURE_VERSION
        )
        config = year.config.model_copy(update={"architectures": ("mlp-64-32",)})
        challenger = cross_fitted(
            Recipe(snapshot.training, "mlp-64-32", config),
            cards,
            version="v1",
            feature_version=FEATURE_VERSION,
        )
        estimates = [year.cards[name][0].estimates[year.cards[name][1]] for name in cards.label_ids]
        rules = Contender(RULES, None, EngineSettings().rules_accept, np.array(estimates))
        unseen, _mrr = f1_of(year.unreviewed, train_model(snapshot, config=config))
        yield Reviewed(month, cards, rules, challenger, unseen)


def chances(
    lived: Sequence[Reviewed], *, share: float, policy: GatePolicy, redraws: int = REDRAWS, seed: int = 0
) -> Chances:
    """What the gate decides when the blind cards are drawn again and again."""
    rng = np.random.default_rng(seed)
    found = Chances()
    for _ in range(redraws):
        chosen = rng.random(len(lived[-1].cards)) < share
        deployed = False
        for seen in (month.blind(chosen) for month in lived):
            decision = decide(
                gold=seen.cards,
                champion=seen.champion,
                challenger=seen.challenger,
                serving_feature_version=FEATURE_VERSION,
                is_first=True,
                policy=policy,
                way="cross_validation",
            )
            deployed = deployed or decision.outcome == "deployed"
            found.deployed.setdefault(seen.month, []).append(deployed)
            found.differ.setdefault(seen.month, []).append(differing(seen.champion, seen.challenger))
    return found


@measurement("year_chances", needs_services=True)
def measure(_size: Size) -> Iterator[Figure]:
    """On ObliQA and PolicyQA."""
    data = Path(os.environ.get("WORKBENCH_TEST_DATA", "../shared/data"))
    for name, documents in SETS.items():
        if (data / name).is_dir():
            found = described(data / name, documents, months=MONTHS)
            yield from figures(name, found[UNREVIEWED:], found[:UNREVIEWED])


def figures(
    name: str, questions: Sequence[Asked], unreviewed: list[Asked], draws: Sequence[int] = DRAWS
) -> Iterator[Figure]:
    """Of one labelled set, several orders of its questions."""
    lives = []
    for seed in draws:
        rng = np.random.default_rng(seed)
        ordered = [questions[place] for place in rng.permutation(len(questions))]
        lives.append(list(months_reviewed(Year(ordered, unreviewed, rng=rng))))
        print(f"{name}: draw {seed} reviewed", file=sys.stderr, flush=True)
    rules, _mrr = f1_of(unreviewed, None)
    for number, month in enumerate(lives[0], start=1):
        unseen = [life[number - 1].unseen_f1 for life in lives]
        beside = f"the rules {rules:.3f}; draws {', '.join(f'{value:.3f}' for value in unseen)}"
        yield Figure(
            f"{name}: F1 of the challenger of month {month.month}, unreviewed questions",
            float(np.mean(unseen)),
            beside=beside,
        )
    for share in SHARES:
        each = [chances(life, share=share, policy=GatePolicy()) for life in lives]
        for month_number in range(1, MONTHS + 1):
            value = float(np.mean([one.by(month_number) for one in each]))
            differ = float(np.mean([one.differ[month_number] for one in each]))
            yield Figure(
                f"{name}: first deployment by month {month_number}, {share:.0%} blind",
                100 * value,
                "%",
                beside=f"both sides differ on {differ:.1f} blind pairs",
            )
