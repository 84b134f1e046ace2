"""Measures the question cache: a labelled set asked again, with other spacing, and in other words.

The questions use the normal path, through :func:`question_ask` and the stages of a run, in the evaluation's collection.
A hit is wrong if its run answers another question of the set.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arbitration.evaluation.records import EvalQuestion
from workbench.accounts.models import User

from .evaluation import LoadedSet, Tell
from .models import Run
from .services import question_ask
from .waiting import run_wait

#: Sizes the figures are given for; larger ones than the set are left out, and the whole set is the last.
SIZES = (20, 200, 1000)
_LEADS = ("Please tell me:", "According to the documents:", "I would like to know:")


@dataclass(frozen=True, slots=True)
class Asked:
    """The outcome of one question."""

    is_hit: bool
    is_wrong: bool
    ms: float
    calls: int
    cost: float


def respaced(text: str, index: int) -> str:
    """The same words with other spacing."""
    return "  ".join(f" {text} ".split(" "))


def rephrased(text: str, index: int) -> str:
    """The same question in other words, which depend on its position in the set."""
    return f"{_LEADS[index % len(_LEADS)]} {text}"


def as_it_is(text: str, index: int) -> str:
    """The question itself."""
    return text


#: Pass -> (how the question is written, whether the cache may answer).
PASSES: dict[str, tuple[Callable[[str, int], str], bool]] = {
    "first": (as_it_is, False),
    "again": (as_it_is, True),
    "respaced": (respaced, True),
    "rephrased": (rephrased, True),
}


def cache_trial(
    *, loaded: LoadedSet, strategies: Sequence[str], tell: Tell, patience: float = 0.0
) -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
    """{strategy: {number of questions: {pass: {hit_rate, wrong_hit_rate, calls, cost, p50_ms, p95_ms, p99_ms}}}}. A run
    that no worker takes within ``patience`` seconds is executed by this process."""
    questions = loaded.dataset.questions[: SIZES[-1]]
    sizes = [size for size in SIZES if size < len(questions)] + [len(questions)]
    report: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    for strategy in strategies:
        runs: dict[int, str] = {}
        passes: dict[str, list[Asked]] = {}
        for name, (write, use_cache) in PASSES.items():
            tell(f"cache, {strategy}, {name}: {len(questions)} questions")
            passes[name] = [
                _ask(loaded, question, write(question.text, index), strategy, use_cache, runs, patience)
                for index, question in enumerate(questions)
            ]
        report[strategy] = {
            str(size): {name: _figures(rows[:size]) for name, rows in passes.items()} for size in sizes
        }
    return report


def _ask(
    loaded: LoadedSet,
    question: EvalQuestion,
    text: str,
    strategy: str,
    use_cache: bool,
    runs: dict[int, str],
    patience: float,
) -> Asked:
    document = loaded.documents[(question.collection, question.document_id)] if question.document_id else None
    started = time.monotonic()
    outcome = question_ask(
        actor=User.objects.system(),
        collection=loaded.collections[question.collection],
        document=document,
        text=text,
        strategy=strategy,
        use_cache=use_cache,
    )
    run: Run = outcome.run if outcome.is_cached else run_wait(run_id=outcome.run.pk, patience=patience)
    ms = 1000 * (time.monotonic() - started)
    # Two questions of a set may be worded alike: either one's run answers both.
    answered = runs.setdefault(run.pk, question.text)
    return Asked(
        is_hit=outcome.is_cached,
        is_wrong=outcome.is_cached and answered.casefold() != question.text.casefold(),
        ms=ms,
        calls=0 if outcome.is_cached else run.llm_call_count,
        cost=0.0 if outcome.is_cached else float(run.cost),
    )


def _figures(rows: Sequence[Asked]) -> dict[str, Any]:
    times = [row.ms for row in rows]
    return {
        "questions": len(rows),
        "hit_rate": sum(row.is_hit for row in rows) / len(rows),
        "wrong_hit_rate": sum(row.is_wrong for row in rows) / len(rows),
        "calls": sum(row.calls for row in rows),
        "cost": sum(row.cost for row in rows),
        **{f"p{q}_ms": round(float(np.percentile(times, q)), 2) for q in (50, 95, 99)},
    }
