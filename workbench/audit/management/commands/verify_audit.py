"""``manage.py verify_audit``: checks that the audit trail is unchanged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workbench.audit.services import VerifyReport, audit_verify, verification_note
from workbench.audit.verifier import Broken, NotAnExport, read_anchors


class Command(BaseCommand):
    help = "Recomputes the hash chain of the audit trail and reports the first broken row. Changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON value")
        parser.add_argument("--anchor", type=Path, help="anchor file written by anchor_audit")

    def handle(self, *_: Any, **options: Any) -> None:
        report = audit_verify(anchors=_anchors(options["anchor"]))
        verification_note(report)
        self.stdout.write(json.dumps(report.as_json()) if options["json"] else _in_words(report))
        if not report.ok:
            raise CommandError(f"The audit trail is broken: {report.problem}.", returncode=1)


def _anchors(file: Path | None) -> dict[int, str]:
    if file is None:
        return {}
    try:
        return read_anchors(file.read_text("utf-8").splitlines())
    except (OSError, NotAnExport, Broken, KeyError, TypeError, ValueError) as error:
        raise CommandError(f"{file} is not an anchor file: {error}", returncode=2) from error


def _in_words(report: VerifyReport) -> str:
    state = "whole" if report.ok else "broken"
    return (
        f"The chain is {state}: {report.events} events, {report.unsealed} not sealed yet, "
        f"head {report.head or 'none'} at position {report.position}."
    )
