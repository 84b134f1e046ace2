"""An admin gives documents a field of their own, on many at once, and has the trail verified, by the pages alone."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.e2e.browser import WORK
from tests.e2e.conftest import Visit


def test_an_admin_fills_a_field_of_two_documents_and_narrows_by_it(visit: Visit) -> None:
    visitor = visit("admin")
    page = visitor.go("/collections/demo/fields/")
    page.get_by_label("Name").fill("Owner")
    page.get_by_role("button", name="Add field").click()
    expect(page.get_by_role("rowheader", name="Owner")).to_be_visible()

    page = visitor.go("/collections/demo/")
    boxes = page.locator("#documents input[name=document]")
    boxes.nth(0).check()
    boxes.nth(1).check()
    page.get_by_text("Tags and fields of several documents").click()
    page.locator("#bulk").get_by_label("Owner").fill("Ann")
    page.get_by_role("button", name="Change", exact=True).click()
    expect(page.get_by_text("2 documents changed.")).to_be_visible()

    page = visitor.go("/collections/demo/?field=Owner: Ann")
    expect(page.locator("#documents > li")).to_have_count(2)
    page.locator("#documents a").first.click()
    page.get_by_text("About this document").click()
    expect(page.locator("ins", has_text="Owner: Ann")).to_be_visible()
    page = visitor.go("/search/?q=records&field=Owner: Ann")
    expect(page.get_by_label("Field", exact=True)).to_have_value("Owner: Ann")
    page = visitor.go("/ask/?collection=demo")
    expect(page.locator("option[value='Owner: Ann']")).to_have_count(1)

    page = visitor.go("/collections/demo/fields/")
    page.locator("summary", has_text="Remove").click()
    page.get_by_role("button", name="Remove Owner").click()
    expect(page.get_by_role("rowheader", name="Owner")).to_have_count(0)


def test_an_auditor_has_the_whole_trail_verified(visit: Visit) -> None:
    page = visit("auditor").go("/operations/maintenance/")
    trail = page.get_by_role("region", name="Verify the whole audit trail")
    expect(page.get_by_role("region", name="Compute missing vectors").locator("button")).to_have_count(0)
    trail.locator("button").click()
    expect(trail.get_by_text("The chain is whole")).to_be_visible(timeout=WORK)


def test_an_admin_sees_which_models_are_asked_and_whether_one_answers(visit: Visit) -> None:
    page = visit("admin").go("/operations/")
    page.get_by_role("link", name="Endpoints", exact=True).click()
    row = page.locator(".row").first
    expect(row.get_by_text("Last call:").or_(row.get_by_text("Not asked"))).to_be_visible()
    row.get_by_role("button", name="Test").click()
    expect(page.get_by_text("answered in")).to_be_visible(timeout=WORK)
    expect(page.locator(".row").first).to_contain_text("Last call: answered")
