"""Asking, as an analyst does it: the field, the scope, a suggestion."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.e2e.browser import WORK, overflow, violations
from tests.e2e.conftest import Visit
from tests.product import RunningProduct


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


def test_documents_are_found_and_asked_together(visit: Visit, product: RunningProduct) -> None:
    page = visit("analyst").go("/ask/?collection=demo")
    page.get_by_label("Question").fill("Within how many days must the Client pay an undisputed invoice?")
    page.locator(".ask__narrow > summary").click()
    listed, summary = page.locator("#ask-documents li"), page.locator(".ask__narrow > summary")
    expect(summary).to_contain_text("All documents")
    find = page.get_by_label("Find documents by title")
    find.fill("amendment")
    expect(listed).to_have_count(1)
    listed.get_by_role("checkbox").check()
    expect(summary).to_contain_text("Amendment No. 1")
    find.fill("regulation")
    expect(listed).to_have_count(2)  # what was chosen stays
    listed.get_by_role("checkbox", checked=False).check()
    expect(summary).to_contain_text("2 documents")
    assert overflow(page) == 0
    assert violations(page) == ""
    expect(page.locator("#ask-suggestions a").first).to_be_visible()
    page.get_by_role("button", name="Ask", exact=True).click()
    page.wait_for_url("**/runs/*/")
    number = int(re.findall(r"/runs/(\d+)/", page.url)[0])
    asked = (
        "SELECT jsonb_array_length(q.filters->'documents') FROM questions_run r"
        " JOIN questions_question q ON q.id = r.question_id WHERE r.id = %s"
    )
    assert product.rows(asked, number)[0][0] == 2


def test_documents_are_found_without_scripts(visit: Visit) -> None:
    page = visit("analyst", scripts=False).go("/ask/?collection=demo")
    page.get_by_label("Question").fill("How long are recordings kept?")
    page.locator(".ask__narrow > summary").click()
    page.get_by_role("checkbox").first.check()
    page.get_by_label("Find documents by title").fill("regulation")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.get_by_label("Question")).to_have_value("How long are recordings kept?")
    assert "csrf" not in page.url
    expect(page.locator("#ask-documents input:checked")).to_have_count(1)
    expect(page.locator("#ask-documents")).to_contain_text("Regulation on the Keeping")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("heading", name="How long are recordings kept?")).to_be_visible()


def test_a_follow_up_is_linked_both_ways(visit: Visit, runs: dict[str, int]) -> None:
    page = visit("analyst").go(f"/runs/{runs['collection']}/")
    asked = page.get_by_role("heading", level=1).inner_text()
    page.get_by_text("Ask a follow-up", exact=True).click()
    page.get_by_label("Follow-up").fill("Who approves an exception to it?")
    assert overflow(page) == 0
    assert violations(page) == ""
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("heading", name="Who approves an exception to it?")).to_be_visible()
    page.get_by_role("link", name=asked).click()
    expect(page.get_by_role("link", name="Who approves an exception to it?")).to_be_visible()
