"""``python -m tests.bench.year_plot [JSON] [FOLDER]``: draws the simulated year, for light and for dark pages.

Reads what the measurement ``year`` wrote (``var/year.json``) and writes ``docs/img/loop-year-light.svg`` and ``-dark``:
above, F1 of what serves on questions that nobody reviewed; below, the gain of each month's challenger on gold with its
interval, and what the gate decided.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path("docs/img")
WIDTH, HEIGHT = 790, 470
LEFT, RIGHT = 64, 620
#: Top and bottom of the two panels.
ABOVE, BELOW = (56, 220), (286, 430)


class Theme(NamedTuple):
    """Colours of a picture."""

    paper: str
    ink: str
    rule: str
    serves: str
    rules: str
    gain: str


THEMES = {
    "light": Theme("#ffffff", "#222222", "#dddddd", "#1f5f8b", "#8a3b12", "#33691e"),
    "dark": Theme("#16191d", "#e6e6e6", "#3a3f45", "#7cc0ee", "#f0a47c", "#a5d67c"),
}
Row = dict[str, Any]


class _Axis:
    """Values between two places of the picture."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self._low, self._span, self._start, self._end = low, high - low or 1.0, start, end

    def place(self, value: float) -> float:
        """Where a value stands."""
        return self._start + (value - self._low) / self._span * (self._end - self._start)


def drawn(report: Row, theme: Theme) -> str:
    """The picture as SVG."""
    months: list[Row] = report["months"]
    across = _Axis(0.5, len(months) + 0.5, LEFT, RIGHT)
    title = "A simulated year of the learning loop"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
            ' font-family="system-ui, sans-serif" font-size="13">',
            f"<title>{title}: F1 of what serves, and the gain of each month's challenger</title>",
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{theme.paper}"/>',
            _text(LEFT, 28, "F1 of what serves, on questions that nobody reviewed", theme, weight="bold"),
            *_served(report, across, theme),
            _text(LEFT, 266, "Gain of the challenger on gold, with its 95 % interval", theme, weight="bold"),
            *_gains(months, across, theme),
            *(
                _text(across.place(row["month"]), HEIGHT - 22, str(row["month"]), theme, anchor="middle")
                for row in months
            ),
            _text(RIGHT + 20, HEIGHT - 22, "month", theme),
            "</svg>",
            "",
        ]
    )


def _served(report: Row, across: _Axis, theme: Theme) -> Iterator[str]:
    months: list[Row] = report["months"]
    values = [report["rules_f1"], *(row["serves_f1"] for row in months)]
    low, high = int(min(values) * 20) / 20, (int(max(values) * 20) + 1) / 20
    up = _Axis(low, high, ABOVE[1], ABOVE[0])
    yield from _lines((low, (low + high) / 2, high), up, theme, "{:.2f}")
    bar = up.place(report["rules_f1"])
    yield (
        f'<line x1="{LEFT}" y1="{bar:.1f}" x2="{RIGHT}" y2="{bar:.1f}" stroke="{theme.rules}" stroke-width="2"'
        ' stroke-dasharray="6 4"/>'
    )
    points = [(across.place(row["month"]), up.place(row["serves_f1"])) for row in months]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    yield f'<polyline points="{path}" fill="none" stroke="{theme.serves}" stroke-width="2"/>'
    for (x, y), row in zip(points, months, strict=True):
        if row["outcome"] == "deployed":
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{theme.serves}"/>'
            yield _text(x, y - 10, row["serves"], theme, anchor="middle", colour=theme.serves)
    end = points[-1][1]
    apart = 16 if abs(end - bar) < 16 else 0
    yield _text(
        RIGHT + 8, end + 4 - (apart if end <= bar else -apart), "what serves", theme, colour=theme.serves
    )
    yield _text(RIGHT + 8, bar + 4, "the rules", theme, colour=theme.rules)


def _gains(months: Sequence[Row], across: _Axis, theme: Theme) -> Iterator[str]:
    known = [row for row in months if row["low"] is not None]
    low = min([0.0, *(row["low"] for row in known)]) - 0.02
    high = max([0.0, *(row["high"] for row in known)]) + 0.02
    up = _Axis(low, high, BELOW[1], BELOW[0])
    yield from _lines((low, 0.0, high), up, theme, "{:+.2f}")
    for row in months:
        x = across.place(row["month"])
        if row["low"] is None:
            yield _text(x, up.place(0.0) - 6, "×", theme, anchor="middle")
            continue
        gain = row["challenger_f1"] - row["champion_f1"]
        yield (
            f'<line x1="{x:.1f}" y1="{up.place(row["low"]):.1f}" x2="{x:.1f}" y2="{up.place(row["high"]):.1f}"'
            f' stroke="{theme.gain}" stroke-width="2"/>'
        )
        fill = theme.gain if row["outcome"] == "deployed" else theme.paper
        yield (
            f'<circle cx="{x:.1f}" cy="{up.place(gain):.1f}" r="5" fill="{fill}" stroke="{theme.gain}"'
            ' stroke-width="2"/>'
        )
    for place, words in enumerate(("● deployed", "○ kept or refused", "× not compared")):
        yield _text(RIGHT + 8, BELOW[0] + 20 + 20 * place, words, theme)


def _lines(values: Sequence[float], up: _Axis, theme: Theme, form: str) -> Iterator[str]:
    for value in values:
        y = up.place(value)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}" stroke="{theme.rule}"/>'
        yield _text(LEFT - 8, y + 4, form.format(value), theme, anchor="end")


def _text(
    x: float,
    y: float,
    text: str,
    theme: Theme,
    *,
    anchor: str = "start",
    colour: str = "",
    weight: str = "normal",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour or theme.ink}"'
        f' font-weight="{weight}">{escape(text)}</text>'
    )


def main(arguments: Sequence[str]) -> None:
    """Draws the one file into the folder."""
    source = Path(arguments[0]) if arguments else Path("var/year.json")
    folder = Path(arguments[1]) if len(arguments) > 1 else FOLDER
    report = json.loads(source.read_text(encoding="utf-8"))
    for name, theme in THEMES.items():
        target = folder / f"loop-year-{name}.svg"
        target.write_text(drawn(report, theme), encoding="utf-8")
        print(f"{source} drawn into {target}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
