"""``manage.py distribute``: spreads what is searched over the nodes of a Citus cluster."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from workbench.documents.distribution import SPREAD, nodes, rebalance, tables_spread
from workbench.infra.commands import JsonCommand


class Command(JsonCommand):
    help = (
        "On the coordinator of a Citus cluster: spreads vectors, tokens and the index of words over its nodes, by "
        "document. Run it as the owner of the tables while nothing is read in; what is spread is left alone."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--rebalance",
            action="store_true",
            help="after nodes were added: move shards until all hold about as much",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        started = time.monotonic()
        done = []
        for table in tables_spread():
            self.note(f"{table} is spread")
            done.append(table)
        if options["rebalance"]:
            self.note("moving shards; searches and writes go on")
            rebalance()
        summary = {
            "spread": done,
            "nodes": [asdict(node) for node in nodes()],
            "seconds": round(time.monotonic() - started, 3),
        }
        self.emit(summary, human=in_words)


def in_words(summary: dict[str, Any]) -> str:
    """The summary for people."""
    lines = [f"{len(summary['spread'])} of {len(SPREAD)} tables were spread now; the others were before."]
    lines += [
        f"{node['name']}: {node['shards']} shards, {node['bytes'] / 1_000_000:,.1f} MB"
        for node in summary["nodes"]
    ]
    return "\n".join(lines)
