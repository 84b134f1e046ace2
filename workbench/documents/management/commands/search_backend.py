"""``manage.py search_backend``: moves the word index into the database, or out of it."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from workbench.documents.lexical import lexical_index
from workbench.documents.models import Collection
from workbench.documents.search_moving import Moved, indexes_ensure, words_move_in, words_move_out
from workbench.infra.commands import INTERRUPTED, JsonCommand
from workbench.infra.progress import ProgressBar


class Command(JsonCommand):
    help = (
        "Moves the word index into the database (requires the pg_textsearch extension and the table "
        "owner), or back to this host. Searches continue meanwhile; SEARCH_BACKEND says which index they "
        "use. Ctrl-C stops the command; run it again to continue."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("to", choices=["database", "embedded"], help="where to keep the word index")

    def handle(self, *args: Any, **options: Any) -> None:
        started = time.monotonic()
        summary = self._into_database() if options["to"] == "database" else self._onto_this_host()
        summary |= {
            "to": options["to"],
            "in_use": settings.SEARCH_BACKEND,
            "seconds": round(time.monotonic() - started, 3),
        }
        self.emit(summary, human=in_words)

    def _into_database(self) -> dict[str, Any]:
        progress = Moved(0)
        bar: ProgressBar | None = None
        try:
            for progress in words_move_in():
                bar = bar or self._bar(progress.documents)
                bar.move_to(progress.done)
        except KeyboardInterrupt as interrupt:
            raise CommandError(
                f"Interrupted after {progress.done:,} of {progress.documents:,} documents. Run the same "
                "command again to continue.",
                returncode=INTERRUPTED,
            ) from interrupt
        finally:
            if bar:
                bar.close()
        self.note("building the BM25 indexes")
        return {"documents": progress.done, "indexes_made": indexes_ensure()}

    def _onto_this_host(self) -> dict[str, Any]:
        if settings.SEARCH_BACKEND == "database":
            raise CommandError(
                "Web and workers still search in the database. Set SEARCH_BACKEND=embedded for all of them, restart "
                "them, and run this command again with the same setting."
            )
        for collection in Collection.objects.order_by("pk"):
            lexical_index(collection)
        return {"documents": words_move_out(), "indexes_made": 0}

    def _bar(self, total: int) -> ProgressBar:
        is_watched = not self.as_json and sys.stderr.isatty()
        return ProgressBar(
            sys.stderr if is_watched else None, total=total, says="indexing", unit=" documents"
        )


def in_words(summary: dict[str, Any]) -> str:
    """The summary in words."""
    if summary["to"] == "embedded":
        return (
            f"The words of {summary['documents']:,} documents were removed from the database, and this host's index is "
            "built. Other hosts build theirs with their next question."
        )
    lines = [
        f"The words of {summary['documents']:,} documents were missing from the database and have been added."
    ]
    if summary["indexes_made"]:
        lines.append(f"{summary['indexes_made']} BM25 indexes were built.")
    if summary["in_use"] != "database":
        lines.append("Set SEARCH_BACKEND=database for web, workers and beat, and restart them.")
    return "\n".join(lines)
