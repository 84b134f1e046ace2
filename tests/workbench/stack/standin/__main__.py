"""The stack's command line, running the stand-in."""

from __future__ import annotations

import sys

from tests.workbench.stack.standin import PROJECT
from workbench.stack.__main__ import main

if __name__ == "__main__":
    sys.exit(main(project=PROJECT))
