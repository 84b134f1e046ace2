"""The month of the demo in a process of its own, so that no other work of a worker sees its clock."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from workbench.audit.actions import Action
from workbench.audit.models import AuditEvent
from workbench.infra.dispatch import dispatch

#: The last act of the month: whoever finds it on record has nothing to do.
LAST_ACT = "left open"


def month_request() -> bool:
    """Has a worker act out the month, where it is wanted and not there yet. Whether it was asked."""
    if not settings.DEMO_MONTH or month_is_over():
        return False
    return dispatch("operations.demo_month")


def month_is_over() -> bool:
    """Whether every act is on record."""
    return AuditEvent.objects.filter(action=Action.DEMO_ACTED, object_id=LAST_ACT).exists()


def month_in_own_process() -> None:
    """Runs ``manage.py demo_month`` and waits for it."""
    subprocess.run(
        [sys.executable, "-m", "django", "demo_month", "--yes", "--json"],
        check=True,
        stdout=subprocess.DEVNULL,
    )


@contextmanager
def month_alone() -> Iterator[bool]:
    """Whether no other process of this machine acts the month out; none begins meanwhile."""
    path = Path(settings.WORKBENCH_HOME) / "demo_month.lock"
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        os.utime(path)
        yield True
