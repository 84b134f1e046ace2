"""``manage.py backup FOLDER``: backs up the installation."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from workbench.infra.commands import JsonCommand
from workbench.operations.backup import Backup, backup_write, dated, prune


class Command(JsonCommand):
    help = "Backs up database and files to a new folder, while the product runs. The backup is confidential."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("folder", type=Path, help="new or empty folder")
        parser.add_argument(
            "--dated", action="store_true", help="create a folder inside FOLDER, named by the current time"
        )
        parser.add_argument(
            "--keep",
            type=int,
            metavar="N",
            help="with --dated: keep the newest N backups and remove the others",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        folder, keep = options["folder"], options["keep"]
        if keep is not None and (keep < 1 or not options["dated"]):
            raise CommandError("Use --keep together with --dated, and with a number above 0.")
        if not options["dated"]:
            self.emit(summary(backup_write(folder=folder)), human=in_words)
            return
        made = backup_write(folder=dated(folder))
        removed = prune(folder, keep=keep) if keep else []
        self.emit({**summary(made), "removed": [old.name for old in removed]}, human=in_words)


def summary(made: Backup) -> dict[str, Any]:
    return {
        "made_at": made.made_at,
        "tables": len(made.tables),
        "rows": sum(table.rows for table in made.tables.values()),
        "files": len(made.files),
        "bytes": sum(file.size for file in made.files.values()),
        "audit_head": made.audit_head,
        "audit_position": made.audit_position,
    }


def in_words(figures: dict[str, Any]) -> str:
    return (
        f"{figures['rows']} rows of {figures['tables']} tables and {figures['files']} files, "
        f"as of {figures['made_at']}; "
        f"the audit trail ends at position {figures['audit_position']}."
    )
