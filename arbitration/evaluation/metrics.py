"""Ranking metrics per question, and the table of figures with intervals for one strategy.

A candidate can find several evidence units at once (a clause that holds two labelled spans). Reciprocal rank
and precision count such a candidate once; recall counts the units found by the first k candidates; average
precision and NDCG rank the units, those of one candidate in consecutive ranks. With one unit per candidate
all are the usual definitions, and the number of evidence units is the denominator throughout. ``hit@10`` says
whether the first ten hold any evidence at all. The values come from ``ir_measures``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ir_measures
import numpy as np
from ir_measures import AP, RR, P, R, Success, nDCG

from arbitration.evaluation.intervals import Bootstrap, Floats, Interval
from arbitration.evaluation.judge import Judgement
from arbitration.evaluation.records import RankedAnchor
from arbitration.evaluation.wordforms import plain

RANKING_METRICS = (
    "MRR",
    "MRR@10",
    "P@1",
    "P@5",
    "R@1",
    "R@5",
    "R@10",
    "hit@10",
    "MAP@10",
    "NDCG@5",
    "NDCG@10",
)
NOT_FOUND_METRICS = ("not_found_precision", "not_found_recall")
COST_METRICS = ("llm_share", "calls", "tokens", "cost", "p50_ms", "p95_ms", "p99_ms")
#: What becomes of evidence and of the questions, and what it costs people.
TRUST_METRICS = (
    "pool",
    "lost",
    "silent_loss",
    "false_absent",
    "absent_flagged",
    "answerable_flagged",
    "to_people",
    "kept",
    "first_sentence",
)
METRICS = (*RANKING_METRICS, *NOT_FOUND_METRICS, *TRUST_METRICS, *COST_METRICS)
#: Characters in a row that an answer's first sentence and quoted evidence share where the sentence answers.
SHARED_CHARACTERS = 30

#: Who decided a candidate; reported as ``share_<decider>`` beside the metrics.
DECIDERS = ("pattern", "gate", "mlp", "logistic", "llm", "person")

Run = dict[str, dict[str, float]]
_ALL = 1_000_000


@dataclass(frozen=True, slots=True)
class QuestionOutcome:
    """What one strategy did with one question.

    ``ranking`` is the whole list: survivors in order, then the discarded by score. ``decided`` counts
    candidates by who decided them (:data:`DECIDERS`; others are allowed and only add to the total).
    ``no_strong_match``: answered with the nearest passages and a person's help; ``asks_to_confirm``: a person is
    asked whether the documents really do not say. ``first_sentence`` is the answer's; ``None`` where none was asked.
    ``error`` is set when the question could not be answered at all: it counts as finding nothing.
    """

    ranking: tuple[RankedAnchor, ...] = ()
    not_found: bool = False
    no_strong_match: bool = False
    asks_to_confirm: bool = False
    first_sentence: str | None = None
    latency_ms: float | None = None
    llm_calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    candidates: int = 0
    llm_candidates: int = 0
    decided: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """One outcome with its judgement; ``cluster`` is the question it belongs to when rows repeat one.
    ``judgement`` is ``None`` for questions that ranking metrics leave out. ``quotes`` are the texts of its quoted
    evidence."""

    cluster: str
    answerable: bool
    outcome: QuestionOutcome
    judgement: Judgement | None
    quotes: tuple[str, ...] = ()


def ranking_values(judgements: Sequence[Judgement]) -> dict[str, Floats]:
    """Per metric of :data:`RANKING_METRICS`, the value of each judged list; shape (len(judgements),)."""
    if not judgements:
        return {name: np.zeros(0) for name in RANKING_METRICS}
    qrels = _qrels(judgements)
    by_candidate = _run(judgements, lambda ranked: ranked[:1])
    by_unit = _run(judgements, lambda ranked: ranked)
    values = _values(
        {"MRR": RR, "MRR@10": RR @ 10, "P@1": P @ 1, "P@5": P @ 5, "hit@10": Success @ 10},
        qrels,
        by_candidate,
    )
    values |= _values({"MAP@10": AP @ 10, "NDCG@5": nDCG @ 5, "NDCG@10": nDCG @ 10}, qrels, by_unit)
    for k in (1, 5, 10):
        first_k = _run([_cut(judged, k) for judged in judgements], lambda ranked: ranked)
        values |= _values({f"R@{k}": R @ _ALL}, qrels, first_k)
    return {name: values[name] for name in RANKING_METRICS}


def ndcg_at_10(judgements: Sequence[Judgement]) -> Floats:
    """The NDCG@10 of :func:`ranking_values` alone, at a tenth of its cost; shape (len(judgements),)."""
    if not judgements:
        return np.zeros(0)
    # Each rank shows a unit or a candidate: nothing beyond the tenth reaches the first ten.
    first_ten = _run([_cut(judged, 10) for judged in judgements], lambda ranked: ranked)
    return _values({"NDCG@10": nDCG @ 10}, _qrels(judgements), first_ten)["NDCG@10"]


def _qrels(judgements: Sequence[Judgement]) -> dict[str, dict[str, int]]:
    return {
        str(i): {f"u{unit}": grade for unit, grade in enumerate(judged.relevances)}
        for i, judged in enumerate(judgements)
    }


def _cut(judged: Judgement, k: int) -> Judgement:
    return Judgement(judged.found[:k], judged.relevances)


def _run(judgements: Sequence[Judgement], shown: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Run:
    """Each list as scored documents: ``u3`` is evidence unit 3, ``r7`` a candidate that found nothing."""
    run: Run = {}
    for i, judged in enumerate(judgements):
        names = [
            name
            for rank, units in enumerate(judged.found)
            for name in ([f"u{unit}" for unit in shown(units)] or [f"r{rank}"])
        ]
        run[str(i)] = {name: float(len(names) - position) for position, name in enumerate(names)}
    return run


def _values(
    measures: Mapping[str, Any], qrels: Mapping[str, Mapping[str, int]], run: Run
) -> dict[str, Floats]:
    names = {measure: name for name, measure in measures.items()}
    values = {name: np.zeros(len(qrels)) for name in measures}
    for metric in ir_measures.iter_calc(list(measures.values()), qrels, run):
        values[names[metric.measure]][int(metric.query_id)] = metric.value
    return values


def strategy_metrics(questions: Sequence[JudgedQuestion], *, seed: int = 0) -> dict[str, Interval]:
    """Every metric of :data:`METRICS`, then the shares by decider and ``failures``, with intervals.

    ``calls``, ``tokens`` and ``cost`` are means per question; ``llm_share`` the share of all candidates that
    reached an LLM; latencies are percentiles over questions, in milliseconds.
    """
    bootstrap = Bootstrap([question.cluster for question in questions], seed=seed)
    judged = [i for i, question in enumerate(questions) if question.judgement is not None]
    ranking = ranking_values([j for q in questions if (j := q.judgement) is not None])
    figures: dict[str, Interval] = {}
    for name, values in ranking.items():
        column = np.full(len(questions), np.nan)
        column[judged] = values
        figures[name] = bootstrap.mean(column)
    return (
        figures
        | _not_found(questions, bootstrap)
        | _trust(questions, bootstrap)
        | _costs(questions, bootstrap)
        | _shares(questions, bootstrap)
    )


def _not_found(questions: Sequence[JudgedQuestion], bootstrap: Bootstrap) -> dict[str, Interval]:
    said = np.array([float(q.outcome.not_found and q.outcome.error is None) for q in questions])
    absent = np.array([float(not q.answerable) for q in questions])
    return {
        "not_found_precision": bootstrap.ratio(said * absent, said),
        "not_found_recall": bootstrap.ratio(said * absent, absent),
    }


def _trust(questions: Sequence[JudgedQuestion], bootstrap: Bootstrap) -> dict[str, Interval]:
    """What is lost, what people see of it, and what that costs them; means over questions."""
    columns = [_trust_values(question) for question in questions]
    return {
        name: bootstrap.mean(np.array([values.get(name, np.nan) for values in columns], dtype=np.float64))
        for name in TRUST_METRICS
    }


def _trust_values(question: JudgedQuestion) -> dict[str, float]:
    """The values of one question; a measure that does not apply to it is missing."""
    outcome = question.outcome
    flagged = float(outcome.not_found or outcome.no_strong_match)
    values = {
        "to_people": float(sum(anchor.asks_person for anchor in outcome.ranking)),
        "kept": float(sum(anchor.is_kept for anchor in outcome.ranking)),
        "answerable_flagged" if question.answerable else "absent_flagged": flagged,
    }
    if question.answerable:
        values["false_absent"] = float(outcome.not_found)
        if question.quotes and outcome.first_sentence is not None:
            values["first_sentence"] = float(_answers(outcome.first_sentence, question.quotes))
    if question.judgement is not None:
        holders = [outcome.ranking[rank] for rank in question.judgement.holders]
        lost = bool(holders) and not any(anchor.is_kept for anchor in holders)
        seen = outcome.asks_to_confirm or any(anchor.asks_person for anchor in holders)
        values |= {"pool": float(bool(holders)), "lost": float(lost), "silent_loss": float(lost and not seen)}
    return values


def _answers(sentence: str, quotes: Sequence[str]) -> bool:
    """Whether a sentence and a quote share enough characters in a row."""
    said, width = plain(sentence), SHARED_CHARACTERS
    runs = {said[at : at + width] for at in range(len(said) - width + 1)}
    return any(run in plain(quote) for quote in quotes for run in runs)


def _costs(questions: Sequence[JudgedQuestion], bootstrap: Bootstrap) -> dict[str, Interval]:
    outcomes = [question.outcome for question in questions]
    latency = np.array([np.nan if o.latency_ms is None else o.latency_ms for o in outcomes], dtype=np.float64)
    return {
        "llm_share": bootstrap.ratio(
            np.array([float(o.llm_candidates) for o in outcomes]),
            np.array([float(o.candidates) for o in outcomes]),
        ),
        "calls": bootstrap.mean(np.array([float(o.llm_calls) for o in outcomes])),
        "tokens": bootstrap.mean(np.array([float(o.tokens) for o in outcomes])),
        "cost": bootstrap.mean(np.array([o.cost for o in outcomes], dtype=np.float64)),
        **{f"p{q}_ms": bootstrap.percentile(latency, q) for q in (50, 95, 99)},
    }


def _shares(questions: Sequence[JudgedQuestion], bootstrap: Bootstrap) -> dict[str, Interval]:
    decided = [question.outcome.decided for question in questions]
    totals = np.array([float(sum(counts.values())) for counts in decided])
    shares = {
        f"share_{decider}": bootstrap.ratio(
            np.array([float(counts.get(decider, 0)) for counts in decided]), totals
        )
        for decider in DECIDERS
    }
    failed = np.array([float(question.outcome.error is not None) for question in questions])
    return shares | {"failures": bootstrap.mean(failed)}
