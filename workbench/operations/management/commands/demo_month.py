"""``manage.py demo_month``: acts out what the demo's month still lacks. A worker runs it behind ``create_demo``."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from workbench.infra.commands import JsonCommand
from workbench.operations.demo.month import month_act

from .create_demo import require_trial


class Command(JsonCommand):
    help = "Acts out a month of work in the demo, by the product's own services, and says how many acts that took."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--yes", action="store_true", help="also under production settings")

    def handle(self, *args: Any, **options: Any) -> None:
        require_trial(is_sure=options["yes"])
        self.emit({"acts": month_act()}, human=lambda report: f"Acts: {report['acts']}")
