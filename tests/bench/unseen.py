"""Evidence lost unseen: how many of the nearest are kept for people, and how many questions then lose all evidence that
was found without a person being asked about any of it. Conformal risk control (:mod:`training.risk`) finds the fewest
for a promised share; each labelled set is held out in turn, and each has one vote. Questions in the same words are one
group.

Needs the shared test data and services: ``python -m workbench.stack exec --migrated -- python -m tests.bench unseen``;
with ``full`` as many questions as docs/evaluation.md names instead of the first 100.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from arbitration.decision import arbitrate
from arbitration.evaluation.datasets import load_dataset
from arbitration.evaluation.judge import Judge
from arbitration.evaluation.question_groups import question_key
from arbitration.evaluation.structured import line_maps
from arbitration.settings import EngineSettings
from arbitration.strategies.registry import get_strategy
from tests.bench.registry import Figure, Size, measurement
from training.bars import Decides, Measure, bar_settings, cards_of, lost_unseen
from training.labelled_pools import labels_of_pool
from training.risk import SHIPPED_CARDS, SHIPPED_LOSS, controlled_risk

Floats = npt.NDArray[np.float64]

SETS = (
    *("natural", "arf_us_constitution", "mmlongbench_admin", "contractnli", "cuad", "policyqa", "h2o_evals"),
    "financebench",
)
#: The most questions of each: the first so many.
QUICK, FULL = 100, {"contractnli": 400, "cuad": 300, "policyqa": 300, "h2o_evals": 200}
#: How many of the nearest are kept at most, and the promised shares.
LIMITS = (3, 6, 9, 12, 16, 20, 24, 30, 36, 42, 48, 60)
PROMISED = (0.05, 0.10)


@dataclass(frozen=True, slots=True)
class Losses:
    """Of one set: ``lost`` (limits, questions) 0 or 1, ``cards`` (limits, questions) that people are asked about, and
    the group of each question."""

    lost: Floats
    cards: Floats
    groups: tuple[str, ...]

    def risk(self, way: int) -> float:
        """The bound on the share lost with the limit of this index."""
        return controlled_risk(self.lost[way], self.groups)


def first_limit(sets: Mapping[str, Losses], alpha: float) -> int | None:
    """Index of the first limit from which on the mean bound over the sets stays within alpha; None where none does."""
    held = [np.mean([one.risk(way) for one in sets.values()]) <= alpha for way in range(len(LIMITS))]
    failing = [way for way, holds in enumerate(held) if not holds]
    first = failing[-1] + 1 if failing else 0
    return first if first < len(held) else None


def losses_of(folder: Path, *, limit: int | None) -> Losses:
    """What every limit loses of a labelled set."""
    from workbench.runs.evaluation import QuestionRunner, dataset_load

    dataset = load_dataset(folder).limited(limit)
    loaded = dataset_load(dataset=dataset, tell=lambda text: None)
    runner, judge = QuestionRunner(loaded=loaded, strategies=[]), Judge(line_maps(dataset))
    questions = [question for question in dataset.questions if question.is_ranked]
    lost, cards = np.zeros((len(LIMITS), len(questions))), np.zeros((len(LIMITS), len(questions)))
    for number, question in enumerate(questions):
        pool = runner.pool(question)
        ids = loaded.dataset_ids(question.collection)
        labels = labels_of_pool(pool, question, judge=judge, dataset_ids=ids)
        holders = frozenset(c.candidate_id for c, holds in zip(pool.candidates, labels, strict=True) if holds)
        for way, most in enumerate(LIMITS):
            settings = EngineSettings(**bar_settings(Decides.DISCARD, Measure.NEAREST, most))
            decision = arbitrate(
                pool=pool.model_copy(update={"settings": settings}), strategy=get_strategy("offline")
            )
            lost[way, number] = lost_unseen(decision, pool, holders)
            cards[way, number] = cards_of(decision)
    return Losses(lost, cards, tuple(question_key(question.text) for question in questions))


@measurement("unseen", needs_services=True)
def measure(size: Size) -> Iterator[Figure]:
    """What ships, by set; and for each promise what a set loses with the limit that the others ask for."""
    data = Path(os.environ.get("WORKBENCH_TEST_DATA", "../shared/data"))
    if not (data / "natural").is_dir():
        print(f"unseen: no shared test data at {data}; set WORKBENCH_TEST_DATA", file=sys.stderr)
        return
    most = FULL if size == "full" else dict.fromkeys(SETS, QUICK)
    yield from figures({name: losses_of(data / name, limit=most.get(name)) for name in SETS})


def figures(sets: Mapping[str, Losses]) -> Iterator[Figure]:
    """The figures of :func:`measure`."""
    shipped = LIMITS.index(EngineSettings().near_limit)
    for name, one in sets.items():
        yield Figure(f"{name}: lost unseen, as shipped", float(one.lost[shipped].mean()))
        yield Figure(f"{name}: cards a question, as shipped", float(one.cards[shipped].mean()))
    bound = np.mean([one.risk(shipped) for one in sets.values()])
    cards = np.mean([one.cards[shipped].mean() for one in sets.values()])
    yield Figure("bound as shipped, each set one vote", float(bound), "", SHIPPED_LOSS, "at most")
    yield Figure("cards as shipped, each set one vote", float(cards), "", SHIPPED_CARDS, "at most")
    for alpha in PROMISED:
        for name, one in sets.items():
            way = first_limit({other: own for other, own in sets.items() if other != name}, alpha)
            if way is not None:
                kept = f"at most {LIMITS[way]} kept, {one.cards[way].mean():.1f} cards"
                yield Figure(
                    f"{alpha:.0%} promised, {name} held out: lost", float(one.lost[way].mean()), beside=kept
                )
        way = first_limit(sets, alpha)
        if way is not None:
            cards = np.mean([one.cards[way].mean() for one in sets.values()])
            yield Figure(
                f"{alpha:.0%} promised: cards a question", float(cards), beside=f"at most {LIMITS[way]} kept"
            )
