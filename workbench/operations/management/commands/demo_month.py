"""``manage.py demo_month``: adds the missing part of the demo's month of work. A worker runs it after
``create_demo``."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from workbench.infra.commands import JsonCommand
from workbench.operations.demo.month import month_act

from .create_demo import require_trial


class Command(JsonCommand):
    help = (
        "Adds the missing part of a month of work to the demo, through the product's own services, and "
        "prints the number of actions."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--yes", action="store_true", help="run under production settings too")

    def handle(self, *args: Any, **options: Any) -> None:
        require_trial(is_sure=options["yes"])
        self.emit({"acts": month_act()}, human=lambda report: f"Acts: {report['acts']}")
