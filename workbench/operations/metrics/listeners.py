"""Counts tasks, by Celery's own signals."""

from __future__ import annotations

import time
from typing import Any

from celery import Task
from celery.signals import task_postrun, task_prerun, worker_init, worker_process_init, worker_ready
from django.conf import settings

from workbench.infra.metrics import counters, files

from .worker_port import leave_port, open_port

#: When the tasks that run in this process began, by the id of the task.
_began: dict[str, float] = {}


def connect() -> None:
    """Called once, when the apps are ready."""
    task_prerun.connect(_began_one, weak=False, dispatch_uid="metrics.began")
    task_postrun.connect(_ended_one, weak=False, dispatch_uid="metrics.ended")
    worker_init.connect(_worker_starts, weak=False, dispatch_uid="metrics.starts")
    worker_ready.connect(_worker_is_ready, weak=False, dispatch_uid="metrics.ready")
    worker_process_init.connect(_child_starts, weak=False, dispatch_uid="metrics.child")


def _began_one(*, task: Task[Any, Any], task_id: str, **_: Any) -> None:
    _began[task_id] = time.perf_counter()
    counters.task_started(task=task.name)


def _ended_one(*, task: Task[Any, Any], task_id: str, state: str | None = None, **_: Any) -> None:
    began = _began.pop(task_id, None)
    seconds = None if began is None else time.perf_counter() - began
    counters.task_ended(task=task.name, outcome=(state or "unknown").lower(), seconds=seconds)


def _worker_starts(**_: Any) -> None:
    files.forget_the_dead()


def _worker_is_ready(**_: Any) -> None:
    if settings.METRICS_WORKER_ADDRESS:
        open_port(*settings.METRICS_WORKER_ADDRESS)


def _child_starts(**_: Any) -> None:
    if settings.METRICS_WORKER_ADDRESS:
        leave_port()
