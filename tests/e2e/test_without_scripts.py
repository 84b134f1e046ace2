"""Reading and deciding without JavaScript: login, upload, ask, read, approve, override."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.e2e.browser import open_card, other_role
from tests.e2e.conftest import Visit, ask
from tests.product import RunningProduct, eventually


def test_login_upload_and_ask(visit: Visit, product: RunningProduct, tmp_path: Path) -> None:
    note = tmp_path / "parking-rules.md"
    note.write_text(
        "# Parking rules\n\nVisitors park on level two for at most four hours.\n", encoding="utf-8"
    )
    visitor = visit(None, scripts=False)
    page = visitor.log_in("analyst")
    page.get_by_role("link", name="Collections").click()
    page.get_by_role("link", name="Demo").click()
    page.locator("#upload-files").set_input_files(note)
    page.get_by_role("button", name="Upload").click()
    eventually(
        lambda: product.rows(
            "SELECT 1 FROM documents_document WHERE name = %s AND status = 'ready'", note.name
        ),
        seconds=300,
        what="the note is ready",
    )
    page.reload()
    page.get_by_role("link", name="Parking rules").click()
    expect(page.locator(".lines")).to_contain_text("Visitors park on level two")
    page.get_by_role("link", name="Ask this document").click()
    page.get_by_label("Question").fill("For how long may visitors park?")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("heading", name="For how long may visitors park?")).to_be_visible()
    run = page.url
    number = int(re.findall(r"/runs/(\d+)/", run)[0])
    eventually(
        lambda: product.rows("SELECT 1 FROM questions_run WHERE id = %s AND status = 'done'", number),
        seconds=300,
        what="the run is done",
    )
    page.goto(run)
    # Whether the answer is written or waits for a person is the model's business; the passage stands on the page.
    expect(page.locator("main")).to_contain_text("four hours")


def test_read_approve_and_override(visit: Visit, product: RunningProduct) -> None:
    run = ask(product, "How long must recordings of telephone calls be kept?", None)
    page = visit("reviewer", scripts=False).go(f"/runs/{run}/")
    assert page.locator("[data-needs-js]:visible").count() == 0

    card = open_card(page)
    card.get_by_role("button", name="Approve").click()
    expect(page.locator(".decision").first).to_contain_text("Approved by Rui Tavares")

    card = open_card(page)
    assert not card.locator(".override__form").is_visible()
    card.locator("summary").filter(has_text="Override").click()
    card.locator(f".override__form input[value={other_role(card)}]").check()
    card.get_by_label("Because").select_option("policy_exception")
    card.get_by_label("Comment").fill("Kept by the policy.")
    card.get_by_role("button", name="Record override").click()
    expect(page.locator(".decision").filter(has_text="Kept by the policy.")).to_be_attached()

    page.locator("[data-card]").get_by_role("link", name="Evidence").first.click()
    expect(page.locator(".lines__item--anchor").first).to_be_visible()
    page.get_by_role("link", name="Back to the card").click()
    expect(page).to_have_url(re.compile(rf"/runs/{run}/\?card=c-.*#c-"))


def test_a_link_to_a_card_that_the_page_leaves_for_later(visit: Visit, runs: dict[str, int]) -> None:
    run = f"/runs/{runs['collection']}/"
    page = visit("auditor", scripts=False).go(run)
    early = page.locator("[data-card]").evaluate_all("all => all.map((card) => card.id)")
    page.get_by_role("link", name=re.compile("Show the other")).first.click()
    late = page.locator("[data-card]").evaluate_all("all => all.map((card) => card.id)")
    wanted = next(name for name in late if name not in early)
    page.locator(f"#{wanted} summary").first.click()
    page.locator(f"#{wanted}").get_by_role("link", name="Evidence").click()
    page.get_by_role("link", name="Back to the card").click()
    expect(page).to_have_url(re.compile(re.escape(f"{run}?card={wanted}#{wanted}")))
    expect(page.locator(f"#{wanted}")).to_be_in_viewport()
    assert page.locator("[data-card]").count() == len(early) + 1


def test_the_queue(visit: Visit, runs: dict[str, int]) -> None:
    page = visit("reviewer", scripts=False).go("/queue/")
    page.get_by_role("button", name="Start next").click()
    here = page.url
    page.get_by_role("button", name=re.compile("^(Approve|Confirm)")).click()
    expect(page.locator(".message--success")).to_be_visible()
    assert page.url != here
