"""The demo as `make run` leaves it: five people walk the navigation of a product with a month behind it, and no page
opens empty. Acting the month out takes minutes: the long tail. The gate has the tour, in test_charts_and_tour.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.browser import WIDE, Visitor, overflow
from tests.product import PASSWORD, RunningProduct, await_demo, eventually, running_product
from workbench.operations.demo.process import LAST_ACT

#: Rightly empty: a search before it is made, news that nobody sent, the desk of somebody who did all of it.
MAY_BE_EMPTY = ("/search/", "/notifications/", "/labeling/corrected/")
CHARTS = ("/trust/?collection=demo", "/trust/progress/?collection=demo-claims", "/costs/", "/models/drift/")

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def lived_in() -> Iterator[RunningProduct]:
    """A product whose worker has acted out the month."""
    with running_product({"WORKBENCH_USER_PASSWORD": PASSWORD, "WORKBENCH_DEMO_MONTH": "1"}) as running:
        await_demo(running)
        eventually(
            lambda: running.rows(
                "SELECT 1 FROM audit_event WHERE action = 'demo.acted' AND object_id = %s", LAST_ACT
            ),
            seconds=1800,
            what="the month is over",
        )
        yield running


@pytest.mark.parametrize("role", ["analyst", "reviewer", "annotator", "admin", "auditor"])
def test_no_page_of_the_navigation_opens_empty(lived_in: RunningProduct, browser: Browser, role: str) -> None:
    width, height = WIDE
    with browser.new_context(viewport={"width": width, "height": height}) as context:
        visitor = Visitor(context.new_page(), lived_in.address)
        home = visitor.log_in(role)
        expect(home.get_by_role("link", name="Start tour")).to_be_visible()
        links = home.locator("nav a[href^='/']").evaluate_all("all => all.map(a => a.getAttribute('href'))")
        pages = sorted({link for link in links if not link.startswith(MAY_BE_EMPTY)})
        assert len(pages) >= 4
        empty = [path for path in pages if visitor.go(path).locator("main .empty").count()]
        assert empty == []
        assert visitor.complaints == []


def test_every_chart_of_the_auditor_has_figures(lived_in: RunningProduct, browser: Browser) -> None:
    with browser.new_context() as context:
        visitor = Visitor(context.new_page(), lived_in.address)
        visitor.log_in("auditor")
        for path in CHARTS:
            page = visitor.go(path)
            expect(page.locator("main [role=img]").first).to_be_visible()
            assert page.locator("main .empty").count() == 0, path
            assert overflow(page) <= 0
        assert visitor.complaints == []
