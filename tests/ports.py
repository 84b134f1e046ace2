"""Ports of the servers that tests start."""

from __future__ import annotations

import os
import secrets

from workbench.stack.ports import LOOPBACK, is_free

_FIRST, _EACH, _PROCESSES = 10_000, 1_000, 10
_given: set[int] = set()


def own_port() -> int:
    """A free loopback port that no other test of this run is given.

    A stack opens its web port many seconds after the test chose it. Each test process takes ports from a thousand of
    its own, below those that services choose (``workbench.stack.ports``) and the system gives to connections.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")  # gw0, gw1 …; none without xdist
    process = (1 + int(worker.removeprefix("gw"))) % _PROCESSES if worker else 0
    first = _FIRST + _EACH * process
    while True:
        port = first + secrets.randbelow(_EACH)
        if port not in _given and is_free(LOOPBACK, port):
            _given.add(port)
            return port
