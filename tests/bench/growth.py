"""``python -m tests.bench.growth [JSON] [SVG]``: draws how a question's time grows with the corpus.

Reads what the measurement ``detection`` wrote (``var/growth.json``) and writes ``docs/img/growth.svg``: times over
passages, both on logarithmic axes, of the pipeline (p50, p95) and of the bare searches it rests on.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

PICTURE = Path("docs/img/growth.svg")
WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 50, 60
#: Name, colour and dashes of each line; told apart by more than colour.
LINES = {
    "offline p95": ("#8a3b12", "7 4"),
    "offline p50": ("#8a3b12", ""),
    "bare searches p50": ("#1f5f8b", ""),
    "pgvector p50": ("#1f5f8b", "2 4"),
}
#: Between two names at the ends of lines, so that they are read apart.
LINE_HEIGHT = 17.0
Points = list[tuple[float, float]]


def series(grown: Sequence[dict[str, Any]]) -> dict[str, Points]:
    """(passages, milliseconds) of each line, by its name in :data:`LINES`."""
    return {
        "offline p95": [(row["passages"], row["pipeline"]["offline"][1]) for row in grown],
        "offline p50": [(row["passages"], row["pipeline"]["offline"][0]) for row in grown],
        "bare searches p50": [
            (row["passages"], sum(p50 for p50, _ in row["bare"].values())) for row in grown
        ],
        "pgvector p50": [(row["passages"], row["bare"]["pgvector"][0]) for row in grown],
    }


def drawn(lines: dict[str, Points]) -> str:
    """The picture as SVG."""
    points = [point for line in lines.values() for point in line]
    across = _Axis([x for x, _ in points], LEFT, WIDTH - RIGHT)
    up = _Axis([y for _, y in points], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        ' font-family="system-ui, sans-serif" font-size="13">',
        "<title>Time of a question over the number of passages</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        _text(LEFT, 26, "From a question to its result, milliseconds", weight="bold"),
        *_grid(across, up),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "passages", anchor="middle"),
    ]
    beside = _apart({name: up.place(line[-1][1]) for name, line in lines.items()})
    for name, line in lines.items():
        parts += _line(name, line, across, up, named_at=beside[name])
    return "\n".join([*parts, "</svg>", ""])


class _Axis:
    """Whole powers of ten around some values, on a logarithmic scale between two places."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self.low = math.floor(math.log10(min(values)))
        self.high = max(self.low + 1, math.ceil(math.log10(max(values))))
        self._start, self._end = start, end

    def place(self, value: float) -> float:
        """Where a value stands."""
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self._start + share * (self._end - self._start)

    def ticks(self) -> list[float]:
        """The powers of ten."""
        return [10.0**power for power in range(self.low, self.high + 1)]


def _grid(across: _Axis, up: _Axis) -> Iterator[str]:
    for value in across.ticks():
        x = across.place(value)
        yield f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#dddddd"/>'
        yield _text(x, HEIGHT - BOTTOM + 20, f"{value:,.0f}", anchor="middle")
    for value in up.ticks():
        y = up.place(value)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#dddddd"/>'
        yield _text(LEFT - 8, y + 4, f"{value:g}", anchor="end")


def _apart(places: dict[str, float]) -> dict[str, float]:
    """The places from the top down, each at least a line's height below the one before it."""
    found: dict[str, float] = {}
    least = -math.inf
    for name, place in sorted(places.items(), key=lambda pair: pair[1]):
        found[name] = max(place, least)
        least = found[name] + LINE_HEIGHT
    return found


def _line(name: str, line: Points, across: _Axis, up: _Axis, *, named_at: float) -> Iterator[str]:
    colour, dashes = LINES[name]
    places = [(across.place(x), up.place(y)) for x, y in line]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashed}/>'
    for x, y in places:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
    yield _text(places[-1][0] + 10, named_at + 4, f"{name}: {line[-1][1]:.0f} ms", colour=colour)


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", colour: str = "#222222", weight: str = "normal"
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" font-weight="{weight}">'
        f"{escape(text)}</text>"
    )


def main(arguments: Sequence[str]) -> None:
    """Draws the one file into the other."""
    source = Path(arguments[0]) if arguments else Path("var/growth.json")
    target = Path(arguments[1]) if len(arguments) > 1 else PICTURE
    target.write_text(drawn(series(json.loads(source.read_text(encoding="utf-8")))), encoding="utf-8")
    print(f"{source} drawn into {target}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
