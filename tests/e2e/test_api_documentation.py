"""The page of the API: every address can be opened, read and tried, as oneself."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from .conftest import Visit


def test_an_analyst_reads_an_address_and_tries_it(visit: Visit) -> None:
    visitor = visit("analyst")
    page = visitor.go("/tokens/")
    page.get_by_role("link", name="API reference").click()
    expect(page.get_by_role("heading", name="API", exact=True)).to_be_visible()
    address = page.locator("#operations-collections-collections_list")
    page.locator("#operations-tag-collections").click()
    address.locator(".opblock-summary-control").click()
    address.get_by_role("button", name="Try it out").click()
    address.get_by_role("button", name="Execute").click()
    status = address.locator(".live-responses-table tbody .response-col_status")
    expect(status).to_have_text(re.compile("^200"))
    expect(address.locator(".live-responses-table")).to_contain_text("demo")
