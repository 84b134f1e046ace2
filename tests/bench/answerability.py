"""Answerability: weights and bar of :mod:`arbitration.answerability`, each labelled set held out in turn.

Absent questions are those that a set marks as such, questions asked of another document (where the set's documents
differ in matter), and each answerable question once more without the passages that hold its evidence. Every set has
one vote; in it the answerable weigh as much as the absent. The bar is the highest at which the mean share of answerable
questions below it, over the sets that are not held out, is one in ten.

Needs the shared test data and services: ``python -m workbench.stack exec --migrated -- python -m tests.bench
answerability``; with ``full`` as many questions as docs/evaluation.md names instead of the first 100.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from arbitration.answerability import nearness
from arbitration.evaluation.datasets import load_dataset
from arbitration.evaluation.judge import Judge
from arbitration.evaluation.records import EvalQuestion
from arbitration.evaluation.structured import line_maps
from arbitration.pool import CandidatePool, PoolCandidate
from tests.bench.registry import Figure, Size, measurement
from training.labelled_pools import labels_of_pool

Floats = npt.NDArray[np.float64]

#: Folders, and whether a question of one document may be asked of another to make it absent. FinanceBench and ObliQA
#: may not be learned from, H2O and XQuAD are doubtful: they are measured at most.
FITTED = {
    "natural": True,
    "arf_us_constitution": False,
    "mmlongbench_admin": True,
    "contractnli": False,
    "cuad": False,
    "policyqa": False,
}
MEASURED = {"financebench": True, "h2o_evals": True}
#: The most questions of each: the first so many.
QUICK, FULL = 100, {"contractnli": 400, "cuad": 300, "policyqa": 300, "h2o_evals": 200}
#: What each kind of absent question weighs beside the others of its set.
KINDS = {"absent": 1.0, "elsewhere": 1.0, "without evidence": 0.3}
ANSWERABLE = "answerable"
RISK = 0.10
DECAY = 0.02


@dataclass(frozen=True, slots=True)
class Sample:
    """One question asked: its kind, the sentence's match and the cosine."""

    kind: str
    sentence: float
    cosine: float


@dataclass(frozen=True, slots=True)
class Fit:
    """Intercept, weights of sentence and cosine, and the bar on the probability."""

    intercept: float
    weights: Floats
    bar: float

    def log_odds(self, samples: Sequence[Sample]) -> Floats:
        """Of each sample that the documents answer."""
        return self.intercept + _columns(samples) @ self.weights

    def flagged(self, samples: Sequence[Sample]) -> float:
        """Share of the samples below the bar."""
        return float(np.mean(self.log_odds(samples) < self.bar)) if samples else float("nan")


def fitted(sets: Mapping[str, Sequence[Sample]], *, risk: float = RISK) -> Fit:
    """Weights by regularised logistic regression (Newton's method) on all sets, and the bar by their mean risk."""
    samples = [sample for rows in sets.values() for sample in rows]
    shares = np.concatenate([_shares(rows) for rows in sets.values()]) / len(sets)
    labels = np.array([sample.kind == ANSWERABLE for sample in samples], dtype=np.float64)
    raw = _columns(samples)
    mean, spread = shares @ raw, np.sqrt(shares @ (raw - shares @ raw) ** 2)
    rows = np.column_stack([(raw - mean) / spread, np.ones(len(raw))])
    decay = np.diag([DECAY, DECAY, 1e-9])
    found = np.zeros(3)
    for _ in range(20):
        given = 1.0 / (1.0 + np.exp(-rows @ found))
        slope = rows.T @ (shares * (given - labels)) + decay @ found
        found -= np.linalg.solve((rows * (shares * given * (1 - given))[:, None]).T @ rows + decay, slope)
    weights = found[:2] / spread
    fit = Fit(float(found[2] - weights @ mean), weights, -np.inf)
    return replace(fit, bar=_bar([fit.log_odds(_of(rows, ANSWERABLE)) for rows in sets.values()], risk))


def _shares(rows: Sequence[Sample]) -> Floats:
    """Weights of a set's samples, of sum 1: half for the answerable, half for the absent by kind."""
    counts = {kind: sum(row.kind == kind for row in rows) for kind in (ANSWERABLE, *KINDS)}
    present = {kind: weight for kind, weight in KINDS.items() if counts[kind]}
    total = sum(present.values())
    each = {ANSWERABLE: 0.5} | {kind: 0.5 * weight / total for kind, weight in present.items()}
    return np.array([each[row.kind] / counts[row.kind] for row in rows])


def _bar(scores: Sequence[Floats], risk: float) -> float:
    """The highest score at which the risk, the mean over the sets of the share below, is controlled: one more question
    of each set counts as below (Angelopoulos and others 2024, "Conformal risk control", theorem 1)."""
    best = -np.inf
    for score in np.unique(np.concatenate(scores)):
        if np.mean([(np.sum(own < score) + 1) / (len(own) + 1) for own in scores]) > risk:
            break
        best = float(score)
    return best


def _columns(samples: Sequence[Sample]) -> Floats:
    return np.array([(sample.sentence, sample.cosine) for sample in samples], dtype=np.float64).reshape(-1, 2)


def _of(rows: Sequence[Sample], kind: str) -> list[Sample]:
    return [row for row in rows if row.kind == kind]


def held_out(sets: Mapping[str, Sequence[Sample]]) -> Iterator[tuple[str, str, float, int]]:
    """Of each set and kind the share that is flagged by weights and bar of the other sets, and how many there are."""
    for name, rows in sets.items():
        fit = fitted({other: own for other, own in sets.items() if other != name})
        for kind in (ANSWERABLE, *KINDS):
            if of_kind := _of(rows, kind):
                yield name, kind, fit.flagged(of_kind), len(of_kind)


def without(pool: CandidatePool, evidence: Sequence[bool]) -> CandidatePool:
    """The pool without the candidates that hold evidence and those that overlap them."""
    holders = [c for c, holds in zip(pool.candidates, evidence, strict=True) if holds]
    kept = [c for c in pool.candidates if not any(_overlap(c, holder) for holder in holders)]
    return pool.model_copy(update={"candidates": tuple(kept)})


def _overlap(one: PoolCandidate, other: PoolCandidate) -> bool:
    first, second = one.anchor, other.anchor
    return (
        one.document_id == other.document_id
        and (first.page_start, first.line_start) <= (second.page_end, second.line_end)
        and (second.page_start, second.line_start) <= (first.page_end, first.line_end)
    )


def samples_of(folder: Path, *, swaps: bool, limit: int | None) -> list[Sample]:
    """The questions of a labelled set, asked as they are, elsewhere, and without their evidence."""
    from workbench.runs.evaluation import QuestionRunner, dataset_load

    dataset = load_dataset(folder).limited(limit)
    loaded = dataset_load(dataset=dataset, tell=lambda text: None)
    runner, judge = QuestionRunner(loaded=loaded, strategies=[]), Judge(line_maps(dataset))
    found: list[Sample] = []
    for question in dataset.questions:
        pool = runner.pool(question)
        if not question.answerable:
            found += _sample("absent", pool)
            continue
        ids = loaded.dataset_ids(question.collection)
        evidence = labels_of_pool(pool, question, judge=judge, dataset_ids=ids)
        if any(evidence):
            found += _sample(ANSWERABLE, pool)
            found += _sample("without evidence", without(pool, evidence))
        if swaps and (other := _elsewhere(question, [d.document_id for d in dataset.documents])):
            found += _sample("elsewhere", runner.pool(other))
    return found


def _elsewhere(question: EvalQuestion, documents: Sequence[str]) -> EvalQuestion | None:
    """The question asked of another document, drawn by hash."""
    others = [name for name in documents if name != question.document_id]
    if question.document_id is None or not others:
        return None
    drawn = min(others, key=lambda name: hashlib.sha256(f"{question.key}{name}".encode()).hexdigest())
    return replace(question, document_id=drawn)


def _sample(kind: str, pool: CandidatePool) -> list[Sample]:
    near = nearness(pool)
    return [] if near is None else [Sample(kind, near.sentence, near.cosine)]


@measurement("answerability", needs_services=True)
def measure(size: Size) -> Iterator[Figure]:
    """What is flagged in each set by the weights of the others; then the weights of all sets that may be used."""
    data = Path(os.environ.get("WORKBENCH_TEST_DATA", "../shared/data"))
    if not (data / "natural").is_dir():
        print(f"answerability: no shared test data at {data}; set WORKBENCH_TEST_DATA", file=sys.stderr)
        return
    read = {
        name: samples_of(data / name, swaps=swaps, limit=FULL.get(name) if size == "full" else QUICK)
        for name, swaps in {**FITTED, **MEASURED}.items()
    }
    sets = {name: read[name] for name in FITTED}
    for name, kind, share, count in held_out(sets):
        yield Figure(f"{name}, {kind}: flagged, held out", share, beside=f"{count} questions")
    fit = fitted(sets)
    for name in MEASURED:
        for kind in (ANSWERABLE, *KINDS):
            if of_kind := _of(read[name], kind):
                yield Figure(
                    f"{name}, {kind}: flagged", fit.flagged(of_kind), beside=f"{len(of_kind)} questions"
                )
    yield Figure("intercept", fit.intercept)
    yield Figure("weight of the sentence", float(fit.weights[0]))
    yield Figure("weight of the cosine", float(fit.weights[1]))
    yield Figure("bar on the probability", float(1.0 / (1.0 + np.exp(-fit.bar))))
