"""``manage.py create_demo``: creates the demo collection, its people and documents. Safe to run at every start. A
worker then adds a month of work (``demo_month``)."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from workbench.accounts.selectors import system_user
from workbench.documents.intake import Waiting, documents_await
from workbench.documents.models import Document
from workbench.infra.commands import JsonCommand, as_table
from workbench.operations.demo.process import month_request
from workbench.operations.demo.services import Demo, demo_create
from workbench.rerankers.seed import seed_register

#: Settings modules under which demo logins are expected.
_SETTINGS_FOR_TRIALS = {"dev", "test"}


def require_trial(*, is_sure: bool) -> None:
    """Raises :class:`CommandError` under production settings, unless the caller is sure."""
    settings_module = os.environ.get("DJANGO_SETTINGS_MODULE", "")
    if not is_sure and settings_module.rpartition(".")[2] not in _SETTINGS_FOR_TRIALS:
        raise CommandError(
            f"This installation uses the settings {settings_module}. Demo logins are for trials only: "
            "add --yes if this is a trial."
        )


class Command(JsonCommand):
    help = "Creates the demo collection with its documents and a user for each role, and prints the logins."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--wait", action="store_true", help="wait until every document is ready or failed"
        )
        parser.add_argument("--yes", action="store_true", help="run under production settings too")

    def handle(self, *args: Any, **options: Any) -> None:
        require_trial(is_sure=options["yes"])
        demo = demo_create(actor=system_user())
        seed_register()  # or else the first question loads the model that ships in a web process, which keeps it
        if options["wait"]:
            documents_await(document_ids=demo.document_ids, waiting=Waiting())
        month_request()
        self.emit(_report(demo), human=_describe)


def _report(demo: Demo) -> dict[str, Any]:
    documents = Document.objects.in_bulk(demo.document_ids)
    return {
        "collection": demo.collection,
        "documents": [
            {"name": documents[pk].name, "status": documents[pk].status} for pk in demo.document_ids
        ],
        "logins": list(demo.logins),
    }


def _describe(report: dict[str, Any]) -> str:
    documents = as_table(
        ("status", "document"), [(row["status"], row["name"]) for row in report["documents"]]
    )
    logins = as_table(
        ("role", "e-mail", "password"),
        [(login.role, login.email, login.password) for login in report["logins"]],
    )
    return f"Collection: {report['collection']}\n\n{documents}\n\n{logins}"
