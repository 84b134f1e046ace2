"""Waiting for a run, for commands: the workers do the work; without one, the command does it itself."""

from __future__ import annotations

import time

from .execution import run_answer, run_arbitrate, run_detect
from .models import ENDED, Run, RunStatus

#: Seconds after which a run that nobody took up is carried out by the waiting process.
PATIENCE = 20.0
_STAGES = {
    RunStatus.QUEUED: run_detect,
    RunStatus.DETECTED: run_arbitrate,
    RunStatus.ARBITRATED: run_answer,
}


def run_wait(*, run_id: int, patience: float = PATIENCE) -> Run:
    """The run, once it has ended. A run that stands still between two stages for ``patience`` seconds, because no
    worker is there, is taken on in this process."""
    moved, last = time.monotonic(), ""
    while True:
        run = Run.objects.select_related("question__document", "collection").get(pk=run_id)
        if run.status in ENDED:
            return run
        if run.status != last:
            moved, last = time.monotonic(), run.status
        if run.lease_until is None and time.monotonic() - moved > patience:
            stage = _STAGES.get(RunStatus(run.status))
            if stage:
                stage(run_id=run_id)
        else:
            time.sleep(0.03)
