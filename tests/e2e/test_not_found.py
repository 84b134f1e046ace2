"""A not-found is shown with its proof and confirmed by a person."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.e2e.conftest import Visit, ask
from tests.product import RunningProduct


def test_a_reviewer_confirms_a_not_found(visit: Visit, product: RunningProduct) -> None:
    run = ask(product, "Which fertiliser suits tulips?", "information-security-policy.md")
    visitor = visit("reviewer")
    page = visitor.go(f"/runs/{run}/")
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    expect(page.get_by_text("no_keyword_match")).to_have_count(0)
    expect(page.locator(".term").filter(has_text="tulips")).to_contain_text("0")
    page.keyboard.press("o")
    expect(page.get_by_text("Select the lines that answer")).to_be_visible()
    page = visitor.go(f"/runs/{run}/")
    page.keyboard.press("a")
    expect(page.locator(".decision")).to_contain_text("Not found confirmed")
    page.keyboard.press("z")
    page.get_by_label("Where the answer is").fill("Looked it up in the annex too.")
    page.get_by_role("button", name="Confirm: not found").click()
    expect(page.locator(".decision")).to_contain_text("Not found confirmed")
    expect(page.locator(".decision")).to_contain_text("Looked it up in the annex too.")
    visit("auditor").go("/audit/?action=not_found.")
    page = visit("auditor").go("/audit/?action=not_found.")
    expect(page.locator("li.event").first).to_contain_text("Not found confirmed")
