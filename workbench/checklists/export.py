"""A round as a file: one row a cell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from workbench.direction import shown_in_json
from workbench.infra.exports import csv_text

from .models import Round
from .selectors import Grid

COLUMNS = ("document", "question", "state", "found", "open_items", "overdue", "run", "note")


def _records(grid: Grid) -> Iterator[dict[str, Any]]:
    for row in grid.rows:
        for entry, cell in zip(grid.entries, row.cells, strict=True):
            if cell is None:
                continue
            yield {
                "document": row.document.name,
                "question": entry.text,
                "state": cell.state,
                "found": cell.found,
                "open_items": cell.open_items,
                "overdue": cell.is_overdue,
                "run": cell.run_id,
                "note": cell.failure,
            }


def round_csv(*, grid: Grid) -> str:
    """The grid as CSV, safe from formula injection."""
    return csv_text(header=COLUMNS, rows=([record[name] for name in COLUMNS] for record in _records(grid)))


def round_jsonl(*, round_: Round, grid: Grid) -> str:
    """The grid as JSON lines, the round's facts in each."""
    facts = {"round": round_.pk, "set": round_.question_set.name, "strategy": round_.strategy}
    lines = (json.dumps(facts | record, ensure_ascii=False) for record in _records(grid))
    return "".join(shown_in_json(line) + "\n" for line in lines)
