"""``manage.py distribute``: distributes search data over the nodes of a Citus cluster."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from workbench.documents.distribution import SPREAD, nodes, rebalance, tables_spread
from workbench.infra.commands import JsonCommand


class Command(JsonCommand):
    help = (
        "Distributes vectors, tokens and the word index over the nodes of a Citus cluster, by document. "
        "Run it on the coordinator as the table owner, while no documents are being processed. Tables "
        "that are already distributed are left alone."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--rebalance",
            action="store_true",
            help="move shards until all nodes hold about the same amount; use it after adding nodes",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        started = time.monotonic()
        done = []
        for table in tables_spread():
            self.note(f"{table} is distributed")
            done.append(table)
        if options["rebalance"]:
            self.note("moving shards; searches and writes continue")
            rebalance()
        summary = {
            "spread": done,
            "nodes": [asdict(node) for node in nodes()],
            "seconds": round(time.monotonic() - started, 3),
        }
        self.emit(summary, human=in_words)


def in_words(summary: dict[str, Any]) -> str:
    """The summary in words."""
    lines = [
        f"{len(summary['spread'])} of {len(SPREAD)} tables were distributed now; the others were already."
    ]
    lines += [
        f"{node['name']}: {node['shards']} shards, {node['bytes'] / 1_000_000:,.1f} MB"
        for node in summary["nodes"]
    ]
    return "\n".join(lines)
