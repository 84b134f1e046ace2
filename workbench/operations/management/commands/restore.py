"""``manage.py restore FOLDER``: restores a backup into an empty installation."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from workbench.infra.commands import JsonCommand
from workbench.operations.backup import backup_restore

from .backup import in_words, summary


class Command(JsonCommand):
    help = "Restores a backup, checks every hash and verifies the audit trail. Connects as the table owner."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("folder", type=Path, help="folder written by the backup command")
        parser.add_argument("--replace", action="store_true", help="replace the data of this installation")

    def handle(self, *args: Any, **options: Any) -> None:
        made = backup_restore(folder=options["folder"], replace=options["replace"])
        self.emit(summary(made), human=in_words)
