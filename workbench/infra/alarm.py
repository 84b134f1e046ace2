"""A worker's process that ends with its work.

Python cannot be interrupted everywhere: a pattern that backtracks holds the interpreter, so that no thread runs and no
signal is handled until it is done, which may be never. The kernel needs no interpreter: it ends a process whose alarm
rings while nothing handles that signal. The heartbeat of a lease puts the alarm off as long as it beats
(:mod:`workbench.infra.leases`); when it stops, or the work was taken away, the alarm rings, and the worker starts a new
process in the place of the old one.
"""

from __future__ import annotations

import signal

_is_set_up = False


def set_up() -> None:
    """Called in each process of a worker's pool. Elsewhere (web, commands, tests) no alarm is ever set."""
    global _is_set_up
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    _is_set_up = True


def put_off(seconds: float) -> None:
    """The process ends after so many seconds unless this is called again; from any thread."""
    if _is_set_up:
        signal.setitimer(signal.ITIMER_REAL, seconds)


def turn_off() -> None:
    """Nothing ends the process any more."""
    put_off(0.0)
