"""Log lines, spans and audit events of a task hold its id and the ids it was given."""

from __future__ import annotations

from typing import Any

import structlog
from celery.signals import task_postrun, task_prerun, worker_process_init

from .tracing import start_tracing

#: What to put back when a task has ended, by its id: a task may run inside of another in tests.
_bound: dict[str, Any] = {}


def connect() -> None:
    """Called once, when the apps are ready."""
    task_prerun.connect(_bind, weak=False, dispatch_uid="task_context.bind")
    task_postrun.connect(_unbind, weak=False, dispatch_uid="task_context.unbind")
    worker_process_init.connect(_trace, weak=False, dispatch_uid="task_context.trace")


def _bind(*, task_id: str, kwargs: dict[str, Any], **_: Any) -> None:
    ids = {name: value for name, value in kwargs.items() if name.endswith("_id") and isinstance(value, int)}
    _bound[task_id] = structlog.contextvars.bind_contextvars(**ids, task_id=task_id)


def _unbind(*, task_id: str, **_: Any) -> None:
    structlog.contextvars.reset_contextvars(**_bound.pop(task_id, {}))


def _trace(**_: Any) -> None:
    start_tracing()
