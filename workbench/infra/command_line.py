"""Django's command line with the exit status that scripts rely on: a command that does not exist is wrong use.

Imported before Django is set up: nothing here may import a model.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from django.core.management import ManagementUtility
from django.core.management.base import BaseCommand

WRONG_USE = 2


class WorkbenchManagement(ManagementUtility):
    """Knows the commands; Django's own leaves with 1 where the command line cannot be meant."""

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """The command, or exit status 2 after Django's message."""
        try:
            return super().fetch_command(subcommand)
        except SystemExit as error:
            sys.exit(WRONG_USE if error.code == 1 else error.code)


def execute(argv: Sequence[str]) -> None:
    """Runs the command that the command line names."""
    WorkbenchManagement(list(argv)).execute()
