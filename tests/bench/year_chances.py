"""How likely the simulated year deploys its first model by a given month, by the share of cards that is blind.

One year shows one draw of blind cards. Here the reviews of the first months are held fixed, and the blind cards among
all candidates of the questions asked are drawn again many times, evenly as before or nearer to the bar as the product
does; the gate of the product decides each time, against the rules. What the challenger says of each candidate is
cross-fitted once a month by question. Only the pairs on which both sides differ carry information about the gain, so
these are counted.

What a false deployment costs is seen by exchanging both sides in every second question, by lot: then neither is better.

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
from tests.bench.year import (
    DOCUMENTS,
    RULES,
    SEED,
    START,
    UNREVIEWED,
    WRONG,
    Asked,
    Floats,
    Year,
    described,
    f1_of,
)
from training.crossfit import Recipe, cross_fitted
from training.draw import blind_chance
from training.gate import Contender, GatePolicy, decide, differing
from training.labels import resolve
from training.run import train_model
from training.snapshot import Dataset, QuestionSides, build_snapshot

#: Labelled sets, and which of their documents are asked; None for all.
SETS: dict[str, frozenset[str] | None] = {"obliqa": frozenset(DOCUMENTS), "policyqa": None}
MONTHS = 5
ASKED_FOR = 3
SHARES = (0.1, 0.2, 0.3)
DRAWS = (SEED, 1, 2)
REDRAWS = 40


@dataclass(frozen=True, slots=True)
class Reviewed:
    """All candidates of the questions asked up to a month, as people would judge them, with what both sides say, and
    what the challenger is truly worth: F1 over all candidates of questions that nobody reviewed."""

    month: int
    cards: Dataset
    champion: Contender
    challenger: Contender
    unseen_f1: float

    def blind(self, drawn: Floats, chances: Floats) -> Reviewed:
        """Only the cards whose lot falls below their chance, weighed by its inverse."""
        rows = np.flatnonzero(drawn[: len(self.cards)] < chances[: len(self.cards)])
        inverse = 1.0 / chances[rows]
        return replace(
            self,
            cards=replace(self.cards.taken(rows), weights=inverse / inverse.mean()),
            champion=_taken(self.champion, rows),
            challenger=_taken(self.challenger, rows),
        )

    def exchanged(self, lots: Floats) -> Reviewed:
        """Both sides exchanged in every second question, by lot: what is left of the gain is chance."""
        numbers = {name: number for number, name in enumerate(dict.fromkeys(self.cards.groups))}
        swapped = lots[[numbers[name] for name in self.cards.groups]] < 0.5
        old, new = self.champion, self.challenger
        return replace(self, champion=_mixed(old, new, swapped), challenger=_mixed(new, old, swapped))


def _taken(side: Contender, rows: np.ndarray) -> Contender:
    thresholds = np.broadcast_to(side.threshold, len(side.probabilities))
    return replace(side, threshold=thresholds[rows], probabilities=side.probabilities[rows])


def _mixed(side: Contender, other: Contender, swapped: np.ndarray) -> Contender:
    return replace(
        side,
        threshold=np.where(swapped, other.threshold, side.threshold),
        probabilities=np.where(swapped, other.probabilities, side.probabilities),
    )


@dataclass
class Chances:
    """By month, over all draws: whether a first model was deployed by then, and in that month, and on how many blind
    pairs both sides differ."""

    deployed: dict[int, list[bool]] = field(default_factory=dict)
    at_once: dict[int, list[bool]] = field(default_factory=dict)
    differ: dict[int, list[int]] = field(default_factory=dict)

    def by(self, month: int) -> float:
        """Share of the draws that deployed in this month or before."""
        return float(np.mean(self.deployed[month]))


def months_reviewed(year: Year, months: int = MONTHS) -> Iterator[Reviewed]:
    """Month after month while the rules serve."""
    lots = np.random.default_rng(SEED)
    judged = [question.labels ^ (lots.random(len(question.labels)) < WRONG) for question in year.questions]
    for month in range(1, months + 1):
        year._review(START + timedelta(days=30 * month - 15))
        asked = year.questions[: year.asked]
        sides = QuestionSides.of(question.question for question in asked)
        cards = all_candidates(asked, judged, sides)
        examples = [year._example(row) for row in resolve(year.labels).winners]
        snapshot = build_snapshot(examples, sides=sides, feature_version=FEATURE_VERSION)
        config = year.config.model_copy(update={"architectures": ("mlp-64-32",)})
        recipe = Recipe(snapshot.training, "mlp-64-32", config)
        challenger = cross_fitted(recipe, cards, version="v1", feature_version=FEATURE_VERSION)
        estimates = np.concatenate([question.estimates for question in asked])
        rules = Contender(RULES, None, EngineSettings().rules_accept, estimates)
        unseen, _mrr = f1_of(year.unreviewed, train_model(snapshot, config=config))
        yield Reviewed(month, cards, rules, challenger, unseen)


def all_candidates(asked: Sequence[Asked], judged: Sequence[np.ndarray], sides: QuestionSides) -> Dataset:
    """Every candidate of the questions, with its label as people would give it."""
    names = [question.question for question in asked for _ in question.labels]
    return Dataset(
        features=np.concatenate([question.features for question in asked]),
        labels=np.concatenate(judged[: len(asked)]).astype(np.int64),
        weights=np.ones(len(names)),
        groups=tuple(map(sides.group, names)),
        questions=tuple(names),
        collections=("obliqa",) * len(names),
        lists=tuple(names),
        label_ids=tuple(map(str, range(len(names)))),
    )


def chances(
    lived: Sequence[Reviewed],
    *,
    share: float,
    policy: GatePolicy,
    near_bar: bool = True,
    exchanged: bool = False,
    redraws: int = REDRAWS,
    seed: int = 0,
) -> Chances:
    """What the gate decides when the blind cards are drawn again and again; with ``exchanged`` sides, where it should
    deploy nothing."""
    rng = np.random.default_rng(seed)
    found = Chances()
    all_cards, bar = len(lived[-1].cards), EngineSettings().rules_accept
    given = [blind_chance(share, float(p), bar) for p in lived[-1].champion.probabilities]
    each = np.array(given) if near_bar else np.full(all_cards, share)
    for _ in range(redraws):
        drawn, lots = rng.random(all_cards), rng.random(all_cards)
        deployed = False
        for month in lived:
            seen = (month.exchanged(lots) if exchanged else month).blind(drawn, each)
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
            found.at_once.setdefault(seen.month, []).append(decision.outcome == "deployed")
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
    for share, near_bar in (*((share, True) for share in SHARES), (SHARES[0], False)):
        said = f"{share:.0%} blind, {'near the bar' if near_bar else 'drawn evenly'}"
        each, null = (
            [
                chances(life, share=share, near_bar=near_bar, policy=GatePolicy(), exchanged=exchanged)
                for life in lives
            ]
            for exchanged in (False, True)
        )
        for number in range(1, MONTHS + 1):
            value = float(np.mean([one.by(number) for one in each]))
            differ = float(np.mean([one.differ[number] for one in each]))
            beside = f"both sides differ on {differ:.1f} blind pairs"
            yield Figure(
                f"{name}: first deployment by month {number}, {said}", 100 * value, "%", beside=beside
            )
        false = float(np.mean([month for one in null for month in one.at_once.values()]))
        yield Figure(f"{name}: a month deploys with equal sides, {said}", 100 * false, "%", 5, "at most")
