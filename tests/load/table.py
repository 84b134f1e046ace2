"""The figures of a load test, from what locust writes, as one table."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO

import psutil

#: Milliseconds of a page (p95), with everybody at work.
TARGET_MS = 150.0


@dataclass(frozen=True, slots=True)
class Use:
    """What a part of the product takes: megabytes held (what its processes share counted once), processor seconds."""

    megabytes: float
    seconds: float


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


def use_of(pid: int) -> Use:
    """What a process and all below it use now."""
    held, seconds = 0, 0.0
    process = psutil.Process(pid)
    for member in [process, *process.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            held += member.memory_full_info().pss
            # Of itself and of those below it that ended: user, system, and both of its children.
            seconds += sum(member.cpu_times()[:4])
    return Use(held / 1e6, seconds)


def failures_of(listed: str) -> list[str]:
    """What failed and how often, from locust's ``_failures.csv``."""
    counts: Counter[str] = Counter()
    for line in csv.DictReader(StringIO(listed)):
        counts[f"{line['Name']}: {line['Error']}"] += int(line["Occurrences"])
    return [f"{number} x {what}" for what, number in counts.most_common()]


def table(rows: Sequence[Row], *, use: Mapping[str, tuple[Use, Use, Use]]) -> str:
    """Requests with their times and whether the target is met, then memory at the start, when everybody has worked for
    a while, and at the end, and the processor's time, which does not depend on what else the machine does."""
    lines = [
        f"{'page':<28}{'requests':>10}{'failures':>10}{'p50 ms':>9}{'p95 ms':>9}  p95 <= {TARGET_MS:.0f} ms"
    ]
    for row in rows:
        met = "met" if row.p95 <= TARGET_MS else "not met"
        lines.append(
            f"{row.name:<28}{row.requests:>10}{row.failures:>10}{row.p50:>9.0f}{row.p95:>9.0f}  {met}"
        )
    heads = "".join(f"{name:>10}" for name in ("start MB", "warm MB", "end MB"))
    lines += ["", f"{'process':<28}{heads}{'processor s':>13}{'ms a request':>14}"]
    requests = max(1, rows[-1].requests)
    for name, seen in use.items():
        spent = seen[-1].seconds - seen[0].seconds
        held = "".join(f"{moment.megabytes:>10.0f}" for moment in seen)
        lines.append(f"{name:<28}{held}{spent:>13.1f}{1000 * spent / requests:>14.1f}")
    return "\n".join(lines)
