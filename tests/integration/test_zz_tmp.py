from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.e2e.browser import ARGUMENTS, CHROMIUM
from tests.product import PASSWORD

pytestmark = pytest.mark.integration
OUT = Path("/tmp/doors")


def test_shots(product):
    key = product.rows("SELECT id FROM documents_document ORDER BY id LIMIT 1")[0][0]
    with sync_playwright() as p:
        b = p.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for name, w, h, scheme in (("wide", 1440, 900, "light"), ("narrow", 390, 844, "dark")):
            c = b.new_context(viewport={"width": w, "height": h}, color_scheme=scheme)
            page = c.new_page()
            page.set_default_timeout(120000)
            page.goto(product.address + "/accounts/login/")
            page.fill("input[name=login]", "admin@demo.example")
            page.fill("input[name=password]", PASSWORD)
            page.click("form button[type=submit], form button.button--primary")
            page.wait_for_url(lambda u: "login" not in u)
            page.goto(f"{product.address}/documents/{key}/")
            page.locator("details", has_text="estrict").last.locator("summary").click()
            page.wait_for_timeout(500)
            page.locator("details", has_text="estrict").last.scroll_into_view_if_needed()
            page.screenshot(path=str(OUT / f"doc-{name}.png"))
            if name == "wide":
                page.check("input[name=is_restricted]")
                page.locator("input[name=readers]").first.check()
                page.fill("#id_restriction_reason", "An investigation.")
                page.locator("details", has_text="estrict").last.locator("button").click()
                page.wait_for_load_state()
                page.screenshot(path=str(OUT / "doc-saved.png"))
                page.goto(product.address + "/collections/demo/")
                page.screenshot(path=str(OUT / "list.png"))
        b.close()
