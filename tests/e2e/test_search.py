"""An analyst searches the documents: from the bar to the place in the document, and on to a question."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import overflow, violations
from tests.e2e.conftest import Visit


def test_from_a_key_to_the_line_and_to_a_question(visit: Visit) -> None:
    page = visit("analyst").go("/")
    page.keyboard.press("g")
    page.keyboard.press("f")
    page.wait_for_url("**/search/")
    page.keyboard.press("/")  # into the field
    page.keyboard.type("access records")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search/?q=access+records*")
    first = page.locator(".found__hit").first
    expect(first.locator("mark").first).to_be_visible()
    assert re.search(r"page \d+, line", first.inner_text())
    assert not violations(page)

    shared = page.url
    first.get_by_role("heading").get_by_role("link").click()
    page.wait_for_url(re.compile(r"/documents/\d+/\?page=\d+#p\d+-l\d+$"))
    expect(page.locator(f"[id='{page.url.partition('#')[2]}']")).to_be_visible()

    page.goto(shared)
    page.locator(".found__hit").first.get_by_role("link", name="Ask about this").click()
    page.wait_for_url("**/ask/?*")
    expect(page.get_by_label("Question")).to_have_value("access records")
    expect(page.get_by_label("Collection", exact=True)).to_have_value("demo")
    expect(page.locator("[name=document]:checked")).to_have_count(1)


@pytest.mark.parametrize("narrow", [False, True])
def test_nothing_found_leads_on(visit: Visit, narrow: bool) -> None:
    page = visit("analyst", narrow=narrow).go("/search/?q=records+xylophone&collection=demo")
    expect(page.get_by_text("These documents do not contain: xylophone.")).to_be_visible()
    assert not violations(page)
    assert overflow(page) <= 0
    page.get_by_role("link", name="Search for any word").click()
    expect(page.locator(".found__hit").first).to_be_visible()
    assert overflow(page) <= 0


def test_without_scripts_and_with_a_mistake(visit: Visit) -> None:
    visitor = visit("analyst", scripts=False)
    page = visitor.go("/search/")
    page.get_by_label("Words").fill("***")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".message--error")).to_contain_text("Type a word or a number to search for.")
    visitor.expect_refusal(400)
    page.get_by_label("Words").fill("records")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".found__hit").first).to_be_visible()
