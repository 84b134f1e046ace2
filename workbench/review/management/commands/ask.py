"""``manage.py ask QUESTION --collection SLUG``: ask, wait, print the record."""

from __future__ import annotations

import json
import time
from typing import Any

from django.core.management.base import CommandError, CommandParser
from pydantic import ValidationError

from arbitration.settings import METHODS
from workbench.accounts.models import User
from workbench.documents.models import Collection
from workbench.documents.narrowing import ScopeFilter, fields_chosen
from workbench.documents.selectors import document_named
from workbench.errors import WorkbenchError
from workbench.infra.commands import JsonCommand
from workbench.review.candidates import candidates_of
from workbench.review.results import run_audit, run_result
from workbench.runs.models import Run, RunStatus
from workbench.runs.services import question_ask
from workbench.runs.waiting import run_wait


class Command(JsonCommand):
    """Asks one question and waits for its run."""

    help = "Asks a question about a document or a collection and prints the audited result."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("question", metavar="QUESTION")
        parser.add_argument("--collection", required=True, metavar="SLUG")
        parser.add_argument("--document", default="", metavar="NAME_OR_ID")
        parser.add_argument("--strategy", default="", metavar="NAME")
        parser.add_argument(
            "--methods", default="", metavar="A,B", help=f"only use these detectors: {', '.join(METHODS)}"
        )
        for name in ("document-type", "party", "jurisdiction", "language", "tag"):
            parser.add_argument(
                f"--{name}",
                action="append",
                default=[],
                metavar="VALUE",
                help="only ask documents with this value",
            )
        parser.add_argument(
            "--field",
            action="append",
            default=[],
            metavar="NAME:VALUE",
            help="only ask documents with this value in a custom field",
        )
        for name in ("effective-from", "effective-to"):
            parser.add_argument(
                f"--{name}", metavar="YYYY-MM-DD", help="only ask documents effective in this period"
            )
        parser.add_argument(
            "--option",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="strategy option for this question, such as n=0.5 for consensus",
        )
        parser.add_argument("--no-cache", action="store_true", help="ignore earlier answers")

    def handle(self, *args: Any, **options: Any) -> None:
        started = time.monotonic()
        collection = Collection.objects.filter(slug=options["collection"]).first()
        if collection is None:
            raise CommandError(
                f"There is no collection {options['collection']!r}. `manage.py ingest` creates one."
            )
        document = None
        if options["document"]:
            document = document_named(collection=collection, name=options["document"])
            if document is None:
                raise CommandError(f"There is no document {options['document']!r} in {collection.slug!r}.")
        try:
            outcome = question_ask(
                actor=User.objects.system(),
                collection=collection,
                document=document,
                text=options["question"],
                strategy=options["strategy"],
                use_cache=not options["no_cache"],
                options=_strategy_options(options["option"]),
                filters=_filters(options),
                methods=[name.strip() for name in options["methods"].split(",") if name.strip()],
            )
        except WorkbenchError as error:
            raise CommandError(error.message) from error
        run = run_wait(run_id=outcome.run.pk)
        if run.status != RunStatus.DONE:
            raise CommandError(f"Run {run.pk} {run.get_status_display()}: {run.failure_reason}")
        elapsed_ms = 1000 * (time.monotonic() - started)
        self.emit(_value(run, cached=outcome.is_cached, elapsed_ms=elapsed_ms), human=_human)


def _filters(options: dict[str, Any]) -> ScopeFilter | None:
    try:
        return ScopeFilter(
            document_types=options["document_type"],
            jurisdictions=options["jurisdiction"],
            languages=options["language"],
            tags=options["tag"],
            parties=options["party"],
            fields=fields_chosen(options["field"]),
            effective_from=options["effective_from"],
            effective_to=options["effective_to"],
        )
    except ValidationError as error:
        raise CommandError("; ".join(problem["msg"] for problem in error.errors())) from error


def _strategy_options(given: list[str]) -> dict[str, object]:
    """Parses NAME=VALUE pairs: numbers, true and false by type, everything else as text."""
    pairs = [pair.partition("=") for pair in given]
    if any(not name or not sign for name, sign, _value in pairs):
        raise CommandError("Write options as NAME=VALUE, such as n=0.5.")
    return {name: _scalar(value) for name, _sign, value in pairs}


def _scalar(value: str) -> object:
    try:
        read = json.loads(value)
    except ValueError:
        return value
    return read if isinstance(read, bool | int | float) else value


def _value(run: Run, *, cached: bool, elapsed_ms: float) -> dict[str, Any]:
    rows = candidates_of(run)
    answer = run.answers.last()
    return {
        "run_id": run.pk,
        "strategy": run.strategy,
        "cached": cached,
        "elapsed_ms": round(elapsed_ms, 1),
        "llm_calls": 0 if cached else run.llm_call_count,
        "cost": 0.0 if cached else float(run.cost),
        "result": run_result(run, rows).model_dump(mode="json"),
        "audit": run_audit(run, rows).model_dump(mode="json"),
        "answer": answer.body if answer else None,
    }


def _human(value: dict[str, Any]) -> str:
    result = value["result"]
    lines = [f"{result['question']}  (run {value['run_id']}, {value['strategy']})"]
    if result["not_found"]:
        return "\n".join([*lines, f"Not found. {result['not_found_reason']}"])
    lines += [
        f"{c['role'] or 'undecided':<11} {c['candidate_id']}  {c['reason']}" for c in result["candidates"]
    ]
    return "\n".join(lines)
