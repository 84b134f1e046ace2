"""``manage.py ingest PATH... --collection SLUG``: uploads files and waits until each has an outcome.

Works for three files or a folder of thousands. Ctrl-C stops it; the same command continues where it stopped.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, TextIO

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.core.validators import validate_slug

from workbench.accounts.selectors import system_user
from workbench.documents.intake import (
    IngestInterrupted,
    IngestOutcome,
    IngestProgress,
    collection_ensure,
    files_ingest,
)
from workbench.infra.commands import INTERRUPTED, JsonCommand, as_table, wrong_use
from workbench.infra.progress import ProgressBar

#: Files named below one reason in the summary; the rest is counted.
NAMED = 5
#: What people read of a file that an earlier run took in; ``duplicate`` is the content of another file.
KNOWN = "already taken in"


class Command(JsonCommand):
    help = (
        "Uploads files to a collection (created if missing) and waits until each is ready, failed with a "
        "reason, or a duplicate of another file. A folder means all files below it, in order of their "
        "paths. Ctrl-C stops the command; run it again to continue."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="file or folder")
        parser.add_argument("--collection", required=True, type=_slug, metavar="SLUG")
        parser.add_argument(
            "--password",
            action="append",
            default=[],
            type=_password,
            metavar="FILE=WORD",
            help=(
                "password of an encrypted file, given by path or name; may be repeated. The password is not "
                "stored, but other users of this machine can see it while the command runs"
            ),
        )
        parser.add_argument(
            "--only",
            action="append",
            default=[],
            metavar="PATTERN",
            help=(
                "only upload files in folders that match this pattern, for example '*.pdf'; may be repeated"
            ),
        )
        parser.add_argument("--retry-failed", action="store_true", help="retry files that failed earlier")

    def handle(self, *args: Any, **options: Any) -> None:
        # Nothing is uploaded before everything asked for is known to be there.
        files = list(_files(options["paths"], only=options["only"]))
        passwords = _passwords(options["password"], files)
        actor = system_user()
        started = time.monotonic()
        with self._progress(len(files)) as progress:
            try:
                outcomes = files_ingest(
                    actor=actor,
                    collection=collection_ensure(actor=actor, slug=options["collection"]),
                    paths=files,
                    passwords=passwords,
                    retry_failed=options["retry_failed"],
                    progress=progress,
                )
            except IngestInterrupted as interrupt:
                raise CommandError(_interruption(interrupt), returncode=INTERRUPTED) from interrupt
        seconds = time.monotonic() - started
        self.emit(
            [outcome.row() for outcome in outcomes],
            human=lambda _: f"{_describe(outcomes)}\n\n{_summary(outcomes, seconds)}",
        )

    def _progress(self, files: int) -> _Shown:
        is_watched = not self.as_json and sys.stderr.isatty()
        return _Shown(self, files, stream=sys.stderr if is_watched else None)


class _Shown(IngestProgress):
    """Two progress bars in turn on a terminal; otherwise a line for each file; nothing with ``--json``."""

    def __init__(self, command: Command, files: int, *, stream: TextIO | None) -> None:
        self._command, self._stream = command, stream
        self._bar = ProgressBar(stream, total=files, says="uploading")
        self._is_uploading = True

    def __enter__(self) -> _Shown:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def received(self, file: str, *, refusal: str) -> None:
        self._bar.advance()
        if refusal:
            self._bar.write(f"refused {file}: {refusal}")
        if self._stream is None:
            self._command.note(f"refused {file}: {refusal}" if refusal else f"uploaded {file}")

    def ended(self, *, done: int, total: int) -> None:
        if self._is_uploading:
            self._bar.close()
            self._bar = ProgressBar(self._stream, total=total, says="reading")
            self._is_uploading = False
        self._bar.move_to(done)


def _files(paths: Sequence[Path], *, only: Sequence[str]) -> Iterator[Path]:
    """All files to upload, without duplicates. Raises :class:`CommandError` for a path that is missing or
    unreadable."""
    missing = [str(path) for path in paths if not os.path.exists(path)]
    if missing:
        raise CommandError(f"Not found: {', '.join(missing)}. Nothing was uploaded.")
    seen: set[Path] = set()
    for path in paths:
        below = sorted(_below(path, only=only)) if path.is_dir() else [path]
        if not below:
            meant = f"no files named {' or '.join(only)}" if only else "no files"
            raise CommandError(f"{path} contains {meant}. Nothing was uploaded.")
        for file in below:
            if not file.is_file() or not os.access(file, os.R_OK):
                raise CommandError(f"{file} is not a readable file. Nothing was uploaded.")
            if file not in seen:
                seen.add(file)
                yield file


def _below(folder: Path, *, only: Sequence[str]) -> Iterator[Path]:
    for file in folder.rglob("*"):
        if file.is_file() and (not only or any(fnmatch(file.name.lower(), word.lower()) for word in only)):
            yield file


def _passwords(given: Sequence[str], files: Sequence[Path]) -> dict[Path, str]:
    """The password of each file it was given for. Refuses a password for a file that is not part of the command."""
    passwords: dict[Path, str] = {}
    for text in given:
        found = next(_meanings(text, files), None)
        if found is None:
            name = text.partition("=")[0]
            raise wrong_use(f"--password {name}=...: this command has no file named {name}.")
        meant, word = found
        passwords |= dict.fromkeys(meant, word)
    return passwords


def _meanings(text: str, files: Sequence[Path]) -> Iterator[tuple[list[Path], str]]:
    """The possible readings of FILE=WORD, longest name first, because a file name can contain the sign too."""
    for end in range(len(text) - 2, 0, -1):
        if text[end] != "=":
            continue
        named = Path(text[:end])
        meant = [file for file in files if named in (file, Path(file.name))]
        if meant:
            yield meant, text[end + 1 :]


def _password(text: str) -> str:
    name, separator, word = text.partition("=")
    if not (name and separator and word):
        raise ArgumentTypeError("give FILE=WORD, for example contract.pdf=s3cret")
    return text


def _slug(text: str) -> str:
    try:
        validate_slug(text)
    except ValidationError as error:
        raise ArgumentTypeError(
            f"{text!r} is not a short name: use letters, digits, hyphens and underscores"
        ) from error
    if len(text) > 80:
        raise ArgumentTypeError("a short name has at most 80 characters")
    return text


def _describe(outcomes: Sequence[IngestOutcome]) -> str:
    header = ("status", "pages", "lines", "sections", "depth", "passages", "seconds", "file")
    rows = [
        (_status(o), o.pages, o.lines, o.sections, o.section_depth, o.passages, round(o.seconds, 1), o.file)
        for o in outcomes
    ]
    reasons = [f"{o.file}: {o.reason}" for o in outcomes if o.reason]
    return "\n".join([as_table(header, rows), *(["", *reasons] if reasons else [])])


def _status(outcome: IngestOutcome) -> str:
    """The outcome as shown to people. Scripts get one word for both kinds of duplicates."""
    return KNOWN if outcome.is_known else outcome.status


def _summary(outcomes: Sequence[IngestOutcome], seconds: float) -> str:
    """Counts files by outcome and lists failures by reason, most frequent first."""
    counts = Counter(_status(outcome) for outcome in outcomes)
    parts = [f"{counts[word]:,} {word}" for word in ("ready", KNOWN, "duplicate", "failed") if counts[word]]
    # What an earlier run uploaded and this one waited for is as new as what it uploaded itself.
    new = [outcome for outcome in outcomes if outcome.status == "ready" or outcome.was_awaited]
    pages, passages = sum(o.pages for o in new), sum(o.passages for o in new)
    lines = [
        f"{len(outcomes):,} files in {seconds:,.1f} s: {', '.join(parts)}.",
        f"New: {pages:,} pages, {passages:,} passages, {pages / max(seconds, 0.001):.1f} pages a second.",
    ]
    failed: dict[str, list[str]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.failure and (outcome.status == "failed" or outcome.is_known):
            failed[outcome.failure].append(Path(outcome.file).name)
    for reason, names in sorted(failed.items(), key=lambda item: -len(item[1])):
        more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        lines.append(f"  {len(names):,} x {reason} ({', '.join(names[:NAMED])}{more})")
    return "\n".join(lines)


def _interruption(interrupt: IngestInterrupted) -> str:
    return (
        f"Interrupted: {interrupt.uploaded:,} of {interrupt.files:,} files are uploaded and {interrupt.ended:,} of "
        "these are finished; the others wait for a worker. Run the same command again to continue. Files uploaded "
        "already are recognised by their content."
    )
