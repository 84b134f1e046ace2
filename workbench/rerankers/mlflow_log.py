"""A training as a run of MLflow, where MLFLOW_TRACKING_URI names a server. Figures and names only, never text.

It is written after the gate decided, in a task of its own: a server that is away costs the log and no training.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import structlog
from django.conf import settings

from .models import GateDecision, TrainingRun

logger = structlog.get_logger(__name__)

#: The product's name of a training, by which it is found again: it is written once.
_TAG = "workbench.training"
_FIGURES = ("f1", "precision", "recall", "roc_auc", "average_precision", "brier", "ece", "mrr", "log_loss")
_MAX_TEXT = 500
#: Seconds for one call, and tries: the worker has other work.
_SECONDS, _TRIES = "10", "1"


def is_configured() -> bool:
    """Whether trainings are logged."""
    return bool(settings.MLFLOW_TRACKING_URI)


def training_log(*, run_id: int) -> str:
    """Writes an ended training down; gives the id of MLflow's run, that of the first time where it is there already.

    Raises what MLflow raises, and ``ImportError`` where the extra ``mlflow`` is not installed.
    """
    run = TrainingRun.objects.select_related("challenger", "snapshot").get(pk=run_id)
    decision = GateDecision.objects.select_related("champion").filter(run=run).first()
    client = _client()
    experiment = client.get_experiment_by_name(settings.MLFLOW_EXPERIMENT)
    key = experiment.experiment_id if experiment else client.create_experiment(settings.MLFLOW_EXPERIMENT)
    known = client.search_runs([key], filter_string=f"tags.`{_TAG}` = '{run.pk}'", max_results=1)
    if known:
        return str(known[0].info.run_id)
    started = _milliseconds(run.started_at or run.created_at)
    logged = client.create_run(
        key, start_time=started, tags=_tags(run, decision), run_name=f"training {run.pk}"
    )
    entities = importlib.import_module("mlflow.entities")
    client.log_batch(
        logged.info.run_id,
        metrics=[entities.Metric(name, value, started, 0) for name, value in _figures(run, decision).items()],
        params=[entities.Param(name, str(value)[:_MAX_TEXT]) for name, value in _parameters(run).items()],
    )
    status = "FINISHED" if run.state == "done" else "FAILED"
    client.set_terminated(logged.info.run_id, status=status, end_time=_milliseconds(run.finished_at))
    logger.info("training.logged", run_id=run_id, mlflow_run=logged.info.run_id)
    return str(logged.info.run_id)


def _client() -> Any:
    # MLflow reports its use to its makers unless it is told not to before it is loaded.
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    os.environ["DO_NOT_TRACK"] = "true"
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", _SECONDS)
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", _TRIES)
    return importlib.import_module("mlflow").MlflowClient(tracking_uri=settings.MLFLOW_TRACKING_URI)


def _milliseconds(moment: Any) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)


def _tags(run: TrainingRun, decision: GateDecision | None) -> dict[str, str]:
    tags = {_TAG: str(run.pk), "workbench.trigger": run.trigger, "workbench.state": run.state}
    if run.challenger is not None:
        tags["workbench.model"] = run.challenger.name
    if decision is not None:
        tags["workbench.decision"] = decision.outcome
        tags["workbench.reasons"] = "; ".join(map(str, decision.reasons))[:_MAX_TEXT]
        tags["workbench.champion"] = decision.champion.name if decision.champion else ""
    return tags


def _parameters(run: TrainingRun) -> dict[str, object]:
    parameters: dict[str, object] = dict(run.config)
    if run.snapshot is not None:
        parameters["snapshot"] = run.snapshot.content_hash
    if run.challenger is not None:
        parameters |= {
            "architecture": run.challenger.architecture,
            "feature_version": run.challenger.feature_version,
            "threshold": run.challenger.threshold,
        }
    return parameters


def _figures(run: TrainingRun, decision: GateDecision | None) -> dict[str, float]:
    """What the model came to on questions that it had not seen, on gold, and the champion's figures there."""
    reports = {
        "validation": run.challenger.report if run.challenger else None,
        "gold": decision.challenger_report if decision else None,
        "champion_gold": decision.champion_report if decision else None,
    }
    found: dict[str, float] = {}
    for where, report in reports.items():
        for name in _FIGURES:
            value = ((report or {}).get("metrics") or {}).get(name)
            value = value.get("value") if isinstance(value, dict) else value
            if isinstance(value, int | float) and not isinstance(value, bool):
                found[f"{where}.{name}"] = float(value)
    return found
