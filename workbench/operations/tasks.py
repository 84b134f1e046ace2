"""Tasks of operations."""

from __future__ import annotations

from celery import shared_task

from workbench.infra.dispatch import dispatch

from .bars import bars_compute, bars_to_wake
from .demo.process import month_in_own_process
from .jobs import job_run, jobs_to_wake


@shared_task(name="operations.bars")
def bars(*, proposal_id: int) -> None:
    bars_compute(proposal_id=proposal_id)


@shared_task(name="operations.job")
def job(*, job_id: int) -> None:
    """Does work that somebody asked for on the page of maintenance."""
    job_run(job_id=job_id)


@shared_task(name="operations.demo_month")
def demo_month() -> None:
    """Acts out what the month of the demo still lacks, in a process of its own: it has another clock."""
    month_in_own_process()


@shared_task(name="operations.sweep")
def sweep() -> int:
    """Wakes a worker for each computation or job whose message was lost; returns how many were woken."""
    woken = sum(dispatch(bars, proposal_id=pk) for pk in bars_to_wake())
    return woken + sum(dispatch(job, job_id=pk) for pk in jobs_to_wake())
