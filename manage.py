#!/usr/bin/env python3
"""Django's command line. Without DATABASE_URL it uses the embedded stack, starting one when none runs."""

from __future__ import annotations

import importlib.util
import os
import sys


def main() -> None:
    """Prepare the services a command needs, then hand over to Django."""
    if importlib.util.find_spec("django") is None:
        go_on_in_environment()
    from workbench.__main__ import manage

    manage(sys.argv[1:], program=sys.argv[0])


def go_on_in_environment() -> None:
    """Started with a Python that lacks the product's packages: start again with that of ``.venv``."""
    python = os.path.join(os.path.dirname(os.path.abspath(__file__)), ".venv", "bin", "python")
    if os.path.exists(python) and os.path.abspath(sys.executable) != python:
        os.execv(python, [python, *sys.argv])  # noqa: S606 - no shell is wanted
    sys.exit("workbench: the environment is missing; make it with: make setup")


if __name__ == "__main__":
    main()
