"""A worker's process that hangs ends: not even Python's own threads or signals reach it, the kernel does.

Each case runs in a process of its own, as one of a worker's pool does: with the alarm set up, and a lease whose
heartbeat beats.
"""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

SETTING = """
import re, threading, time
import django
from django.conf import settings
django.setup()
settings.LEASE_SECONDS, settings.HEARTBEAT_SECONDS = 1, 0.05
from workbench.infra import alarm, leases
alarm.set_up()

class Rows:
    def __init__(self, changed=1):
        self.changed = changed
    def filter(self, **values):
        return self
    def all(self):
        return self
    def update(self, **values):
        return self.changed

def hang():
    re.match("(a+)+$", "a" * 60 + "b")
"""


def ends(code: str) -> tuple[int, str]:
    child = subprocess.run(
        [sys.executable, "-c", SETTING + code], capture_output=True, text=True, timeout=120, check=False
    )
    return child.returncode, child.stdout


def test_a_pattern_that_holds_the_interpreter_ends_with_its_process() -> None:
    assert ends("with leases.Heartbeat(Rows(), owner='me'): hang()") == (-signal.SIGALRM, "")


def test_work_whose_row_was_taken_away_is_told_and_then_ended() -> None:
    code = """
with leases.Heartbeat(Rows(changed=0), owner='me') as heartbeat:
    heartbeat._lost.wait(60)
    print("told", flush=True)
    threading.Event().wait()
"""
    assert ends(code) == (-signal.SIGALRM, "told\n")


def test_work_that_takes_too_long_ends_its_row_and_then_its_process() -> None:
    code = """
limit = leases.Limit(0.2, lambda: print("overdue", flush=True))
with leases.Heartbeat(Rows(), owner='me', limit=limit):
    while True:
        sum(range(1000))
"""
    assert ends(code) == (-signal.SIGALRM, "overdue\n")


@pytest.mark.parametrize(
    "code",
    [
        # Longer than the alarm would wait, had the heartbeat not put it off.
        "with leases.Heartbeat(Rows(), owner='me'): threading.Event().wait(2.5)\nprint('done')",
        # The work heeds the loss; what comes after it has all the time in the world.
        "with leases.Heartbeat(Rows(changed=0), owner='me') as h: h._lost.wait(60)\n"
        "threading.Event().wait(1.5)\nprint('done')",
    ],
    ids=["work that beats", "work that ended by itself"],
)
def test_nothing_else_is_ended(code: str) -> None:
    assert ends(code) == (0, "done\n")


def test_a_process_that_is_no_workers_has_no_alarm() -> None:
    code = "alarm._is_set_up = False\nalarm.put_off(0.1)\nthreading.Event().wait(0.5)\nprint('done')"

    assert ends(code) == (0, "done\n")
