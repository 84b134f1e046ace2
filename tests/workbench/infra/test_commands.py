"""What commands that scripts rely on have in common."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from workbench.errors import Conflict
from workbench.infra.commands import JsonCommand, as_table, wrong_use


@dataclass(frozen=True)
class Row:
    name: str
    cost: Decimal
    day: date


class Example(JsonCommand):
    requires_system_checks = ()
    failure: Exception | None = None

    def handle(self, *args, **options) -> None:
        print("a library that prints")
        if self.failure:
            raise self.failure
        self.note("working")
        self.emit([Row("ñandú", Decimal("0.5"), date(2026, 1, 31))], human=lambda rows: rows[0].name)


def run(command: Example, **options) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command(command, stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


def test_json_is_the_only_thing_on_standard_output(capsys) -> None:
    out, err = run(Example(), json=True)

    assert json.loads(out) == [{"name": "ñandú", "cost": 0.5, "day": "2026-01-31"}]
    assert out.isascii()
    assert err == ""
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "a library that prints" in captured.err


def test_people_get_words_and_notes() -> None:
    out, err = run(Example())

    assert out == "ñandú\n"
    assert err == "working\n"


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (Conflict("It is taken. Choose another name."), "It is taken. Choose another name."),
        (OperationalError("connection refused\nmore"), "The database does not answer: connection refused"),
    ],
)
def test_anticipated_failures_are_messages(failure: Exception, message: str) -> None:
    command = Example()
    command.failure = failure

    with pytest.raises(CommandError, match=message) as caught:
        run(command)
    assert caught.value.returncode == 1


def test_wrong_use_ends_with_two_and_an_interrupt_with_130() -> None:
    assert wrong_use("no").returncode == 2
    command = Example()
    command.failure = KeyboardInterrupt()
    with pytest.raises(CommandError) as caught:
        run(command)
    assert caught.value.returncode == 130


def test_tables_align_numbers_to_the_right() -> None:
    assert as_table(("name", "n"), [("a", 5), ("long", 10)]) == "name   n\na      5\nlong  10"
    assert as_table(("name", "n"), []) == "name  n"
