"""``manage.py reembed``: computes missing vectors of documents; with ``--new-encoder``, those of a new encoder."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError

from arbitration.errors import LLMFailure
from workbench.accounts.selectors import system_user
from workbench.documents.embedding import AnotherEncoder, TooWide, active_space, current_embedder
from workbench.documents.models import Collection
from workbench.documents.reembedding import (
    Reembedded,
    Reembedding,
    index_ensure,
    space_activate,
    space_to_fill,
)
from workbench.infra.commands import INTERRUPTED, JsonCommand
from workbench.infra.progress import ProgressBar


class Command(JsonCommand):
    help = (
        "Computes missing vectors of earlier documents: token vectors or, after a change of encoder, all "
        "vectors. Existing vectors are kept. Ctrl-C stops the command; run it again to continue."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--collection", metavar="SLUG", help="only documents of this collection")
        parser.add_argument(
            "--new-encoder",
            action="store_true",
            help=(
                "compute all vectors for the configured encoder, and activate them once none is missing; requires"
                " the table owner"
            ),
        )

    def handle(self, *args: Any, **options: Any) -> None:
        collection = _collection(options["collection"])
        embedder, started = current_embedder(), time.monotonic()
        try:
            space = space_to_fill(embedder=embedder, changes_over=options["new_encoder"])
        except (AnotherEncoder, TooWide) as error:
            raise CommandError(str(error)) from error
        except LLMFailure as failure:
            raise CommandError(f"The encoder does not answer: {failure.message}") from failure
        was_active = space.is_active
        work = Reembedding(embedder=embedder, space=space, collection=collection)
        self._fill(work)
        if not was_active and not work.left():
            self.note("building the index of the new vectors")
            index_ensure(space=space)
            space_activate(space=space, actor=system_user())
        active = active_space().name
        summary = asdict(work.progress) | {
            "collection": collection.slug if collection else None,
            "left": work.left(),
            "active_space": active,
            "changed_over": not was_active and active == space.name,
            "seconds": round(time.monotonic() - started, 3),
        }
        self.emit(summary, human=in_words)

    def _fill(self, work: Reembedding) -> None:
        is_watched = not self.as_json and sys.stderr.isatty()
        bar = ProgressBar(
            sys.stderr if is_watched else None,
            total=work.progress.passages,
            says="embedding",
            unit=" passages",
        )
        documents = 0
        try:
            for progress in work.steps():
                bar.move_to(progress.passages_done)
                if not is_watched and progress.documents_done > documents:
                    documents = progress.documents_done
                    self.note(_so_far(progress))
        except KeyboardInterrupt as interrupt:
            raise CommandError(
                f"Interrupted. {_so_far(work.progress)} Run the same command again to continue.",
                returncode=INTERRUPTED,
            ) from interrupt
        except LLMFailure as failure:
            raise CommandError(
                f"The encoder returned no vectors: {failure.message}. {_so_far(work.progress)} Run the same "
                "command again to continue."
            ) from failure
        finally:
            bar.close()


def _collection(slug: str | None) -> Collection | None:
    if slug is None:
        return None
    collection = Collection.objects.filter(slug=slug).first()
    if collection is None:
        raise CommandError(f"There is no collection {slug!r}.")
    return collection


def _so_far(progress: Reembedded) -> str:
    return (
        f"{progress.passages_done:,} of {progress.passages:,} passages and {progress.documents_done:,} of "
        f"{progress.documents:,} documents are done."
    )


def in_words(summary: dict[str, Any]) -> str:
    """The summary in words."""
    if not summary["passages"]:
        lines = [f"Nothing was missing in the space {summary['space']}."]
    else:
        lines = [
            f"{summary['passages_done']:,} passages of {summary['documents_done']:,} documents in "
            f"{summary['seconds']:,.1f} s: {summary['vectors']:,} vectors and the tokens of {summary['tokens']:,} "
            f"passages were missing in the space {summary['space']}."
        ]
    if summary["changed_over"]:
        lines.append(
            "This space is now active. Restart web and workers with the new encoder, then run manage.py reembed "
            "once more for documents added in the meantime."
        )
    elif summary["active_space"] != summary["space"]:
        lines.append(
            f"The active space is still {summary['active_space']}: {summary['left']:,} passages have no vector in the "
            "new one yet. Run the same command for all collections."
        )
    return "\n".join(lines)
