"""Temporary models for evaluation, trained on labels of other questions and never deployed.

They are trained by the same code as the monthly job. ``--train-on`` trains on another folder's labels, ``--cross-fit``
on the other parts of the tested folder. In both cases no question is on both sides, and gates are calibrated on the
training side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from arbitration.evaluation.judge import Judge
from arbitration.evaluation.question_groups import cross_fit_folds, shared_questions
from arbitration.evaluation.records import DatasetError, EvalQuestion, LabelledSet
from arbitration.evaluation.structured import line_maps
from arbitration.features import pool_features
from arbitration.pool import CandidatePool
from arbitration.strategies.base import StrategyServices
from arbitration.triage import (
    OPEN_GATES,
    GateCalibration,
    LabelledGateInput,
    calibrate_gates,
)
from training.labelled_pools import gate_samples, labelled_pool, labels_of_pool
from training.run import LabelledPool, TrainedModel, train_on_pools

from .evaluation import LoadedSet, QuestionRunner, Tell

Services = Callable[[EvalQuestion], StrategyServices]


@dataclass(slots=True)
class Labelled:
    """Training data made from the pools of a set, by question key."""

    rows: dict[str, LabelledPool] = field(default_factory=dict)
    samples: dict[str, list[LabelledGateInput]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    space: str = ""

    def add(self, pool: CandidatePool, question: EvalQuestion, *, judge: Judge, loaded: LoadedSet) -> None:
        """Keeps feature rows, labels and gate scores of one question; its texts are not kept."""
        ids = loaded.dataset_ids(question.collection)
        self.rows[question.key] = labelled_pool(pool, question, judge=judge, dataset_ids=ids)
        labels = labels_of_pool(pool, question, judge=judge, dataset_ids=ids)
        self.samples[question.key] = gate_samples(pool, question, labels, profile=OPEN_GATES)
        self.texts[question.key] = question.text
        self.space = pool.embedding_space or self.space


@dataclass(frozen=True, slots=True)
class ScratchModel:
    """A model and gates trained on some questions."""

    trained: TrainedModel
    gates: GateCalibration
    questions: tuple[str, ...]

    def services(self) -> StrategyServices:
        return StrategyServices(
            scorer=self.trained.scorer,
            feature_rows=pool_features,
            options={
                "gates": self.gates.profile,
                "blend_weight": self.trained.artifact.manifest.blend_weight,
            },
        )


def scratch_train(labelled: Labelled, keys: Sequence[str], *, name: str) -> ScratchModel:
    """Trains and calibrates on the given questions. Raises as :func:`training.run.train_on_pools`."""
    samples = [sample for key in keys for sample in labelled.samples[key]]
    return ScratchModel(
        trained=train_on_pools([labelled.rows[key] for key in keys], embedding_space=labelled.space),
        gates=calibrate_gates(samples, base=OPEN_GATES, name=name, embedding_space=labelled.space),
        questions=tuple(labelled.texts[key] for key in keys),
    )


def label_set(*, loaded: LoadedSet, runner: QuestionRunner, tell: Tell) -> Labelled:
    """Runs detection on every question that ranking metrics use, and labels the results."""
    judge = Judge(line_maps(loaded.dataset))
    labelled = Labelled()
    questions = [question for question in loaded.dataset.questions if question.is_ranked]
    for number, question in enumerate(questions, start=1):
        labelled.add(runner.pool(question), question, judge=judge, loaded=loaded)
        if number % 100 == 0:
            tell(f"labelling: {number} of {len(questions)} questions")
    if not labelled.rows:
        raise DatasetError(
            f"{loaded.dataset.name} has no question with evidence to train on; choose another folder."
        )
    return labelled


def train_on_other(labelled: Labelled, *, tested: LabelledSet, name: str) -> tuple[Services, list[str]]:
    """Trains a model on another set, without the questions it shares with the tested one. Returns it with the training
    texts."""
    shared = set(shared_questions(list(labelled.texts.values()), [q.text for q in tested.questions]))
    keys = [key for key, text in labelled.texts.items() if text not in shared]
    model = scratch_train(labelled, keys, name=name)
    services = model.services()
    return (lambda question: services), list(model.questions)


def cross_fit(labelled: Labelled, *, tested: LabelledSet, parts: int, seed: int, tell: Tell) -> Services:
    """Trains a model for each part on the other parts. Groups of near-duplicate questions stay together. Raises
    :class:`DatasetError` if there are too few different questions."""
    texts = [question.text for question in tested.questions]
    try:
        folds = cross_fit_folds(texts, folds=parts, seed=seed)
    except ValueError as error:
        raise DatasetError(str(error)) from error
    fold_of = {question.key: fold for question, fold in zip(tested.questions, folds, strict=True)}
    services: dict[int, StrategyServices] = {}
    for part in range(parts):
        tell(f"training for part {part + 1} of {parts}")
        keys = [key for key in labelled.rows if fold_of[key] != part]
        services[part] = scratch_train(labelled, keys, name=f"cross-fit {part + 1} of {parts}").services()
    return lambda question: services[fold_of[question.key]]
