"""A finished run fills the queue, and the trail keeps the roles from who decides blind."""

from __future__ import annotations

from workbench.audit.withholding import withhold
from workbench.runs.events import RunFinished, run_finished

from .blindness import events_hidden
from .enqueue import queue_fill


def _queue(event: RunFinished) -> None:
    queue_fill(run=event.run, candidates=event.candidates)


withhold(events_hidden)
run_finished.subscribe(_queue)
