"""Plots drawn on the server as SVG shapes; colours come from the style sheet, the numbers stand beside them as a table.

Coordinates are in a fixed view box and carry no style, so that the content security policy needs no exception and the
picture follows the theme.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from django.utils.formats import number_format


@dataclass(frozen=True, slots=True)
class Bar:
    """A horizontal bar with its interval, in per cent of the scale."""

    label: str
    value: float
    low: float | None
    high: float | None
    y: int
    x: float
    width: float
    low_x: float | None
    high_x: float | None


@dataclass(frozen=True, slots=True)
class BarPlot:
    """Bars one below another. ``ticks`` are (x, label) of the scale; ``digits`` stand behind the point of a figure."""

    title: str
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]
    height: int
    description: str
    digits: int = 3


ROW = 28
_LEFT, _WIDTH = 0.0, 100.0


def bar_plot(
    *,
    title: str,
    figures: Sequence[tuple[str, float, float | None, float | None]],
    top: float | None = None,
    digits: int = 3,
) -> BarPlot:
    """A bar per (label, value, low, high); the scale runs from 0 to ``top`` (default: the largest figure)."""
    largest = max((max(value, high or 0.0) for _, value, _, high in figures), default=1.0)
    scale = top or largest or 1.0

    def place(value: float) -> float:
        return round(_LEFT + _WIDTH * min(max(value / scale, 0.0), 1.0), 3)

    bars = tuple(
        Bar(
            label=label,
            value=value,
            low=low,
            high=high,
            y=index * ROW,
            x=_LEFT,
            width=place(value),
            low_x=place(low) if low is not None else None,
            high_x=place(high) if high is not None else None,
        )
        for index, (label, value, low, high) in enumerate(figures)
    )
    ticks = tuple((place(scale * step / 4), f"{scale * step / 4:.{digits - 1}f}") for step in range(5))
    words = "; ".join(f"{bar.label} {bar.value:.{digits}f}" for bar in bars)
    return BarPlot(
        title, bars, ticks, height=max(1, len(bars)) * ROW, description=f"{title}: {words}", digits=digits
    )


@dataclass(frozen=True, slots=True)
class LinePlot:
    """One line over equally spaced points: ``points`` is the attribute of an SVG polyline."""

    title: str
    points: str
    dots: tuple[tuple[float, float, str], ...]
    ticks: tuple[tuple[float, str], ...]
    description: str


HEIGHT = 60.0


def line_plot(
    *, title: str, values: Sequence[tuple[str, float]], bottom: float = 0.0, top: float = 1.0
) -> LinePlot:
    """A line through (label, value), between ``bottom`` and ``top``, in a box of 100 x 60."""
    span = (top - bottom) or 1.0
    step = 100.0 / max(1, len(values) - 1)
    dots = tuple(
        (
            round(index * step, 2),
            round(HEIGHT - HEIGHT * min(max((value - bottom) / span, 0.0), 1.0), 2),
            f"{label}: {_spoken(value, 3)}",
        )
        for index, (label, value) in enumerate(values)
    )
    ticks = tuple(
        (round(HEIGHT - HEIGHT * part / 4, 2), _spoken(bottom + span * part / 4, 2)) for part in range(5)
    )
    return LinePlot(
        title=title,
        points=" ".join(f"{x},{y}" for x, y, _ in dots),
        dots=dots,
        ticks=ticks,
        description=f"{title}: " + "; ".join(text for _, _, text in dots),
    )


@dataclass(frozen=True, slots=True)
class CurvePlot:
    """A curve through points of the unit square, drawn in a box of 100 x 60; ``diagonal`` says that the line from
    corner to corner, where prediction and truth agree, belongs to it."""

    title: str
    points: str
    dots: tuple[tuple[float, float, str], ...]
    x_label: str
    y_label: str
    diagonal: bool
    description: str


def curve_plot(
    *,
    title: str,
    points: Sequence[tuple[float, float]],
    x_label: str,
    y_label: str,
    diagonal: bool = False,
    dots: bool = True,
) -> CurvePlot:
    """A curve through (x, y), both in [0, 1]; what lies outside is drawn on the edge."""
    placed = tuple(
        (
            round(100 * min(max(x, 0.0), 1.0), 2),
            round(HEIGHT - HEIGHT * min(max(y, 0.0), 1.0), 2),
            f"{x_label} {_spoken(x, 2)}, {y_label} {_spoken(y, 2)}",
        )
        for x, y in points
    )
    told = placed[:: max(1, len(placed) // 10)]
    return CurvePlot(
        title=title,
        points=" ".join(f"{x},{y}" for x, y, _ in placed),
        dots=placed if dots else (),
        x_label=x_label,
        y_label=y_label,
        diagonal=diagonal,
        description=f"{title}: " + "; ".join(text for _, _, text in told),
    )


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A square of a heat map: its upper left corner, how strong its colour is (0 to 1), and its number."""

    x: int
    y: int
    strength: float
    text: str


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Squares in rows and columns. ``rows`` and ``columns`` are (place, label); labels are cut to fit, the description
    holds them whole."""

    title: str
    cells: tuple[HeatCell, ...]
    rows: tuple[tuple[int, str], ...]
    columns: tuple[tuple[int, str], ...]
    width: int
    height: int
    description: str


CELL_WIDTH, CELL_HEIGHT, GUTTER = 76, 34, 116
_LONGEST_LABEL, _LONGEST_TITLE = 14, 11
#: The darkest square still lets its number be read.
_STRONGEST = 0.4


def heat_map(
    *,
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[float | None]],
    top: float = 1.0,
    digits: int = 2,
) -> HeatMap:
    """A square for each value, the stronger the nearer to ``top``; 0 and less have no colour, None has no square."""
    squares = tuple(
        HeatCell(
            x=GUTTER + column * CELL_WIDTH,
            y=CELL_HEIGHT + row * CELL_HEIGHT,
            strength=round(_STRONGEST * min(max(value / (top or 1.0), 0.0), 1.0), 3),
            text=f"{value:.{digits}f}",
        )
        for row, line in enumerate(cells)
        for column, value in enumerate(line)
        if value is not None
    )
    words = "; ".join(
        f"{rows[row]}, {columns[column]}: {value:.{digits}f}"
        for row, line in enumerate(cells)
        for column, value in enumerate(line)
        if value is not None
    )
    return HeatMap(
        title=title,
        cells=squares,
        rows=tuple(
            (CELL_HEIGHT + index * CELL_HEIGHT + CELL_HEIGHT // 2, _cut(label, _LONGEST_LABEL))
            for index, label in enumerate(rows)
        ),
        columns=tuple(
            (GUTTER + index * CELL_WIDTH + CELL_WIDTH // 2, _cut(label, _LONGEST_TITLE))
            for index, label in enumerate(columns)
        ),
        width=GUTTER + CELL_WIDTH * len(columns),
        height=CELL_HEIGHT * (len(rows) + 1),
        description=f"{title}: {words}",
    )


def _cut(label: str, longest: int) -> str:
    return label if len(label) <= longest else f"{label[: longest - 1]}…"


def _spoken(value: float, digits: int) -> str:
    """A number for people, with the decimal mark of their language; rounded here, as Django's own only cuts."""
    return number_format(f"{value:.{digits}f}")


#: What a point of a plot of effects is: the one in use, the one proposed, or any other.
Mark = Literal["", "current", "chosen"]


@dataclass(frozen=True, slots=True)
class EffectPlot:
    """What choices cost (to the right) and what they lose (upwards), in a box of 400 x 220 with ticks on both axes.

    ``dots`` are (x, y, mark, words); ``bounds`` the points of a second line, ``limit`` the height of a level one."""

    title: str
    x_label: str
    y_label: str
    points: str
    bounds: str
    dots: tuple[tuple[float, float, Mark, str], ...]
    limit: float
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    description: str


EFFECT_WIDTH, EFFECT_HEIGHT = 400, 220


def effect_plot(
    *,
    title: str,
    x_label: str,
    y_label: str,
    points: Sequence[tuple[float, float, Mark]],
    bounds: Sequence[tuple[float, float]],
    limit: float,
) -> EffectPlot:
    """A line through (x, y) with a dot each, one through ``bounds``, and a level line at ``limit``; both axes begin
    at 0."""
    x_ticks = round_ticks(max((x for x, _, _ in points), default=1.0))
    highest = max([limit, *(y for _, y, _ in points), *(y for _, y in bounds)])
    y_ticks = round_ticks(highest)

    def across(x: float) -> float:
        return round(EFFECT_WIDTH * x / x_ticks[-1], 1)

    def up(y: float) -> float:
        return round(EFFECT_HEIGHT * (1 - y / y_ticks[-1]), 1)

    dots = tuple(
        (across(x), up(y), mark, f"{x_label} {_spoken(x, 1)}, {y_label} {_spoken(y, 1)}")
        for x, y, mark in points
    )
    return EffectPlot(
        title=title,
        x_label=x_label,
        y_label=y_label,
        points=" ".join(f"{x},{y}" for x, y, _, _ in dots),
        bounds=" ".join(f"{across(x)},{up(y)}" for x, y in bounds),
        dots=dots,
        limit=up(limit),
        x_ticks=tuple((across(tick), _short_number(tick)) for tick in x_ticks),
        y_ticks=tuple((up(tick), _short_number(tick)) for tick in y_ticks),
        description=f"{title}: " + "; ".join(words for _, _, _, words in dots),
    )


def round_ticks(top: float) -> tuple[float, ...]:
    """Four to eight round numbers from 0 to one that is not below ``top``."""
    top = top if top > 1e-6 else 1.0
    raw = top / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if raw <= power * factor * (1 + 1e-9))
    return tuple(round(step * place, 10) for place in range(math.ceil(top / step - 1e-9) + 1))


def _short_number(value: float) -> str:
    return number_format(f"{value:g}")
