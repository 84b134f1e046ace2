"""A not-found is shown with its proof and confirmed by a person."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.e2e.conftest import Visit, ask
from tests.product import RunningProduct


def test_a_reviewer_confirms_a_not_found(visit: Visit, product: RunningProduct) -> None:
    run = ask(product, "Which fertiliser suits tulips?", "information-security-policy.md")
    page = visit("reviewer").go(f"/runs/{run}/")
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    expect(page.get_by_text("Not found. Searched for")).to_be_visible()
    expect(page.locator(".term").filter(has_text="tulips")).to_contain_text("0")
    page.get_by_label("Where the answer stands").fill("Looked it up in the annex too.")
    page.get_by_role("button", name="Confirm: not there").click()
    expect(page.locator(".decision")).to_contain_text("Not found confirmed")
    expect(page.locator(".decision")).to_contain_text("Looked it up in the annex too.")
    visit("auditor").go("/audit/?action=not_found.")
    page = visit("auditor").go("/audit/?action=not_found.")
    expect(page.locator("li.event").first).to_contain_text("Not found confirmed")
