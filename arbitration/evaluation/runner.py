"""Runs strategies over a labelled set and reports the figures. Knows no database: the product hands over a
callable that answers one question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from arbitration.errors import ArbitrationError
from arbitration.evaluation.intervals import Interval
from arbitration.evaluation.judge import Judge
from arbitration.evaluation.metrics import JudgedQuestion, QuestionOutcome, strategy_metrics
from arbitration.evaluation.question_groups import shared_questions
from arbitration.evaluation.records import EvalQuestion, LabelledSet, TextEvidence


class RunQuestion(Protocol):
    """Answers one question with one strategy. An :class:`ArbitrationError` is recorded as the outcome."""

    def __call__(self, *, question: EvalQuestion, strategy: str) -> QuestionOutcome:
        """The whole ranked list and what it cost."""


Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """One line of the per-question record: where the first hit stood, for plots and paired comparisons."""

    key: str
    variant: str
    first_hit: int | None
    evidence_units: int
    found_units: int
    not_found: bool
    error: str | None


@dataclass(frozen=True, slots=True)
class StrategyReport:
    """The figures of one strategy; ``variants`` breaks a bilingual set down by language pair, ``kinds`` a set whose
    questions are of several kinds."""

    metrics: dict[str, Interval]
    rows: tuple[QuestionRow, ...]
    variants: dict[str, dict[str, Interval]] = field(default_factory=dict)
    kinds: dict[str, dict[str, Interval]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """{metric: {value, low, high, n}}."""
        return {name: figure.as_json() for name, figure in self.metrics.items()}


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """The outcome of one evaluation. ``overlap_questions`` names the tested questions that training had."""

    dataset: str
    questions: int
    answerable: int
    trained_on: str | None
    overlap_questions: tuple[str, ...]
    strategies: dict[str, StrategyReport]

    def as_json(self) -> dict[str, Any]:
        """The published shape; ``overlap_questions`` is their number, their texts stand beside it."""
        report: dict[str, Any] = {
            "dataset": self.dataset,
            "questions": self.questions,
            "answerable": self.answerable,
            "trained_on": self.trained_on,
            "overlap_questions": len(self.overlap_questions),
            "overlap_question_texts": list(self.overlap_questions),
            "strategies": {name: report.as_json() for name, report in self.strategies.items()},
        }
        variants = {name: _parts_json(strategy.variants) for name, strategy in self.strategies.items()}
        kinds = {name: _parts_json(strategy.kinds) for name, strategy in self.strategies.items()}
        return (
            report
            | ({"variants": variants} if any(variants.values()) else {})
            | ({"kinds": kinds} if any(kinds.values()) else {})
        )


def _parts_json(parts: Mapping[str, Mapping[str, Interval]]) -> dict[str, Any]:
    return {
        part: {name: figure.as_json() for name, figure in figures.items()} for part, figures in parts.items()
    }


def evaluate(
    *,
    dataset: LabelledSet,
    strategies: Sequence[str],
    run_question: RunQuestion,
    judge: Judge,
    trained_on: str | None = None,
    training_questions: Sequence[str] = (),
    runs: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> EvaluationReport:
    """Ask every question of the set under every strategy and judge the ranked lists.

    ``runs`` repeats the set; the repetitions of one question are resampled together. ``progress`` is told
    (strategy, questions done, questions in all). ``training_questions`` are the texts a scratch model was
    trained on: those the set shares are named in the report.
    """
    reports = {
        strategy: _strategy_report(dataset, strategy, run_question, judge, runs, seed, progress)
        for strategy in strategies
    }
    return EvaluationReport(
        dataset=dataset.name,
        questions=dataset.question_count,
        answerable=dataset.answerable_count,
        trained_on=trained_on,
        overlap_questions=tuple(shared_questions([q.text for q in dataset.questions], training_questions)),
        strategies=reports,
    )


def _strategy_report(
    dataset: LabelledSet,
    strategy: str,
    run_question: RunQuestion,
    judge: Judge,
    runs: int,
    seed: int,
    progress: Progress | None,
) -> StrategyReport:
    total = len(dataset.questions) * runs
    judged: list[tuple[EvalQuestion, JudgedQuestion]] = []
    for done, question in enumerate(dataset.questions * runs, start=1):
        outcome = _outcome(run_question, question, strategy)
        judged.append((question, judge_outcome(judge, question, outcome)))
        if progress is not None:
            progress(strategy, done, total)
    return strategy_report(judged, seed=seed)


def _outcome(run_question: RunQuestion, question: EvalQuestion, strategy: str) -> QuestionOutcome:
    try:
        return run_question(question=question, strategy=strategy)
    except ArbitrationError as error:
        return QuestionOutcome(error=str(error))


def judge_outcome(judge: Judge, question: EvalQuestion, outcome: QuestionOutcome) -> JudgedQuestion:
    """The outcome with its judgement; none for questions that ranking metrics leave out."""
    judgement = judge.judge(question, outcome.ranking) if question.is_ranked else None
    quotes = tuple(unit.text for unit in question.evidence if isinstance(unit, TextEvidence))
    return JudgedQuestion(question.qid, question.answerable, outcome, judgement, quotes)


def strategy_report(
    judged: Sequence[tuple[EvalQuestion, JudgedQuestion]], *, seed: int = 0
) -> StrategyReport:
    """Figures over all rows, and per variant and per kind of question where the set has them."""
    variants = list(dict.fromkeys(question.variant for question, _ in judged if question.variant))
    kinds = list(dict.fromkeys(question.kind for question, _ in judged if question.kind))
    return StrategyReport(
        metrics=strategy_metrics([row for _, row in judged], seed=seed),
        rows=tuple(_question_row(question, row) for question, row in judged),
        variants={
            variant: strategy_metrics([row for q, row in judged if q.variant == variant], seed=seed)
            for variant in variants
        },
        kinds={
            kind: strategy_metrics([row for q, row in judged if q.kind == kind], seed=seed) for kind in kinds
        },
    )


def _question_row(question: EvalQuestion, row: JudgedQuestion) -> QuestionRow:
    judgement = row.judgement
    return QuestionRow(
        key=question.key,
        variant=question.variant,
        first_hit=judgement.first_hit if judgement else None,
        evidence_units=len(question.evidence),
        found_units=sum(map(len, judgement.found)) if judgement else 0,
        not_found=row.outcome.not_found,
        error=row.outcome.error,
    )
