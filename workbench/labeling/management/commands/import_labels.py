"""``manage.py import_labels FILE --collection SLUG --source annotator|llm``: labels from a file.

Prints {file, rows, good, added, known, dry_run, bad_count, bad: [{line, text, problem}], idle_count, idle: [the same],
not_checked}; ``idle`` are good rows that train nothing. A file with a bad row is not taken in at all: exit status 1,
and nothing is written.
"""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from workbench.accounts.selectors import system_user
from workbench.documents.models import Collection
from workbench.infra.commands import JsonCommand, as_table, wrong_use
from workbench.labeling.matching import match_here
from workbench.labeling.models import SourceChoice
from workbench.labeling.transfer import ImportReport, labels_import


class Command(JsonCommand):
    help = "Imports labels (JSON lines or CSV) of annotators or a language model."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", type=Path, metavar="FILE", help="JSON lines or CSV, UTF-8")
        parser.add_argument(
            "--collection", required=True, metavar="SLUG", help="collection of the labelled documents"
        )
        parser.add_argument(
            "--source",
            required=True,
            choices=[SourceChoice.ANNOTATOR.value, SourceChoice.LLM.value],
            help="kind of judge",
        )
        parser.add_argument(
            "--judge", default="", metavar="NAME", help="annotator or model for rows that name none"
        )
        parser.add_argument(
            "--gold",
            action="store_true",
            help="the labels are gold: people judged without seeing a machine verdict",
        )
        parser.add_argument("--dry-run", action="store_true", help="only check, and list every bad row")

    def handle(self, *args: Any, **options: Any) -> None:
        collection = Collection.objects.filter(slug=options["collection"]).first()
        if collection is None:
            raise wrong_use(f"There is no collection “{options['collection']}”.")
        path: Path = options["file"]
        try:
            content = path.read_bytes()
        except OSError as error:
            raise wrong_use(f"{path} cannot be read: {error.strerror}.") from error
        report = labels_import(
            actor=system_user(),
            collection=collection,
            content=content,
            file_name=path.name,
            source=options["source"],
            judge=options["judge"],
            is_gold=options["gold"],
            dry_run=options["dry_run"],
            match=match_here,
        )
        self.emit({"file": path.name, **asdict(report)}, human=lambda _value: _told(report))
        if report.bad_count:
            raise CommandError(f"{report.bad_count} of {report.rows} rows are bad. Nothing was imported.")


def _told(report: ImportReport) -> str:
    done = f"{report.rows} rows, {report.good} good, {report.added} labels imported."
    if report.idle_count:
        done += f" {report.idle_count} train nothing, because no candidate overlaps enough with their lines."
    named = report.bad or report.idle
    if not named:
        return done
    return f"{done}\n{as_table(['line', 'problem', 'row'], [[row.line, row.problem, row.text] for row in named])}"
