"""One task per stage of a run. A task takes an id, does one domain call, and wakes the next stage."""

from __future__ import annotations

from celery import Task, shared_task

from workbench.infra.dispatch import dispatch, dispatch_room
from workbench.infra.leases import lease_free

from .execution import run_answer, run_arbitrate, run_detect
from .models import RunStatus
from .selectors import runs_to_wake


@shared_task(name="questions.detect")
def detect(*, run_id: int) -> None:
    run_detect(run_id=run_id)


@shared_task(name="questions.arbitrate")
def arbitrate(*, run_id: int) -> None:
    run_arbitrate(run_id=run_id)


@shared_task(name="questions.answer")
def answer(*, run_id: int) -> None:
    run_answer(run_id=run_id)


#: Which task takes a run on from a status.
NEXT_TASK: dict[str, Task] = {
    RunStatus.QUEUED: detect,
    RunStatus.DETECTING: detect,
    RunStatus.DETECTED: arbitrate,
    RunStatus.ARBITRATING: arbitrate,
    RunStatus.ARBITRATED: answer,
    RunStatus.ANSWERING: answer,
}


@shared_task(name="questions.sweep")
def sweep() -> int:
    """Wakes a worker for each run whose worker was lost, and for those whose message was, as far as the queue has room.
    Returns their number."""
    waiting = runs_to_wake(free=lease_free(), most=dispatch_room(detect))
    return sum(dispatch(NEXT_TASK[status], run_id=pk) for pk, status in waiting)
