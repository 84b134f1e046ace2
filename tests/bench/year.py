"""A simulated year of the learning loop: twelve months, 300 reviews each, a training at the end of every month.

Questions of ObliQA are asked one after another, found and labelled once. Of each, people review the cards that rank
best under whatever serves in that month (the rules, or the champion), and those that the product's draw makes blind
among all; one decision in twenty is wrong. What follows is the product's own code: which label speaks, on which side
a question stands, what is gold and what it weighs, how both sides are compared, and what the gate decides. Questions
that nobody reviews say how good what serves then is; the loop never sees them.

The same year is lived again with other draws (order of questions, mistakes, blind cards): one draw says little about
when the interval first excludes zero.

Needs the shared test data and services: ``python -m workbench.stack exec --migrated -- python -m tests.bench year``.
Writes ``var/year.json``, which ``python -m tests.bench.year_plot`` draws.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arbitration.contracts import Role
from arbitration.evaluation.question_groups import question_key
from arbitration.evidence import evidence_scores
from arbitration.features import FEATURE_VERSION, pool_features
from arbitration.settings import EngineSettings
from tests.bench.registry import Figure, Size, measurement
from training.crossfit import Recipe, cross_fitted
from training.draw import blind_chance
from training.fitting import NotEnoughData, TrainingConfig
from training.gate import (
    Contender,
    GateDecision,
    GatePolicy,
    decide,
    gold_counts,
    gold_missing,
    way_of,
)
from training.gold import all_gold_labels, draw_weights, gold_dataset, gold_labels
from training.labels import LabelRow, LabelSource, resolve
from training.metrics import f1_score, ranked_judgements
from training.run import TrainedModel, train_model
from training.snapshot import Dataset, Example, QuestionSides, build_snapshot

Floats = npt.NDArray[np.float64]

#: Five of ObliQA's forty regulations: more different questions than a year asks.
DOCUMENTS = {"1", "3", "10", "19", "34"}
MONTHS, REVIEWS, WRONG, BLIND = 12, 300, 0.05, 0.10
#: Cards of a question that people review besides the blind ones: the best ranked, as many as are kept on average.
BEST = 8
UNREVIEWED = 200
SEED = 2026
OTHER_DRAWS = (1, 2)
START = datetime(2026, 1, 1, tzinfo=UTC)
REPORT = Path("var/year.json")
RULES = "the rules"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's candidates: features (n, f), whether each is evidence, what the rules estimate."""

    question: str
    features: Floats
    labels: npt.NDArray[np.int64]
    estimates: Floats


@dataclass(frozen=True, slots=True)
class Champion:
    """What serves, with the rows it learned from."""

    name: str
    model: TrainedModel
    rows: Dataset

    def recipe(self) -> Recipe:
        """How it was made."""
        return _recipe(self.model, self.rows)


@dataclass(frozen=True, slots=True)
class Month:
    """What a month came to. ``serves_f1`` and ``serves_mrr`` are of what serves after it, on questions that nobody
    reviewed; ``unseen_f1`` is that of the challenger there."""

    month: int
    labels: int
    gold: int
    gold_positives: int
    gold_questions: int
    way: str
    champion: str
    champion_f1: float | None
    challenger_f1: float | None
    low: float | None
    high: float | None
    outcome: str
    reason: str
    unseen_f1: float | None
    serves: str
    serves_f1: float
    serves_mrr: float


@dataclass
class Year:
    """The state of a simulated installation."""

    questions: list[Asked]
    unreviewed: list[Asked]
    config: TrainingConfig = field(default_factory=TrainingConfig)
    policy: GatePolicy = field(default_factory=GatePolicy)
    champion: Champion | None = None
    asked: int = 0
    labels: list[LabelRow] = field(default_factory=list)
    cards: dict[str, tuple[Asked, int]] = field(default_factory=dict)
    trained: set[str] = field(default_factory=set)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(SEED))

    def live(self) -> Iterator[Month]:
        """Month after month."""
        for month in range(1, MONTHS + 1):
            self._review(START + timedelta(days=30 * month - 15))
            yield self._train(month)

    # --- people ---------------------------------------------------------------------------------------

    def _review(self, when: datetime) -> None:
        done = 0
        while done < REVIEWS:
            question = self.questions[self.asked]
            scores, bar = self._said(question)
            chances = np.array([blind_chance(BLIND, float(score), bar) for score in scores])
            is_blind = self.rng.random(len(scores)) < chances
            for place in np.flatnonzero(is_blind | (_places(scores) < BEST)):
                chance = float(chances[place]) if is_blind[place] else None
                self._decide(question, int(place), says=bool(scores[place] >= bar), chance=chance, when=when)
                done += 1
            self.asked += 1

    def _said(self, question: Asked) -> tuple[Floats, float]:
        if self.champion is None:
            return question.estimates, EngineSettings().rules_accept
        scorer = self.champion.model.scorer
        return scorer.probabilities(question.features), scorer.threshold

    def _decide(
        self, question: Asked, place: int, *, says: bool, chance: float | None, when: datetime
    ) -> None:
        right = bool(question.labels[place])
        decided = right != bool(self.rng.random() < WRONG)
        label_id = f"{len(self.labels):06d}"
        self.labels.append(
            LabelRow(
                label_id=label_id,
                question=question.question,
                candidate=str(place),
                role=Role.PRIMARY if decided else Role.DISCARDED,
                source=LabelSource.APPROVE if decided == says else LabelSource.OVERRIDE,
                judge="a reviewer",
                created_at=when,
                collection="obliqa",
                blind=chance is not None,
                chance=chance,
            )
        )
        self.cards[label_id] = (question, place)

    # --- the loop -------------------------------------------------------------------------------------

    def _train(self, month: int) -> Month:
        sides = QuestionSides.of(question.question for question in self.questions[: self.asked])
        examples = {row.label_id: self._example(row) for row in resolve(self.labels).winners}
        snapshot = build_snapshot(examples.values(), sides=sides, feature_version=FEATURE_VERSION)
        blind = [row for row in self.labels if row.blind]
        holdout = self._rows(gold_labels(blind, sides=sides, trained_questions=self.trained), sides)
        way = way_of(holdout, self.policy)
        gold = holdout if way == "holdout" else self._rows(all_gold_labels(blind), sides)
        self.trained |= set(snapshot.training.questions)
        challenger = None
        try:
            challenger = train_model(snapshot, config=self.config)
            decision = self._gate(challenger, snapshot.training, gold, way)
        except NotEnoughData as error:
            decision = GateDecision(
                "refused", (str(error),), gold.digest, None, None, None, self.champion is None, way
            )
        before = self.champion.name if self.champion else RULES
        if decision.outcome == "deployed" and challenger is not None:
            self.champion = Champion(f"v{month}", challenger, snapshot.training)
        return self._month(month, gold, decision, before, challenger)

    def _gate(self, challenger: TrainedModel, rows: Dataset, gold: Dataset, way: Any) -> GateDecision:
        missing = gold_missing(gold_counts(gold), self.policy, way)
        if missing:
            return GateDecision("refused", missing, gold.digest, None, None, None, self.champion is None, way)
        if way == "holdout":
            new = Contender.of(challenger.scorer, gold)
        else:
            new = cross_fitted(
                _recipe(challenger, rows), gold, version="challenger", feature_version=FEATURE_VERSION
            )
        return decide(
            gold=gold,
            challenger=new,
            champion=self._defender(gold, way),
            serving_feature_version=FEATURE_VERSION,
            is_first=self.champion is None,
            policy=self.policy,
            way=way,
        )

    def _defender(self, gold: Dataset, way: Any) -> Contender:
        if self.champion is None:
            estimates = [self.cards[name][0].estimates[self.cards[name][1]] for name in gold.label_ids]
            return Contender(RULES, None, EngineSettings().rules_accept, np.array(estimates))
        if way == "holdout":
            return Contender.of(self.champion.model.scorer, gold)
        return cross_fitted(
            self.champion.recipe(), gold, version=self.champion.name, feature_version=FEATURE_VERSION
        )

    def _example(self, row: LabelRow) -> Example:
        question, place = self.cards[row.label_id]
        return Example(
            label_id=row.label_id,
            question=row.question,
            role=row.role,
            weight=row.source.weight,
            features=tuple(question.features[place]),
            collection=row.collection,
        )

    def _rows(self, labels: Sequence[LabelRow], sides: QuestionSides) -> Dataset:
        examples = {row.label_id: self._example(row) for row in labels}
        return gold_dataset(examples, sides=sides, weights=draw_weights(labels))

    def _month(
        self, month: int, gold: Dataset, decision: GateDecision, before: str, challenger: TrainedModel | None
    ) -> Month:
        f1, mrr = f1_of(self.unreviewed, self.champion.model if self.champion else None)
        return Month(
            month=month,
            labels=len(self.labels),
            gold=len(gold),
            gold_positives=int(gold.labels.sum()),
            gold_questions=len(set(gold.groups)),
            way=decision.way,
            champion=before,
            champion_f1=decision.champion.metrics.f1 if decision.champion else None,
            challenger_f1=decision.challenger.metrics.f1 if decision.challenger else None,
            low=decision.gain.low if decision.gain else None,
            high=decision.gain.high if decision.gain else None,
            outcome=decision.outcome,
            reason="; ".join(decision.reasons),
            unseen_f1=f1_of(self.unreviewed, challenger)[0] if challenger else None,
            serves=self.champion.name if self.champion else RULES,
            serves_f1=f1,
            serves_mrr=mrr,
        )


def _places(scores: Floats) -> npt.NDArray[np.intp]:
    """The place of each score in the ranked list, from 0 on."""
    return np.argsort(np.argsort(-scores, kind="stable"), kind="stable")


def f1_of(questions: Sequence[Asked], model: TrainedModel | None) -> tuple[float, float]:
    """Of a model, or of the rules: F1 over all candidates of the questions, and MRR over those with an answer."""
    labels = np.concatenate([one.labels for one in questions])
    lists = [one.question for one in questions for _ in one.labels]
    if model is None:
        scores = np.concatenate([one.estimates for one in questions])
        bar = EngineSettings().rules_accept
    else:
        scores = model.scorer.probabilities(np.concatenate([one.features for one in questions]))
        bar = model.scorer.threshold
    ranks = [
        1.0 / judged.first_hit for judged in ranked_judgements(labels, scores, lists) if judged.first_hit
    ]
    return f1_score(labels, scores >= bar), float(np.mean(ranks))


def _recipe(model: TrainedModel, rows: Dataset) -> Recipe:
    manifest = model.artifact.manifest
    return Recipe(rows, model.result.chosen.architecture, TrainingConfig.model_validate(manifest.config))


# --- the measurement --------------------------------------------------------------------------------------------


@measurement("year", needs_services=True)
def measure(_size: Size) -> Iterator[Figure]:
    """Months until the first deployment, and what serves at the end beside the rules."""
    folder = Path(os.environ.get("WORKBENCH_TEST_DATA", "../shared/data")) / "obliqa"
    if not folder.is_dir():
        return
    found = described(folder)
    questions, unreviewed = found[UNREVIEWED:], found[:UNREVIEWED]
    year = Year(questions, unreviewed)
    rules_f1, rules_mrr = f1_of(unreviewed, None)
    months = lived(year)
    report = {"rules_f1": rules_f1, "rules_mrr": rules_mrr, "months": [asdict(month) for month in months]}
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(table(months))
    last = months[-1]
    beside = f"{UNREVIEWED} questions that nobody reviewed"
    yield Figure("month of the first deployment", first_deployment(months), "", 3, "at most")
    for seed in OTHER_DRAWS:
        rng = np.random.default_rng(seed)
        drawn = [questions[place] for place in rng.permutation(len(questions))]
        others = lived(Year(drawn, unreviewed, rng=rng))
        deployed = ", ".join(str(month.month) for month in others if month.outcome == "deployed")
        ends = f"deployed in months {deployed or 'none'}; F1 at the end {others[-1].serves_f1:.3f}"
        yield Figure(f"month of the first deployment, draw {seed}", first_deployment(others), beside=ends)
    yield Figure(
        "deployments", sum(month.outcome == "deployed" for month in months), f"of {MONTHS} trainings"
    )
    yield Figure("F1 of what serves at the end", last.serves_f1, beside=f"{beside}; the rules {rules_f1:.3f}")
    yield Figure(
        "MRR of what serves at the end", last.serves_mrr, beside=f"{beside}; the rules {rules_mrr:.3f}"
    )


def lived(year: Year) -> list[Month]:
    """The months of a year, told as they pass."""
    months = []
    for month in year.live():
        print(line(month), file=sys.stderr, flush=True)
        months.append(month)
    return months


def first_deployment(months: Sequence[Month]) -> int:
    """The month, or the one after the last where there was none."""
    return next((month.month for month in months if month.outcome == "deployed"), MONTHS + 1)


def table(months: Sequence[Month]) -> str:
    """Month by month, as docs/learning.md shows it."""
    head = (
        "| month | labels | gold pairs (that answer), questions | way | F1 of the champion | F1 of the challenger "
        "| interval of the gain | decision | serves then: F1, MRR on unreviewed questions |"
    )
    return "\n".join([head, "|---" * 9 + "|", *map(line, months)])


def line(month: Month) -> str:
    """One row of the table."""
    interval = "-" if month.low is None else f"[{month.low:+.3f}, {month.high:+.3f}]"
    return (
        f"| {month.month} | {month.labels:,} | {month.gold} ({month.gold_positives}), {month.gold_questions} "
        f"| {month.way.replace('_', '-')} | {_figure(month.champion_f1)} ({month.champion}) "
        f"| {_figure(month.challenger_f1)} | {interval} | {month.outcome} | {month.serves}: {month.serves_f1:.3f}, "
        f"{month.serves_mrr:.3f} |"
    )


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def described(
    folder: Path, documents: Collection[str] | None = DOCUMENTS, months: int = MONTHS
) -> list[Asked]:
    """Questions on the chosen documents (None: on all) in an order drawn once, with their candidates, found by the
    product; those that nobody reviews, and enough for so many months. Of equal questions one."""
    from arbitration.evaluation.datasets import load_dataset
    from arbitration.evaluation.judge import Judge
    from arbitration.evaluation.structured import line_maps
    from training.labelled_pools import labels_of_pool
    from workbench.runs.evaluation import QuestionRunner, dataset_load

    whole = load_dataset(folder)
    kept = {document.document_id for document in whole.documents}
    if documents is not None:
        kept &= set(documents)
    ranked = [q for q in whole.questions if q.is_ranked and {e.document_id for e in q.evidence} <= kept]
    chosen = list({question_key(q.text): q for q in ranked}.values())
    order = np.random.default_rng(SEED).permutation(len(chosen))
    needed = UNREVIEWED + -(-months * REVIEWS // BEST)
    drawn = [chosen[place] for place in order[:needed]]
    dataset = replace(
        whole,
        documents=tuple(document for document in whole.documents if document.document_id in kept),
        questions=tuple(drawn),
    )
    loaded = dataset_load(dataset=dataset, tell=lambda text: print(text, file=sys.stderr, flush=True))
    runner, judge = QuestionRunner(loaded=loaded, strategies=[]), Judge(line_maps(dataset))
    found = []
    for number, question in enumerate(dataset.questions, start=1):
        pool = runner.pool(question)
        if number % 50 == 0:
            print(f"{number} of {len(dataset.questions)} questions", file=sys.stderr, flush=True)
        ids = loaded.dataset_ids(question.collection)
        labels = labels_of_pool(pool, question, judge=judge, dataset_ids=ids)
        estimates = evidence_scores(pool)
        found.append(
            Asked(
                question=question.text,
                features=pool_features(pool),
                labels=np.array(labels, dtype=np.int64),
                estimates=np.array([estimates[c.candidate_id] for c in pool.candidates]),
            )
        )
    return found
