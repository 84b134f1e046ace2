"""A tiny product for the stack to run: one page, one table, no Django, so that starts take a second."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace

from workbench.stack.home import Home
from workbench.stack.processes import Program
from workbench.stack.project import Project

PACKAGE = "tests.workbench.stack.standin"
IDLE = (sys.executable, "-S", "-E", "-c", "import signal; signal.pause()")


@dataclass(frozen=True)
class StandIn(Project):
    """Celery, which takes seconds to load, only with STANDIN_CELERY=1; else idle processes in its place."""

    def workers(self, home: Home, environment: Mapping[str, str]) -> tuple[Program, ...]:
        programs = super().workers(home, environment)
        if os.environ.get("STANDIN_CELERY"):
            return programs
        return tuple(replace(program, argv=(*IDLE, program.name)) for program in programs)

    def beat(self, home: Home, environment: Mapping[str, str]) -> Program:
        program = super().beat(home, environment)
        return program if os.environ.get("STANDIN_CELERY") else replace(program, argv=(*IDLE, "beat"))


PROJECT = StandIn(
    manage=("-m", f"{PACKAGE}.manage"),
    wsgi=f"{PACKAGE}.site:application",
    celery=f"{PACKAGE}.tasks:app",
    schedule=f"{PACKAGE}.tasks:app",
    settings="",
    stack=("-m", PACKAGE),
)
