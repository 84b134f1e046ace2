"""Waking workers: after commit, and without ever failing the request that asked."""

from __future__ import annotations

from threading import Lock
from typing import Any

import structlog
from celery import Task, current_app, current_task
from django.db import transaction
from kombu.exceptions import OperationalError

from .metrics import counters

logger = structlog.get_logger(__name__)
_discovery = Lock()
#: Messages that a sweeper leaves waiting in a queue. What it looks for is what a worker looks for too, so that more
#: messages would bring nothing forward; they would only fill the broker for as long as work waits.
MOST_WAITING = 100


def dispatch_on_commit(task: Task | str, **arguments: Any) -> None:
    """Sends the task, or the one of that name, once the transaction is committed. A broker that is down loses nothing:
    the row says what is to be done, and the sweeper sends the message again."""

    def send() -> None:  # no partial: Django asks a hook that fails for its name
        dispatch(task, **arguments)

    transaction.on_commit(send, robust=True)


def dispatch(task: Task | str, **arguments: Any) -> bool:
    """Sends the task now; False (and a log line) when the broker does not answer."""
    if isinstance(task, str):
        task = task_named(task)
    try:
        task.apply_async(kwargs=arguments, retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("dispatch.broker_down", task=task.name, error=type(error).__name__)
        return False
    if current_task and current_task.name.endswith(".sweep"):
        counters.sweeper_sent(task=task.name)
    return True


def dispatch_room(task: Task) -> int:
    """How many messages a sweeper may add to the queue of the task; none while :data:`MOST_WAITING` wait there."""
    queue = current_app.amqp.router.route({}, task.name)["queue"].name
    try:
        with current_app.connection_for_read() as broker:
            try:
                waiting = broker.default_channel.queue_declare(queue, passive=True).message_count
            except broker.channel_errors:  # nothing waits in a queue that is not there
                waiting = 0
    except (OperationalError, OSError):
        return MOST_WAITING  # the dispatch finds the broker down too, and says so
    return max(0, MOST_WAITING - int(waiting))


def task_named(name: str) -> Task:
    """The task of this name. Tasks call services, so a service that has one sent names it and does not import it."""
    # Only a worker reads the modules of tasks by itself. One thread at a time: Celery answers a second one that looks
    # meanwhile with nothing at all.
    if name not in current_app.tasks:
        with _discovery:
            current_app.autodiscover_tasks(force=True)
    return current_app.tasks[name]
