"""``manage.py import_collection FILE``: imports a collection from an archive made by ``export_collection``."""

from __future__ import annotations

import dataclasses
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from workbench.accounts.selectors import system_user
from workbench.archives.services import archive_inspect, collection_import
from workbench.documents.intake import Waiting, documents_await
from workbench.documents.models import Document, DocumentStatus
from workbench.infra.commands import JsonCommand

from .export_collection import in_words


class Command(JsonCommand):
    help = (
        "Imports a collection from an archive, all or nothing. Checks every file against its hash first, "
        "then waits until the documents are processed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", type=Path, help="an archive made by export_collection")
        parser.add_argument(
            "--collection",
            default="",
            metavar="SLUG",
            help="slug of the new collection (default: the one in the archive)",
        )
        parser.add_argument("--dry-run", action="store_true", help="only check the archive")
        parser.add_argument(
            "--no-wait", action="store_true", help="do not wait for the workers to process the documents"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            stream = options["file"].open("rb")
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be read: {error.strerror or error}.") from error
        with stream:
            if options["dry_run"]:
                figures = archive_inspect(actor=system_user(), stream=stream, slug=options["collection"])
                self.emit(figures, human=in_words)
                return
            collection, figures = collection_import(
                actor=system_user(), stream=stream, slug=options["collection"]
            )
        documents = Document.objects.filter(collection=collection)
        if not options["no_wait"]:
            self.note(f"{figures.documents} documents are imported and being processed")
            documents_await(document_ids=documents.values_list("pk", flat=True), waiting=Waiting())
        failed = list(documents.filter(status=DocumentStatus.FAILED).values_list("name", "failure_reason"))
        remarks = [*figures.remarks, *(f"{name}: {reason}" for name, reason in failed)]
        self.emit(dataclasses.replace(figures, remarks=remarks), human=in_words)
