"""``manage.py anchor_audit``: keep the head of the chain outside the database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workbench.audit.export import head_anchor


class Command(BaseCommand):
    help = "Appends the head of the audit chain to a file, which shows later that nothing before it was rewritten."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--to", type=Path, required=True, help="file outside the reach of the database")
        parser.add_argument("--json", action="store_true", help="print the anchor as one JSON value")

    def handle(self, *_: Any, **options: Any) -> None:
        anchor = head_anchor()
        if anchor is None:
            raise CommandError("No event is sealed yet; try again in a few seconds.", returncode=1)
        line = json.dumps(anchor)
        try:
            with options["to"].open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            raise CommandError(
                f"{options['to']} cannot be written: {error.strerror}", returncode=1
            ) from error
        words = f"Anchored position {anchor['position']} in {options['to']}."
        self.stdout.write(line if options["json"] else words)
