"""An admin states the risk that a collection accepts, has the bar computed from a blind decision, applies it, and goes
back, by the pages alone."""

from __future__ import annotations

from contextlib import closing

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import WORK, overflow
from tests.e2e.conftest import Visit
from tests.product import RunningProduct, eventually

NAME = "Cash"
POLICY = "Cash policy\n\nCash above 500 euros needs two signatures.\n\nReceipts are kept for seven years.\n"
QUESTION = "How many signatures does cash above 500 euros need?"


@pytest.fixture(scope="module")
def page_of_risk(product: RunningProduct) -> str:
    """The page of a collection whose one question was decided blind."""
    with closing(product.client("admin")) as admin:
        path = admin.post("/collections/", data={"name": NAME}).url.path
        slug = path.split("/")[2]
        upload = {"files": ("cash.txt", POLICY.encode(), "text/plain")}
        assert admin.post(f"{path}upload/", files=upload).status_code == 200
        person = {"email": "reviewer@demo.example", "role": "reviewer"}
        assert admin.post(f"/api/v1/collections/{slug}/people/", json=person).is_success
        admin.post(f"{path}review/", data={"blind_share": "1", "second_share": "0"})
        ready = (
            "SELECT 1 FROM documents_document d JOIN documents_collection c ON c.id = d.collection_id"
            " WHERE c.slug = %s AND d.status = 'ready'"
        )
        eventually(lambda: product.rows(ready, slug), seconds=300, what="the document is ready")
        body = {"collection": slug, "text": QUESTION, "strategy": "offline"}
        assert admin.post("/api/v1/questions/", json=body).is_success
    cards = (
        "SELECT i.candidate_id FROM review_queueitem i JOIN questions_run r ON r.id = i.run_id"
        " JOIN questions_question q ON q.id = r.question_id"
        " WHERE q.text = %s AND r.status = 'done' AND i.is_blind ORDER BY i.candidate_id"
    )
    eventually(lambda: product.rows(cards, QUESTION), seconds=300, what="the cards wait")
    with closing(product.client("reviewer")) as reviewer:
        for (card,) in product.rows(cards, QUESTION):
            decided = reviewer.post(f"/api/v1/candidates/{card}/choose/", json={"role": "primary"})
            assert decided.is_success, decided.text
    return f"{path}settings/risk/"


def test_an_admin_states_a_risk_and_applies_the_bar_that_keeps_it(visit: Visit, page_of_risk: str) -> None:
    page = visit("admin").go(page_of_risk)
    discarding = page.get_by_role("region", name="Discarding", exact=True)
    expect(discarding).to_contain_text("The shipped default is in use")

    discarding.get_by_label("Questions that may lose their evidence unseen, %").fill("5")
    discarding.get_by_role("button", name="Compute").click()
    expect(discarding).to_contain_text("18 more questions must be decided blind", timeout=WORK)
    expect(discarding.get_by_role("button", name="Apply")).to_have_count(0)

    discarding.get_by_label("Questions that may lose their evidence unseen, %").fill("50")
    discarding.get_by_role("button", name="Compute").click()
    expect(discarding.get_by_role("heading", name="At most 50 %")).to_be_visible(timeout=WORK)
    expect(discarding.locator("figure.plot")).to_be_visible()
    expect(discarding.locator("table tbody tr")).not_to_have_count(0)
    discarding.get_by_label("Reason").fill("The board accepts it.")
    discarding.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("In use from the next question on.")).to_be_visible()
    expect(discarding).to_contain_text("It keeps the promise of at most 50 %, based on 1 decided question")

    discarding.get_by_text("Go back to the shipped default").click()
    discarding.get_by_label("Reason").fill("Too much.")
    discarding.get_by_role("button", name="Go back").click()
    expect(discarding).to_contain_text("The shipped default is in use")


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_curve_fits_the_window(visit: Visit, page_of_risk: str, narrow: bool, scheme: str) -> None:
    page = visit("admin", narrow=narrow, scheme=scheme).go(page_of_risk)
    expect(page.locator("figure.plot").first).to_be_visible()
    assert overflow(page) <= 0
