"""The Celery application: ``celery -A workbench.celery:app``."""

from __future__ import annotations

import gc
import os
from typing import Any

from celery import Celery
from celery.signals import worker_init, worker_process_init
from django.conf import settings

from workbench.infra import alarm
from workbench.private import close_home

# Before the app is built: delay_on_commit needs Django's settings.
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings.dev")

app = Celery("workbench")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_init.connect
def take_the_home_from_others(**_sent: Any) -> None:
    """A machine may run workers only."""
    close_home(settings.WORKBENCH_HOME)


#: Objects made and not let go before the collector looks for cycles: about as many as one question makes.
_OBJECTS_BETWEEN_COLLECTIONS = 50_000


@worker_process_init.connect
def end_with_the_work(**_sent: Any) -> None:
    """A process of the pool that hangs, or whose work was taken away, ends and is replaced."""
    alarm.set_up()


@worker_init.connect
@worker_process_init.connect
def set_aside_what_stays(**_sent: Any) -> None:
    """What is loaded before the first task stays for ever, so the garbage collector need not look at it again. A
    question makes tens of thousands of small objects; going through everything loaded each time was a fifth of it.
    Nearly none of them hang in cycles, so that looking for some once a question is enough, not once in 700 objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
