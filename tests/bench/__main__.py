"""``python -m tests.bench [NAME...] [full]``: measures, prints one table, writes JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.registry import Figure, Measurement, Size, measurements

REPORT = Path("var/bench.json")
Results = dict[str, list[Figure]]


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0 when every measurement ended, whatever it measured; 2 for an unknown name."""
    known = measurements()
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}; default: all")
    parser.add_argument("--json", type=Path, default=REPORT, help=f"where the report goes (default {REPORT})")
    options = parser.parse_args(arguments)
    size: Size = "full" if "full" in options.names else "quick"
    names = [name for name in options.names if name not in ("full", "quick")] or list(known)
    unknown = sorted(set(names) - set(known))
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; there are: {', '.join(known)}")
    results, broken = _measured([known[name] for name in names], size)
    print(table(results))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(report(results, broken, size), indent=2) + "\n", encoding="utf-8")
    print(f"\nwritten to {options.json}")
    return 1 if broken else 0


def _measured(chosen: list[Measurement], size: Size) -> tuple[Results, list[str]]:
    results: Results = {}
    broken: list[str] = []
    for item in chosen:
        print(f"=== {item.name}", file=sys.stderr, flush=True)
        try:
            if item.needs_services:
                _set_up_django()
            results[item.name] = list(item.measure(size))
        except Exception:  # one broken measurement must not hide the others
            traceback.print_exc()
            broken.append(item.name)
    return results, broken


def _set_up_django() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workbench.settings.test")
    import django

    django.setup()


def table(results: Results) -> str:
    """One line per figure: measurement, what, value, target, met or not."""
    rows = [("measurement", "figure", "value", "target", "")]
    for name, figures in results.items():
        rows += [(name, f.what, _number(f.value, f.unit), _target(f), _word(f)) for f in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in [lines[0], "-" * len(lines[0]), *lines[1:]])


def _number(value: float, unit: str) -> str:
    return f"{value:,.3g} {unit}".strip() if abs(value) < 1000 else f"{value:,.0f} {unit}".strip()


def _target(figure: Figure) -> str:
    if figure.target is None or figure.bound is None:
        return "reported"
    return f"{figure.bound} {_number(figure.target, figure.unit)}"


def _word(figure: Figure) -> str:
    return {True: "met", False: "MISSED", None: ""}[figure.is_met]


def report(results: Results, broken: list[str], size: Size) -> dict[str, object]:
    """The figures with what is needed to compare them later."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "size": size,
        "machine": {
            "cpus": os.cpu_count(),
            "system": platform.platform(),
            "python": platform.python_version(),
        },
        "load": os.getloadavg()[0],
        "broken": broken,
        "figures": {name: [figure.row() for figure in figures] for name, figures in results.items()},
    }


if __name__ == "__main__":
    sys.exit(main())
