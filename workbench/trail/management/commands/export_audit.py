"""``manage.py export_audit``: exports part of the audit trail. Checking it only needs Python."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workbench.accounts.models import User
from workbench.audit.export import ExportScope, audit_export
from workbench.documents.models import Collection


class Command(BaseCommand):
    help = (
        "Writes audit events as JSON lines. Recipients can check the file with "
        "workbench/audit/verifier.py, which only needs Python."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--collection", metavar="SLUG", help="only events of this collection")
        parser.add_argument("--since", type=_moment, help="first day or time (UTC), inclusive")
        parser.add_argument("--until", type=_moment, help="last day or time (UTC), exclusive")
        parser.add_argument("--out", type=Path, required=True, help="output file")
        parser.add_argument("--json", action="store_true", help="print the export's header as one JSON value")

    def handle(self, *_: Any, **options: Any) -> None:
        scope = ExportScope(
            collection=_collection(options["collection"]), since=options["since"], until=options["until"]
        )
        try:
            with options["out"].open("w", encoding="utf-8") as file:
                header = audit_export(actor=User.objects.system(), scope=scope, to=file)
        except OSError as error:
            raise CommandError(
                f"{options['out']} cannot be written: {error.strerror}", returncode=1
            ) from error
        words = f"Wrote {header['events']} events among {header['links']} links to {options['out']}."
        self.stdout.write(json.dumps(header) if options["json"] else words)


def _collection(slug: str | None) -> Collection | None:
    if slug is None:
        return None
    try:
        return Collection.objects.get(slug=slug)
    except Collection.DoesNotExist as error:
        raise CommandError(f"There is no collection {slug!r}.", returncode=1) from error


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
