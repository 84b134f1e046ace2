"""``manage.py export_collection SLUG FILE``: exports a collection as an archive for another installation."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from workbench.accounts.selectors import system_user
from workbench.archives.services import ArchiveFigures, collection_export
from workbench.documents.models import Collection
from workbench.infra.commands import JsonCommand


class Command(JsonCommand):
    help = (
        "Exports a collection to an archive: originals, settings, vocabulary, question sets and labels, "
        "but no people, runs or secrets. The archive is confidential."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("collection", metavar="SLUG")
        parser.add_argument("file", type=Path, help="path of the new archive, for example policies.zip")

    def handle(self, *args: Any, **options: Any) -> None:
        target: Path = options["file"]
        collection = Collection.objects.filter(slug=options["collection"]).first()
        if collection is None:
            raise CommandError(f"There is no collection {options['collection']}.")
        if target.exists():
            raise CommandError(f"{target} is there already. Name a new file.")
        self.emit(_write(collection, target), human=in_words)


def _write(collection: Collection, target: Path) -> ArchiveFigures:
    """Renames the file only once it is complete. Only its owner can read it."""
    unfinished = target.with_name(target.name + ".part")
    try:
        handle = os.open(unfinished, os.O_CREAT | os.O_TRUNC | os.O_RDWR | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w+b") as file:
            figures = collection_export(actor=system_user(), collection=collection, target=file)
        unfinished.replace(target)
    except OSError as error:
        raise CommandError(f"{target} cannot be written: {error.strerror or error}.") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return figures


def in_words(figures: ArchiveFigures) -> str:
    """Describes the contents of an archive in words."""
    held = (
        f"{figures.documents:,} documents ({figures.bytes / 1_000_000:,.1f} MB), "
        f"{figures.dictionary_entries:,} dictionary entries, {figures.question_sets:,} question sets, "
        f"{figures.labels:,} labels"
    )
    lines = [f"Collection {figures.collection} ({figures.name}): {held}.", f"Archive {figures.sha256}."]
    if figures.dry_run:
        lines.append("The archive is whole. This was a trial: nothing was written.")
    return "\n".join([*lines, *figures.remarks])
