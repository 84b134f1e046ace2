"""``manage.py anchor_audit``: stores the head of the audit chain outside the database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workbench.audit.export import anchors_after
from workbench.audit.verifier import Broken, NotAnExport, read_anchors


class Command(BaseCommand):
    help = (
        "Appends the head of the audit chain to a file. The file later proves that no earlier event was "
        "rewritten. Also appends the links of exports made since the last anchor, which prove that an "
        "export is complete."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--to", type=Path, required=True, help="file to append to; keep it out of reach of the database"
        )
        parser.add_argument("--json", action="store_true", help="print the anchor as one JSON value")

    def handle(self, *_: Any, **options: Any) -> None:
        anchors = anchors_after(_last_anchored(options["to"]))
        if not anchors:
            raise CommandError("No event is sealed yet. Try again in a few seconds.", returncode=1)
        try:
            with options["to"].open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(anchor) + "\n" for anchor in anchors)
        except OSError as error:
            raise CommandError(
                f"{options['to']} cannot be written: {error.strerror}", returncode=1
            ) from error
        head = anchors[-1]
        words = f"Anchored position {head['position']} in {options['to']}."
        if len(anchors) > 1:
            words += f" Exports since the last anchor: {len(anchors) - 1}."
        self.stdout.write(json.dumps(head) if options["json"] else words)


def _last_anchored(file: Path) -> int:
    """The last position in the file; 0 for a new or unreadable file."""
    try:
        return max(read_anchors(file.read_text("utf-8").splitlines()), default=0)
    except (OSError, ValueError, KeyError, TypeError, NotAnExport, Broken):
        return 0
