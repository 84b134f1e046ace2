"""Asking, as an analyst does it: the field, the scope, a suggestion."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.e2e.browser import WORK, overflow, violations
from tests.e2e.conftest import Visit


def test_a_suggestion_fills_the_question_and_its_document_answers(visit: Visit) -> None:
    page = visit("analyst").go("/ask/?collection=demo")
    expect(page.get_by_label("Strategy")).to_be_hidden()
    suggestion = page.locator(".ask__suggestions a").first
    heading = suggestion.inner_text()
    suggestion.click()
    expect(page.get_by_label("Question")).to_have_value(re.compile(re.escape(heading)))
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("section.answer")).to_be_visible(timeout=WORK)
    page.goto(page.url.split("/runs/")[0] + "/ask/")
    expect(page.get_by_role("link", name=re.compile(re.escape(heading))).first).to_be_visible()
    assert overflow(page) == 0
    assert violations(page) == ""


def test_only_the_settings_of_the_chosen_strategy_are_shown(visit: Visit) -> None:
    page = visit("analyst").go("/ask/?strategy=pointwise")
    expect(page.get_by_label("Strategy")).to_have_value("pointwise")
    expect(page.get_by_text("Settings of pointwise")).to_be_visible()
    expect(page.get_by_text("Settings of consensus")).to_be_hidden()
