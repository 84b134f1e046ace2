"""Waiting for a run, for commands: the workers do the work; without one, the command does it itself."""

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
    """The run, once it has ended. A run that stands still for ``patience`` seconds, because no worker is there or
    its worker is gone, is taken on in this process; a stage that somebody works on is theirs by its lease."""
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
