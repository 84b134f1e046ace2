"""Waits for a run, for commands. The workers process it; without a worker, the command does."""

from __future__ import annotations

import time

from .execution import run_answer, run_arbitrate, run_detect
from .models import ENDED, Run, RunStatus

#: Seconds after which a run that nobody took up is carried out by the waiting process.
PATIENCE = 20.0
_STAGES = {
    RunStatus.QUEUED: run_detect,
    RunStatus.DETECTING: run_detect,
    RunStatus.DETECTED: run_arbitrate,
    RunStatus.ARBITRATING: run_arbitrate,
    RunStatus.ARBITRATED: run_answer,
    RunStatus.ANSWERING: run_answer,
}


def run_wait(*, run_id: int, patience: float = PATIENCE) -> Run:
    """Returns the run once it has ended. If it makes no progress for ``patience`` seconds because there is no worker,
    this process continues it. A stage with a live lease belongs to its worker."""
    moved, last = time.monotonic(), ""
    while True:
        run = Run.objects.select_related("question__document", "collection").get(pk=run_id)
        if run.status in ENDED:
            return run
        if run.status != last:
            moved, last = time.monotonic(), run.status
        if time.monotonic() - moved > patience:
            _STAGES[RunStatus(run.status)](run_id=run_id)
            moved = time.monotonic()
        time.sleep(0.03)
