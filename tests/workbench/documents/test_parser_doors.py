"""What a system cannot take from a parser is said, with a hint."""

from __future__ import annotations

import pytest
from celery.signals import worker_init
from structlog.testing import capture_logs

from arbitration.errors import ParseFailure
from arbitration.parsing.sandbox import Doors
from workbench.documents import parser_doors


def test_the_check_names_each_open_door(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser_doors, "foreseen_doors", lambda: Doors(calls=True, files=False, account=False))
    found = parser_doors.parser_is_shut_in()
    assert [message.id for message in found] == ["documents.I002", "documents.I003"]
    assert all(message.hint for message in found)


def test_closed_doors_are_not_mentioned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser_doors, "foreseen_doors", lambda: Doors(calls=True, files=True, account=True))
    assert parser_doors.parser_is_shut_in() == []


def test_a_worker_says_it_when_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser_doors, "closed_doors", lambda: Doors(calls=False, files=True, account=True))
    assert parser_doors.log_open_doors in [receiver for _, receiver in worker_init.receivers]
    with capture_logs() as logs:
        parser_doors.log_open_doors()
    assert [(line["event"], line.get("door")) for line in logs] == [
        ("parser.open_door", "calls"),
        ("parser.doors", None),
    ]
    assert logs[0]["hint"]


def test_a_parser_that_does_not_start_does_not_stop_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Doors:
        raise ParseFailure("crashed", "The parser failed.")

    monkeypatch.setattr(parser_doors, "closed_doors", fail)
    with capture_logs() as logs:
        parser_doors.log_open_doors()
    assert [(line["event"], line["code"]) for line in logs] == [("parser.does_not_start", "crashed")]
