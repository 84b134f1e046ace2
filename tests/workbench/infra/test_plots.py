"""Plots stay inside their box, and say in words what they show."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.infra.plots import (
    EFFECT_HEIGHT,
    EFFECT_WIDTH,
    HEIGHT,
    bar_plot,
    effect_plot,
    line_plot,
    round_ticks,
)

FIGURES = st.lists(
    st.tuples(st.text(min_size=1, max_size=8), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)),
    min_size=1,
    max_size=6,
)


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


@given(st.lists(st.tuples(st.text(max_size=4), st.floats(-1, 2)), min_size=1, max_size=10))
def test_lines_stay_in_the_box(values: list[tuple[str, float]]) -> None:
    plot = line_plot(title="F1", values=values)
    assert len(plot.dots) == len(values)
    assert all(0 <= x <= 100 and 0 <= y <= HEIGHT for x, y, _ in plot.dots)


def test_higher_is_up() -> None:
    plot = line_plot(title="F1", values=[("v1", 0.0), ("v2", 1.0)])
    assert plot.points == "0.0,60.0 100.0,0.0"


@given(st.lists(st.tuples(st.floats(0, 300), st.floats(0, 100)), min_size=1, max_size=12), st.floats(1, 50))
def test_effects_stay_in_the_box_under_round_ticks(points: list[tuple[float, float]], limit: float) -> None:
    plot = effect_plot(
        title="Effect",
        x_label="cards",
        y_label="%",
        points=[(x, y, "") for x, y in points],
        bounds=points,
        limit=limit,
    )
    assert all(0 <= x <= EFFECT_WIDTH and 0 <= y <= EFFECT_HEIGHT for x, y, _, _ in plot.dots)
    assert 0 <= plot.limit <= EFFECT_HEIGHT
    for ticks in (plot.x_ticks, plot.y_ticks):
        assert 2 <= len(ticks) <= 9


def test_ticks_are_round_and_reach_the_largest() -> None:
    assert round_ticks(17.0) == (0, 5, 10, 15, 20)
    assert round_ticks(0.9)[-1] == 1.0
    assert round_ticks(0)[0] == 0
