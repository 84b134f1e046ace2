"""Charts are read by pointer, keyboard and without scripts; the tour is walked by keys and never comes again."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.e2e.browser import overflow
from tests.e2e.conftest import Visit
from tests.product import RunningProduct


def test_a_chart_has_a_name_values_to_point_at_and_a_table_behind_it(
    visit: Visit, runs: dict[str, int]
) -> None:
    page = visit("auditor").go("/trust/progress/?collection=demo")
    chart = page.get_by_role("img", name="Queue, day by day")
    expect(chart).to_be_visible()
    today = chart.locator(".plot__column").last
    assert "Entered" in (today.locator("title").text_content() or "")
    tooltip = (today.locator("title").text_content() or "").split("\n")[1:]
    table = page.get_by_role("region", name="Queue, day by day")
    expect(table).to_be_hidden()
    summary = page.locator(".plot__table > summary").first
    summary.focus()
    page.keyboard.press("Enter")
    expect(table).to_be_visible()
    expect(table.get_by_role("row").last.get_by_role("cell")).to_have_text(
        [w.split(": ")[1] for w in tooltip]
    )
    assert overflow(page) <= 0


def test_charts_are_drawn_without_scripts_in_a_narrow_dark_window(visit: Visit, runs: dict[str, int]) -> None:
    page = visit("auditor", narrow=True, scheme="dark", scripts=False).go("/trust/progress/?collection=demo")
    expect(page.get_by_role("img", name="Queue, day by day")).to_be_visible()
    box = page.locator(".plot__curve").first.bounding_box()
    assert box is not None
    assert 250 < box["width"] <= 390
    assert overflow(page) <= 0


def test_the_tour_is_walked_by_keys_and_never_comes_again(visit: Visit, product: RunningProduct) -> None:
    page = visit("reviewer2").go("/")
    page.get_by_role("link", name="Start tour").click()
    for number in range(1, 7):
        expect(page.get_by_text(f"Tour, step {number} of 7")).to_be_visible()
        page.keyboard.press("j")
    expect(page.get_by_text("Tour, step 7 of 7")).to_be_visible()
    page.keyboard.press("k")
    expect(page.get_by_role("heading", level=1, name="Signature and record")).to_be_visible()
    page.get_by_role("link", name="Next").click()
    page.get_by_role("button", name="End tour").click()
    expect(page.get_by_role("heading", name="Good day")).to_be_visible()
    expect(page.get_by_role("link", name="Start tour")).to_have_count(0)


def test_the_tour_is_skipped_without_scripts(visit: Visit) -> None:
    page = visit("annotator", scripts=False).go("/")
    page.get_by_role("link", name="Start tour").click()
    page.get_by_role("link", name="Next").click()
    page.get_by_role("button", name="Skip tour").click()
    expect(page.get_by_role("link", name="Start tour")).to_have_count(0)
