"""Plots stay inside their box, and say in words what they show."""

from __future__ import annotations

from django.template.loader import render_to_string
from hypothesis import given
from hypothesis import strategies as st

from workbench.infra.plots import HEIGHT, WIDTH, Series, bar_plot, chart, over, round_ticks

FIGURES = st.lists(
    st.tuples(st.text(min_size=1, max_size=8), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)),
    min_size=1,
    max_size=6,
)
VALUES = st.lists(st.none() | st.floats(0, 1e6), min_size=1, max_size=40)


@given(FIGURES)
def test_bars_stay_on_the_scale(figures: list[tuple[str, float, float, float]]) -> None:
    plot = bar_plot(title="MRR", figures=figures, top=1.0)
    assert [bar.label for bar in plot.bars] == [label for label, *_ in figures]
    for bar in plot.bars:
        assert 0 <= bar.width <= 100
        assert 0 <= (bar.low_x or 0) <= 100
        assert f"{bar.value:.3f}" in plot.description


def test_a_longer_bar_is_a_larger_figure() -> None:
    plot = bar_plot(title="MRR", figures=[("a", 0.2, None, None), ("b", 0.4, None, None)])
    assert plot.bars[1].width == 2 * plot.bars[0].width == 100
    assert plot.ticks[-1][1] == "0.40"


@given(VALUES)
def test_lines_and_bars_over_periods_stay_in_the_box_under_round_ticks(values: list[float | None]) -> None:
    labels = [f"day {place}" for place in range(len(values))]
    series = [over("a", values), over("b", values, "bars"), over("c", values, "bars")]
    plot = chart(title="Queue", y_label="cards", labels=labels, series=series)
    line, *stacked = plot.series
    assert len(line.dots) == sum(value is not None for value in values)
    assert all(0 <= dot.x <= WIDTH and 0 <= dot.y <= HEIGHT for dot in line.dots)
    for bar in [block for one in stacked for block in one.bars]:
        assert 0 <= bar.x <= bar.x + bar.width <= WIDTH + 0.1
        assert -0.1 <= bar.y <= bar.y + bar.height <= HEIGHT + 0.1
    assert 2 <= len(plot.y_ticks) <= 9
    assert 1 <= len(plot.x_ticks) <= 6
    assert [row[0] for row in plot.rows] == [column.text.split("\n")[0] for column in plot.columns] == labels


@given(st.lists(st.tuples(st.floats(0, 300), st.floats(0, 100)), min_size=1, max_size=12), st.floats(1, 50))
def test_figures_over_figures_stay_in_the_box(points: list[tuple[float, float]], limit: float) -> None:
    series = [Series("lost", points), Series("bound", points, is_edge=True)]
    plot = chart(title="Effect", x_label="cards", y_label="%", series=series, limit=limit)
    assert all(0 <= dot.x <= WIDTH and 0 <= dot.y <= HEIGHT for one in plot.series for dot in one.dots)
    assert 0 <= (plot.limit or 0) <= HEIGHT
    for ticks in (plot.x_ticks, plot.y_ticks):
        assert 2 <= len(ticks) <= 9


def test_higher_is_up_and_a_gap_parts_the_line() -> None:
    plot = chart(
        title="Rate",
        y_label="%",
        x_label="Week",
        labels=["2 Nov", "9 Nov", "16 Nov", "23 Nov", "30 Nov"],
        series=[over("Rate", [0.0, 100.0, None, 50.0, 50.0], band=[(0, 20), (80, 100), None, None, None])],
        unit=" %",
        top=100,
    )
    (drawn,) = plot.series
    assert drawn.lines == ("44.0,200.0 132.0,0.0", "308.0,100.0 396.0,100.0")
    assert plot.rows[1] == ("9 Nov", "100.0 % (80.0 % – 100.0 %)")
    assert plot.rows[2] == ("16 Nov", "–")
    assert plot.description == ("Rate; Rate: 2 Nov 0.0 %, 30 Nov 50.0 %, lowest 0.0 %, highest 100.0 %")
    assert not plot.has_key


def test_bars_stand_on_one_another() -> None:
    series = [over("a", [1.0], "bars"), over("b", [3.0], "bars")]
    plot = chart(title="Cost", y_label="USD", labels=["1 Nov"], series=series)
    (low,), (high,) = (one.bars for one in plot.series)
    assert low.y + low.height == HEIGHT
    assert abs(high.y + high.height - low.y) < 0.2
    assert plot.has_key


def test_the_chart_on_a_page_has_a_name_values_to_point_at_and_a_table_and_no_style() -> None:
    plot = chart(
        title="<Rate>", y_label="%", x_label="Week", labels=["2 Nov"], series=[over("A&B", [12.5])], unit=" %"
    )
    page = render_to_string("partials/_chart.html", {"plot": plot})
    assert 'role="img" aria-label="&lt;Rate&gt;; A&amp;B: 2 Nov 12.5 %' in page
    assert "<title>2 Nov\nA&amp;B: 12.5 %</title>" in page
    assert '<th scope="row">2 Nov</th><td class="num">12.5 %</td>' in page
    assert "style=" not in page
    assert "<script" not in page
    assert "Show as table" not in render_to_string("partials/_chart.html", {"plot": plot, "has_table": True})


def test_ticks_are_round_and_reach_the_largest() -> None:
    assert round_ticks(17.0) == (0, 5, 10, 15, 20)
    assert round_ticks(0.9)[-1] == 1.0
    assert round_ticks(0)[0] == 0
