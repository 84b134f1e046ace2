"""The figures of a load test, from what locust writes, as one table."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO

import psutil

#: Milliseconds of a page (p95), with everybody at work.
TARGET_MS = 150.0
#: Megabytes of processes by their name.
Memory = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of request; times in milliseconds."""

    name: str
    requests: int
    failures: int
    p50: float
    p95: float


def rows_of(stats: str) -> list[Row]:
    """The rows of locust's ``_stats.csv``, the sum of all last. Raises KeyError for a file of another form."""
    rows = [
        Row(
            name=line["Name"],
            requests=int(line["Request Count"]),
            failures=int(line["Failure Count"]),
            p50=_milliseconds(line["50%"]),
            p95=_milliseconds(line["95%"]),
        )
        for line in csv.DictReader(StringIO(stats))
    ]
    return sorted(rows, key=lambda row: (row.name == "Aggregated", row.name))


def _milliseconds(cell: str) -> float:
    return float("nan") if cell in {"", "N/A"} else float(cell)


def memory_of(pid: int) -> float:
    """Megabytes that a process and all below it hold, what they share counted once (PSS)."""
    held = 0
    process = psutil.Process(pid)
    for member in [process, *process.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            held += member.memory_full_info().pss
    return held / 1e6


def table(rows: Sequence[Row], *, memory: Mapping[str, tuple[float, float]]) -> str:
    """Requests with their times and whether the target is met, then the memory at start and end."""
    lines = [
        f"{'page':<28}{'requests':>10}{'failures':>10}{'p50 ms':>9}{'p95 ms':>9}  p95 <= {TARGET_MS:.0f} ms"
    ]
    for row in rows:
        met = "met" if row.p95 <= TARGET_MS else "not met"
        lines.append(
            f"{row.name:<28}{row.requests:>10}{row.failures:>10}{row.p50:>9.0f}{row.p95:>9.0f}  {met}"
        )
    lines += ["", f"{'memory':<28}{'start MB':>10}{'end MB':>10}"]
    lines += [f"{name:<28}{start:>10.0f}{end:>10.0f}" for name, (start, end) in memory.items()]
    return "\n".join(lines)
