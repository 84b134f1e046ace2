"""Waking workers: after commit, and without ever failing the request that asked."""

from __future__ import annotations

from functools import partial
from typing import Any

import structlog
from celery import Task, current_task
from django.db import transaction
from kombu.exceptions import OperationalError

from .metrics import counters

logger = structlog.get_logger(__name__)


def dispatch_on_commit(task: Task, **arguments: Any) -> None:
    """Sends the task once the transaction is committed. A broker that is down loses nothing: the row says
    what is to be done, and the sweeper sends the message again."""
    transaction.on_commit(partial(dispatch, task, **arguments), robust=True)


def dispatch(task: Task, **arguments: Any) -> bool:
    """Sends the task now; False (and a log line) when the broker does not answer."""
    try:
        task.apply_async(kwargs=arguments, retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("dispatch.broker_down", task=task.name, error=type(error).__name__)
        return False
    if current_task and current_task.name.endswith(".sweep"):
        counters.sweeper_sent(task=task.name)
    return True
