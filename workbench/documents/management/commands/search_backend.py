"""``manage.py search_backend``: moves the index of words into the database, or out of it."""

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
        "Fills the index of words in the database (needs the extension pg_textsearch and the owner of the tables), or "
        "empties it and fills this host's own. Searches go on meanwhile; SEARCH_BACKEND says which index they use. "
        "Ctrl-C stops it; the same command goes on from there."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("to", choices=["database", "embedded"], help="where words shall be searched")

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
                f"Interrupted after {progress.done:,} of {progress.documents:,} documents. Nothing is lost: the same "
                "command goes on from here.",
                returncode=INTERRUPTED,
            ) from interrupt
        finally:
            if bar:
                bar.close()
        self.note("making the BM25 indexes")
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
    """The summary for people."""
    if summary["to"] == "embedded":
        return (
            f"The words of {summary['documents']:,} documents are out of the database, and this host's index is there. "
            "Other hosts make theirs with their next question."
        )
    lines = [
        f"The words of {summary['documents']:,} documents were missing in the database and are there now."
    ]
    if summary["indexes_made"]:
        lines.append(f"{summary['indexes_made']} BM25 indexes were made.")
    if summary["in_use"] != "database":
        lines.append("Set SEARCH_BACKEND=database for web, workers and beat, and restart them.")
    return "\n".join(lines)
