#!/usr/bin/env python
"""Django's command line. Without DATABASE_URL it uses the embedded stack, starting one when none runs."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Prepare the services a command needs, then hand over to Django."""
    from workbench.stack import client

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings.dev")
    client.prepare_command(sys.argv)

    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
