"""A training as a run of MLflow, in a store of its own kind on this disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db.models.functions import Now

from workbench.accounts.models import User
from workbench.rerankers.mlflow_log import is_configured, training_log
from workbench.rerankers.models import ModelVersion, Origin, RunState, TrainingRun, Trigger

pytestmark = pytest.mark.django_db


def test_a_training_is_written_down_once(settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_configured()
    settings.MLFLOW_TRACKING_URI = tmp_path.as_uri()
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    version = ModelVersion.objects.create(
        number=7,
        digest="d" * 40,
        origin=Origin.SEED,
        architecture="logistic",
        feature_version=4,
        threshold=0.5,
        manifest={},
        report={"metrics": {"f1": {"value": 0.8, "low": 0.7, "high": 0.9}, "roc_auc": 0.9, "n": 3}},
    )
    run = TrainingRun.objects.create(
        state=RunState.DONE,
        trigger=Trigger.values[0],
        requested_by=User.objects.system(),
        config={"seed": 1},
        challenger=version,
        finished_at=Now(),
    )
    first = training_log(run_id=run.pk)
    assert training_log(run_id=run.pk) == first

    from mlflow import MlflowClient

    logged = MlflowClient(tracking_uri=settings.MLFLOW_TRACKING_URI).get_run(first)
    assert logged.info.status == "FINISHED"
    assert logged.data.metrics == {"validation.f1": 0.8, "validation.roc_auc": 0.9}
    assert logged.data.params == {
        "seed": "1", "architecture": "logistic", "feature_version": "4", "threshold": "0.5",
    }  # fmt: skip
    assert logged.data.tags["workbench.model"] == "v7"
