"""The Strategies page: stored evaluations as tables and plots."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from arbitration.evaluation.answers import ANSWER_METRICS
from workbench.infra.plots import BarPlot, bar_plot

from .models import EvaluationRun
from .strategies import strategy_descriptions

#: The columns of the table, in order; the rest of a report is in its JSON.
COLUMNS = (
    "MRR", "P@1", "P@5", "R@5", "R@10", "NDCG@5", "MAP@10", "not_found_precision", "not_found_recall",
    "llm_share", "p50_ms", "p95_ms", "p99_ms", "cost", *ANSWER_METRICS,
)  # fmt: skip
PLOTTED = (("MRR", 1.0), ("R@5", 1.0), ("p50_ms", None), ("answer_similarity", 5.0), ("faithfulness", 1.0))
_DIGITS = {"p50_ms": 0, "p95_ms": 0, "p99_ms": 0, "cost": 4, "characters_per_second": 0}
MOST_SHOWN = 12


def strategies_page() -> dict[str, Any]:
    """Every strategy, and the newest evaluation of each labelled set."""
    return {
        "strategies": strategy_descriptions(),
        "evaluations": [_evaluation(row) for row in newest_evaluations()],
    }


def newest_evaluations() -> list[EvaluationRun]:
    """The newest stored evaluation per set and kind of training."""
    newest: dict[tuple[str, str], EvaluationRun] = {}
    for row in EvaluationRun.objects.order_by("-id")[:200]:
        options = row.options
        trained = f"{options.get('train_on') or ''} {options.get('cross_fit') or ''}"
        extras = f"{options.get('answers') or ''} {options.get('cached') or ''}"
        newest.setdefault((row.dataset, f"{trained} {extras}"), row)
    return sorted(newest.values(), key=lambda row: row.dataset)[:MOST_SHOWN]


def _evaluation(row: EvaluationRun) -> dict[str, Any]:
    strategies: dict[str, dict[str, Any]] = row.report["strategies"]
    metrics = [name for name in COLUMNS if any(_has(figures.get(name)) for figures in strategies.values())]
    return {
        "pk": row.pk,
        "dataset": row.dataset,
        "questions": row.report["questions"],
        "answerable": row.report["answerable"],
        "trained_on": row.report.get("trained_on"),
        "overlap": row.report.get("overlap_questions", 0),
        "revision": row.options.get("revision", ""),
        "created_at": row.created_at,
        "metrics": [_title(name) for name in metrics],
        "rows": [
            {"name": name, "figures": [_figure(metric, figures.get(metric)) for metric in metrics]}
            for name, figures in strategies.items()
        ],
        "cache_rows": _cache_rows(row.report.get("cached") or {}),
        "judge": row.report.get("judge"),
        "plots": [plot for name, top in PLOTTED if (plot := _plot(name, top, strategies))],
    }


def _has(figure: dict[str, Any] | None) -> bool:
    return figure is not None and figure.get("value") is not None


def _cache_rows(cached: dict[str, Any]) -> list[dict[str, Any]]:
    """A row per strategy, number of questions and pass of ``evaluate --cached``."""
    passes = {
        "first": _("asked for the first time"),
        "again": _("asked again"),
        "respaced": _("other spacing"),
        "rephrased": _("other words"),
    }
    return [
        {"strategy": strategy, "pass": passes.get(name, name), **figures}
        for strategy, sizes in cached.items()
        for figures_by_pass in sizes.values()
        for name, figures in figures_by_pass.items()
    ]


def _figure(metric: str, figure: dict[str, Any] | None) -> dict[str, Any] | None:
    if figure is None or figure.get("value") is None:
        return None
    return figure | {"digits": _DIGITS.get(metric, 3)}


def _plot(metric: str, top: float | None, strategies: dict[str, dict[str, Any]]) -> BarPlot | None:
    figures = [
        (name, figure["value"], figure.get("low"), figure.get("high"))
        for name, figures in strategies.items()
        if (figure := figures.get(metric)) and figure.get("value") is not None
    ]
    if not figures:
        return None
    title = _("Median time, ms") if metric == "p50_ms" else _title(metric)
    return bar_plot(title=title, figures=figures, top=top, digits=max(1, _DIGITS.get(metric, 3)))


def _title(metric: str) -> str:
    """The readable name of a metric. Names from the literature are unchanged."""
    return {
        "llm_share": _("LLM share"),
        "p50_ms": "p50, ms",
        "p95_ms": "p95, ms",
        "p99_ms": "p99, ms",
        "cost": _("Cost, USD"),
        "not_found_precision": _("Not found: precision"),
        "not_found_recall": _("Not found: recall"),
    }.get(metric, metric.replace("_", " "))
