"""The learning loop with a real beat and worker, and on real labels."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.product import RunningProduct, eventually

pytestmark = pytest.mark.integration

ENDED = ("done", "failed", "cancelled")


def within(product: RunningProduct, call: str) -> Any:
    """The answer of a function of ``learning_scene`` called inside the product."""
    done = product.manage("shell", "-v", "0", "-c", f"from tests.integration.learning_scene import *; {call}")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


def state(product: RunningProduct, run: int) -> str:
    """Where a training is."""
    return str(product.rows("SELECT state FROM models_registry_trainingrun WHERE id = %s", run)[0][0])


def ended(product: RunningProduct, run: int, *, seconds: float = 120) -> str:
    """How a training ends."""
    return eventually(
        lambda: found if (found := state(product, run)) in ENDED else "",
        seconds=seconds,
        what=f"training {run} ends",
    )


def champion(product: RunningProduct) -> list[tuple[Any, ...]]:
    """The version that serves."""
    return product.rows("SELECT version_id FROM models_registry_modelalias WHERE name = 'champion'")


def decision(product: RunningProduct, run: int) -> tuple[str, list[str]]:
    """What the gate said."""
    outcome, reasons = product.rows(
        "SELECT outcome, reasons FROM models_registry_gatedecision WHERE run_id = %s", run
    )[0]
    return str(outcome), reasons


def test_the_monthly_job_trains_and_decides_without_anyone(product: RunningProduct) -> None:
    within(product, "labels(0, 60)")
    within(product, "due()")

    def scheduled() -> int:
        rows = product.rows("SELECT id FROM models_registry_trainingrun WHERE trigger = 'schedule'")
        return int(rows[0][0]) if rows else 0

    run = eventually(scheduled, seconds=300, what="beat starts the training that is due")

    assert ended(product, run) == "done"
    outcome, reasons = decision(product, run)
    assert outcome in {"deployed", "kept", "refused"}
    assert reasons


def test_a_worker_killed_in_training_leaves_the_champion_and_a_failed_run(product: RunningProduct) -> None:
    within(product, "labels(100, 60)")
    before = champion(product)
    run = within(product, "start(slow=True)")
    eventually(lambda: state(product, run) == "training", seconds=300, what="the training has begun")

    second = product.manage("retrain", "--json")
    assert second.returncode == 1
    assert "running already" in second.stderr

    product.kill("worker")

    assert ended(product, run) == "failed"
    reason = product.rows("SELECT failure_reason FROM models_registry_trainingrun WHERE id = %s", run)
    assert "worker" in reason[0][0]
    assert champion(product) == before

    again = within(product, "start(slow=False)")
    assert ended(product, again) == "done"
    assert decision(product, again)[1]
