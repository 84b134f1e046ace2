"""Plots drawn on the server as SVG shapes: bars of names, heat maps, and charts over two axes.

Coordinates are in a fixed view box and carry no style, so that the content security policy needs no exception and the
picture follows the theme. A value is read by pointing at it (``<title>``), in a table, which stands beside the plot or
behind it, and by its accessible name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from .figures import percent


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
    """Bars one below another. ``ticks`` are (x, label) of the scale; ``digits`` stand behind the point of a figure;
    shares are told in per cent."""

    title: str
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]
    height: int
    description: str
    digits: int = 3
    is_share: bool = False


ROW = 28
_LEFT, _WIDTH = 0.0, 100.0


def bar_plot(
    *,
    title: str,
    figures: Sequence[tuple[str, float, float | None, float | None]],
    top: float | None = None,
    digits: int = 3,
    is_share: bool = False,
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
    steps = [scale * step / 4 for step in range(5)]
    ticks = tuple((place(at), f"{at:.0%}" if is_share else f"{at:.{digits - 1}f}") for at in steps)
    words = "; ".join(
        f"{bar.label} {percent(bar.value)}" if is_share else f"{bar.label} {bar.value:.{digits}f}"
        for bar in bars
    )
    return BarPlot(
        title=title,
        bars=bars,
        ticks=ticks,
        height=max(1, len(bars)) * ROW,
        description=f"{title}: {words}",
        digits=digits,
        is_share=is_share,
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
    known = [
        (row, column, value)
        for row, line in enumerate(cells)
        for column, value in enumerate(line)
        if value is not None
    ]
    squares = tuple(
        HeatCell(
            x=GUTTER + column * CELL_WIDTH,
            y=CELL_HEIGHT + row * CELL_HEIGHT,
            strength=round(_STRONGEST * min(max(value / (top or 1.0), 0.0), 1.0), 3),
            text=f"{value:.{digits}f}",
        )
        for row, column, value in known
    )
    words = "; ".join(f"{rows[row]}, {columns[column]}: {value:.{digits}f}" for row, column, value in known)
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


# --- lines, bars and dots over two axes ---------------------------------------------------------------

WIDTH, HEIGHT = 440, 200
#: As many names as fit below the axis of periods.
_MOST_LABELS = 6
#: As many places as the style sheet tells apart.
LOOKS = 5

#: What a dot is beside others: the one in use, the one chosen, or any.
Mark = Literal["", "current", "chosen"]
Kind = Literal["line", "bars", "dots"]


@dataclass(frozen=True, slots=True)
class Series:
    """Values under one name. ``values`` are (x, y), and with ``labels`` of the chart x is the place of a label; y None
    is a gap. ``band`` is (low, high) of each value. ``is_edge`` is a second line that only bounds the first."""

    label: str
    values: Sequence[tuple[float, float | None]]
    kind: Kind = "line"
    band: Sequence[tuple[float, float] | None] = ()
    marks: Sequence[Mark] = ()
    is_edge: bool = False


def over(
    label: str,
    values: Sequence[float | None],
    kind: Kind = "line",
    *,
    band: Sequence[tuple[float, float] | None] = (),
    marks: Sequence[Mark] = (),
) -> Series:
    """A series of one value a label."""
    placed = [(float(place), value) for place, value in enumerate(values)]
    return Series(label, placed, kind, band=band, marks=marks)


@dataclass(frozen=True, slots=True)
class Dot:
    """A value that can be pointed at."""

    x: float
    y: float
    mark: Mark
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """A bar, or the column of a label that can be pointed at."""

    x: float
    y: float
    width: float
    height: float
    text: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """A series in the box: ``lines`` and ``bands`` are the points of SVG polylines and polygons, one between gaps."""

    label: str
    kind: Kind
    look: str
    lines: tuple[str, ...]
    bands: tuple[str, ...]
    dots: tuple[Dot, ...]
    bars: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart in a box of ``WIDTH`` x ``HEIGHT``, its ticks as (place, words), and its figures as a table."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Drawn, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    columns: tuple[Block, ...]
    limit: float | None
    limit_label: str
    has_diagonal: bool
    description: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def has_key(self) -> bool:
        """Whether the lines need their names beside them."""
        return len(self.series) > 1 or self.limit is not None


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where a value lies, and how it is said."""

    right: float
    top: float
    slots: int
    unit: str
    digits: int

    def across(self, x: float) -> float:
        if self.slots:
            return round(WIDTH * (x + 0.5) / self.slots, 1)
        return round(WIDTH * min(max(x / self.right, 0.0), 1.0), 1)

    def up(self, y: float) -> float:
        return round(HEIGHT * (1 - min(max(y / self.top, 0.0), 1.0)), 1)

    def said(self, value: float | None) -> str:
        return "–" if value is None else f"{number_format(f'{value:.{self.digits}f}')}{self.unit}"


def chart(
    *,
    title: str,
    y_label: str,
    series: Sequence[Series],
    x_label: str = "",
    labels: Sequence[str] = (),
    tick_labels: Sequence[str] = (),
    unit: str = "",
    digits: int = 1,
    top: float | None = None,
    right: float | None = None,
    limit: float | None = None,
    limit_label: str = "",
    has_diagonal: bool = False,
) -> Chart:
    """The series over ``labels``, or over figures where there are none. Bars stand on one another. Both axes begin at
    0; ``top`` and ``right`` end them, else the largest value does. ``unit`` follows each value, such as " %";
    ``tick_labels`` are shorter labels for the axis."""
    heights = [y for one in series for y in _reach(one)] + _stacks(series) + ([limit] if limit else [])
    y_ticks = round_ticks(top or max(heights, default=1.0))
    x_ticks = round_ticks(right or max((x for one in series for x, _y in one.values), default=1.0))
    frame = _Frame(right or x_ticks[-1], top or y_ticks[-1], len(labels), unit, digits)
    low: dict[float, float] = {}
    drawn = tuple(_drawn(one, place, frame, low, labels) for place, one in enumerate(series))
    header, rows = _table(series, labels, x_label, frame)
    return Chart(
        title=title,
        x_label=x_label,
        y_label=y_label,
        series=drawn,
        x_ticks=_label_ticks(tick_labels or labels, frame)
        if labels
        else tuple((frame.across(tick), short_number(tick)) for tick in x_ticks if tick <= frame.right),
        y_ticks=tuple(
            (frame.up(tick), f"{short_number(tick)}{unit}") for tick in y_ticks if tick <= frame.top
        ),
        columns=_columns(header, rows, frame) if labels else (),
        limit=None if limit is None else frame.up(limit),
        limit_label=limit_label,
        has_diagonal=has_diagonal,
        description="; ".join(
            [title, *(_inshort_number(one, labels, frame) for one in series if not one.is_edge)]
        ),
        header=header,
        rows=rows,
    )


def _reach(series: Series) -> list[float]:
    return [y for _x, y in series.values if y is not None] + [high for _l, high in filter(None, series.band)]


def _stacks(series: Sequence[Series]) -> list[float]:
    sums: dict[float, float] = {}
    for one in series:
        if one.kind == "bars":
            for x, y in one.values:
                sums[x] = sums.get(x, 0.0) + (y or 0.0)
    return list(sums.values())


def _drawn(
    series: Series, place: int, frame: _Frame, low: dict[float, float], labels: Sequence[str]
) -> Drawn:
    look = "edge" if series.is_edge else str(place % LOOKS)
    if series.kind == "bars":
        return Drawn(series.label, "bars", look, (), (), (), _bars(series, frame, low))
    runs = _runs(series)
    lines = [
        " ".join(f"{frame.across(series.values[i][0])},{frame.up(series.values[i][1] or 0.0)}" for i in run)
        for run in runs
        if len(run) > 1 and series.kind == "line"
    ]
    bands = [_band(series, run, frame) for run in runs if series.band and len(run) > 1]
    marks = series.marks or [""] * len(series.values)
    dots = [
        Dot(frame.across(x), frame.up(y), mark, f"{_named(x, labels, frame)}: {series.label} {frame.said(y)}")
        for (x, y), mark in zip(series.values, marks, strict=True)
        if y is not None and not series.is_edge
    ]
    return Drawn(series.label, series.kind, look, tuple(lines), tuple(bands), tuple(dots), ())


def _bars(series: Series, frame: _Frame, low: dict[float, float]) -> tuple[Block, ...]:
    """On those that the chart has already; ``low`` is where each column ends so far."""
    width = round(0.7 * WIDTH / max(1, frame.slots), 2)
    blocks = []
    for x, y in series.values:
        below = low.get(x, 0.0)
        low[x] = below + (y or 0.0)
        if y:
            height = round(frame.up(below) - frame.up(low[x]), 2)
            left = round(frame.across(x) - width / 2, 2)
            blocks.append(Block(left, frame.up(low[x]), width, height, f"{series.label} {frame.said(y)}"))
    return tuple(blocks)


def _runs(series: Series) -> list[list[int]]:
    """The places of values between gaps."""
    runs: list[list[int]] = [[]]
    for place, (_x, y) in enumerate(series.values):
        if y is None:
            runs.append([])
        else:
            runs[-1].append(place)
    return [run for run in runs if run]


def _band(series: Series, run: list[int], frame: _Frame) -> str:
    edges = [(series.values[i][0], series.band[i] or (series.values[i][1] or 0.0,) * 2) for i in run]
    highs = [f"{frame.across(x)},{frame.up(band[1])}" for x, band in edges]
    lows = [f"{frame.across(x)},{frame.up(band[0])}" for x, band in reversed(edges)]
    return " ".join(highs + lows)


def _label_ticks(labels: Sequence[str], frame: _Frame) -> tuple[tuple[float, str], ...]:
    step = -(-len(labels) // _MOST_LABELS)
    return tuple((frame.across(place), labels[place]) for place in range(0, len(labels), step))


def _columns(header: Sequence[str], rows: Sequence[Sequence[str]], frame: _Frame) -> tuple[Block, ...]:
    width = WIDTH / frame.slots
    return tuple(
        Block(
            round(place * width, 2),
            0,
            round(width, 2),
            HEIGHT,
            "\n".join([row[0], *(f"{name}: {cell}" for name, cell in zip(header[1:], row[1:], strict=True))]),
        )
        for place, row in enumerate(rows)
    )


def _table(
    series: Sequence[Series], labels: Sequence[str], x_label: str, frame: _Frame
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """A row for each x, in its order."""
    places = sorted({x for one in series for x, _y in one.values}) if not labels else range(len(labels))
    cells = [{x: _cell(one, place, frame) for place, (x, _y) in enumerate(one.values)} for one in series]
    rows = tuple((_named(x, labels, frame), *(column.get(x, "–") for column in cells)) for x in places)
    return (x_label, *(one.label for one in series)), rows


def _cell(series: Series, place: int, frame: _Frame) -> str:
    band = series.band[place] if series.band else None
    said = frame.said(series.values[place][1])
    return said if band is None else f"{said} ({frame.said(band[0])} – {frame.said(band[1])})"


def _named(x: float, labels: Sequence[str], frame: _Frame) -> str:
    return labels[int(x)] if labels else number_format(f"{x:.{max(1, frame.digits)}f}")


def _inshort_number(series: Series, labels: Sequence[str], frame: _Frame) -> str:
    """Where a series begins, ends and goes to, for those who hear it; every value is in the table."""
    known = [(x, y) for x, y in series.values if y is not None]
    if not known:
        return _("%(series)s: no figures") % {"series": series.label}
    (first, begins), (last, ends) = known[0], known[-1]
    heights = [y for _x, y in known]
    return _(
        "%(series)s: %(first)s %(begins)s, %(last)s %(ends)s, lowest %(lowest)s, highest %(highest)s"
    ) % {
        "series": series.label,
        "first": _named(first, labels, frame),
        "begins": frame.said(begins),
        "last": _named(last, labels, frame),
        "ends": frame.said(ends),
        "lowest": frame.said(min(heights)),
        "highest": frame.said(max(heights)),
    }


def round_ticks(top: float) -> tuple[float, ...]:
    """Four to eight round numbers from 0 to one that is not below ``top``."""
    top = top if top > 1e-6 else 1.0
    raw = top / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if raw <= power * factor * (1 + 1e-9))
    return tuple(round(step * place, 10) for place in range(math.ceil(top / step - 1e-9) + 1))


def short_number(value: float) -> str:
    return number_format(f"{value:g}")
