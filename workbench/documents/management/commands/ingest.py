"""``manage.py ingest PATH... --collection SLUG``: uploads files and waits until each has an outcome."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.core.validators import validate_slug

from workbench.documents.intake import IngestOutcome, collection_ensure, files_ingest
from workbench.ops.commands import JsonCommand, as_table, system_user, wrong_use


class Command(JsonCommand):
    help = (
        "Uploads files to a collection (created when missing) and waits until each is ready, failed with a reason, "
        "or a duplicate. A folder means all files below it, in order of their paths."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a file or a folder of files")
        parser.add_argument("--collection", required=True, type=_slug, metavar="SLUG")
        parser.add_argument(
            "--password",
            action="append",
            default=[],
            type=_password,
            metavar="FILE=WORD",
            help="opens an encrypted file, named by its path or its name; may be repeated. The word is used once "
            "in this process and never stored, but other users of this machine can see it while the command runs",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # Nothing is uploaded before everything asked for is known to be there.
        files = list(_files(options["paths"]))
        passwords = _passwords(options["password"], files)
        actor = system_user()
        outcomes = files_ingest(
            actor=actor,
            collection=collection_ensure(actor=actor, slug=options["collection"]),
            paths=files,
            passwords=passwords,
            on_received=lambda file: self.note(f"uploaded {file}"),
        )
        self.emit(outcomes, human=_describe)


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Every file meant, each once. Raises :class:`CommandError` for a path that is missing or unreadable."""
    missing = [str(path) for path in paths if not os.path.exists(path)]
    if missing:
        raise CommandError(f"Not found: {', '.join(missing)}. Nothing was uploaded.")
    seen: set[Path] = set()
    for path in paths:
        below = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        if not below:
            raise CommandError(f"{path} holds no files. Nothing was uploaded.")
        for file in below:
            if not file.is_file() or not os.access(file, os.R_OK):
                raise CommandError(f"{file} is not a file that can be read. Nothing was uploaded.")
            if file not in seen:
                seen.add(file)
                yield file


def _passwords(given: Sequence[str], files: Sequence[Path]) -> dict[Path, str]:
    """The password of each file it was given for. Wrong use when one is for no file of the command."""
    passwords: dict[Path, str] = {}
    for text in given:
        found = next(_meanings(text, files), None)
        if found is None:
            name = text.partition("=")[0]
            raise wrong_use(f"--password {name}=...: no file of this command is called {name}.")
        meant, word = found
        passwords |= dict.fromkeys(meant, word)
    return passwords


def _meanings(text: str, files: Sequence[Path]) -> Iterator[tuple[list[Path], str]]:
    """What FILE=WORD may mean, the longest name first: a file's name may hold the sign too."""
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
        (o.status, o.pages, o.lines, o.sections, o.section_depth, o.passages, round(o.seconds, 1), o.file)
        for o in outcomes
    ]
    reasons = [f"{o.file}: {o.reason}" for o in outcomes if o.reason]
    return "\n".join([as_table(header, rows), *(["", *reasons] if reasons else [])])
