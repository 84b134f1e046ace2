"""What the commands that scripts rely on have in common.

Such a command takes ``--json`` and then prints one JSON value on standard output and nothing else; it acts as the
audited user ``system``. Exit status 0: done as asked; 1: refused or failed, with a message on standard error;
2: wrong use.
"""

from __future__ import annotations

import json
import sys
import uuid
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from dataclasses import asdict, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeVar

import structlog
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError
from pydantic import BaseModel

from workbench.direction import shown
from workbench.errors import WorkbenchError

from .command_line import WRONG_USE

Value = TypeVar("Value")


INTERRUPTED = 130


class JsonCommand(BaseCommand):
    """A command with ``--json``. Subclasses extend :meth:`add_arguments`, write :meth:`handle` and :meth:`emit`.

    Events that the command writes to the audit trail share a request id that begins with its name.
    """

    as_json = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Adds ``--json``; call it from the subclass's own."""
        parser.add_argument(
            "--json", action="store_true", help="print one JSON value on standard output and nothing else"
        )

    def execute(self, *args: Any, **options: Any) -> Any:
        """Runs the command; anticipated refusals become :class:`CommandError`, whose message goes to people."""
        self.as_json = bool(options.get("json"))
        name = type(self).__module__.rpartition(".")[2]
        with structlog.contextvars.bound_contextvars(request_id=f"{name}-{uuid.uuid4().hex[:12]}"):
            try:
                with self._quiet_output():
                    return super().execute(*args, **options)
            except WorkbenchError as error:
                raise CommandError(error.message) from error
            except OperationalError as error:
                raise CommandError(f"The database does not answer: {_first_line(error)}") from error
            except KeyboardInterrupt as error:
                raise CommandError("Interrupted.", returncode=INTERRUPTED) from error

    def emit(self, value: Value, *, human: Callable[[Value], str]) -> None:
        """Prints the command's result: as JSON when asked, else what ``human`` makes of it.

        ``value`` is JSON, or holds pydantic models, dataclasses, decimals and dates. JSON is written in ASCII, so
        that any terminal and any locale takes it.
        """
        if self.as_json:
            self.stdout.write(json.dumps(value, default=_plain, allow_nan=False))
        else:
            self.stdout.write(shown(human(value)))

    def note(self, message: str) -> None:
        """Says something to a person who waits, on standard error; nothing with ``--json``."""
        if not self.as_json:
            self.stderr.write(message, style_func=str)

    def _quiet_output(self) -> AbstractContextManager[Any]:
        """With ``--json`` a stray print lands on standard error; ``self.stdout`` keeps the real one."""
        return redirect_stdout(sys.stderr) if self.as_json else nullcontext()


def wrong_use(message: str) -> CommandError:
    """An error for a command line that cannot be meant: exit status 2."""
    return CommandError(message, returncode=WRONG_USE)


def as_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Aligned columns for people: numbers to the right, words to the left, no trailing white space."""
    cells = [list(header), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(header))]
    is_number = [
        bool(rows) and all(isinstance(row[column], int | float) for row in rows)
        for column in range(len(header))
    ]
    lines = []
    for line in cells:
        padded = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, is_number, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def _plain(value: Any) -> Any:
    """The JSON of a value that :mod:`json` does not know."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no JSON form.")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
