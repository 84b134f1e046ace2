"""What a person's everyday tasks take, counted: clicks, keys, fields. The figures stand in docs/experience.md."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from playwright.sync_api import Locator, Page, expect

from tests.e2e.browser import WORK, evidence_settled
from tests.e2e.conftest import QUESTIONS, Visit, ask
from tests.e2e.test_queue import CARDS, question_of
from tests.product import PASSWORD, RunningProduct, eventually


@dataclass
class Counted:
    """A person's hands: every click, every key, every field that is filled is one action."""

    page: Page
    actions: list[str] = field(default_factory=list)

    def click(self, target: Locator) -> None:
        """One click."""
        self.actions.append("click")
        target.click()

    def press(self, key: str) -> None:
        """One key, once the control it means is there."""
        expect(self.page.locator(f"[data-key={key}]").first).to_be_visible()
        self.actions.append(key)
        self.page.keyboard.press(key)

    def fill(self, target: Locator, text: str, *, send: bool = False) -> None:
        """One field, sent with Enter where ``send``."""
        self.actions.append("fill")
        target.fill(text)
        if send:
            target.press("Enter")

    def took(self, task: str, most: int) -> None:
        """Holds what was done against what it may take, and begins to count again."""
        print(f"\n{task}: {len(self.actions)} ({', '.join(self.actions)}), at most {most}")
        assert len(self.actions) <= most, task
        self.actions.clear()


def test_the_first_answer_after_the_login(visit: Visit, product: RunningProduct) -> None:
    page = visit("analyst").go("/")
    hands = Counted(page)
    hands.click(page.get_by_role("link", name="Ask", exact=True).first)
    page.get_by_label("Question").fill("Who may open the archive of contracts?")  # typing is no click
    hands.click(page.get_by_role("button", name="Ask", exact=True))
    expect(page.locator("section.answer")).to_be_visible(timeout=WORK)
    hands.took("first answer after the login, clicks", most=3)


def test_a_run_is_decided_ends_is_signed_and_becomes_a_report(
    visit: Visit, product: RunningProduct, runs: dict[str, int]
) -> None:
    """From the first of ten cards to the report in hand. After the last card the answer is written by itself."""
    run = question_of(product, runs["collection"])
    page = visit("reviewer").go(f"/queue/?run={run}")
    hands = Counted(page)
    hands.press("x")
    page.wait_for_url(re.compile(r"/queue/\d+/"))
    for _card in range(CARDS):
        here = page.url
        hands.press("a")
        page.wait_for_url(lambda url, here=here: url != here)
    hands.took("a run of ten cards, keys", most=12)
    waiting = "SELECT count(*) FROM review_queueitem WHERE run_id = %s AND is_required AND state = 'waiting'"
    assert product.rows(waiting, run)[0][0] == 0

    page.goto(f"{product.address}/runs/{run}/")
    expect(page.locator("#answer-writing")).to_have_count(0, timeout=WORK)
    expect(page.locator(".answer__waits")).to_have_count(0)
    expect(page.locator("a#run-sign.button--primary")).to_be_visible()
    hands.press("s")
    expect(page.get_by_label("Password")).to_be_visible(timeout=WORK)
    expect(page.get_by_label("Password")).to_be_focused()
    hands.fill(page.get_by_label("Password"), PASSWORD, send=True)
    expect(page.locator(".message").filter(has_text="Signed")).not_to_have_count(0)
    hands.click(page.get_by_role("button", name="Export"))
    report = page.get_by_role("link", name=f"run-{run}.pdf")
    expect(report).to_be_visible(timeout=WORK)
    with page.expect_download() as taken:
        hands.click(report)
    assert taken.value.path().read_bytes().startswith(b"%PDF")
    hands.took("the signed report of a decided run", most=4)
    _an_outsider_reads_it(visit, product, page, run)


def _an_outsider_reads_it(visit: Visit, product: RunningProduct, page: Page, run: int) -> None:
    """By a link that the reviewer makes, without an account, until it is revoked; the page runs nothing."""
    page.goto(f"{product.address}/runs/{run}/")
    page.get_by_role("link", name="Links for outsiders").click()
    page.get_by_label("Who gets it, and what for").fill("The regulator")
    page.get_by_role("button", name="Create link").click()
    address = page.locator(".token-key").inner_text()
    outside = visit(None, scripts=False).page
    state = "SELECT e.state FROM exports_reportlink l JOIN exports_export e ON e.id = l.export_id WHERE l.run_id = %s"
    eventually(lambda: product.rows(state, run)[0][0] == "ready", what="the report behind the link")
    outside.goto(address)
    expect(outside.get_by_text(QUESTIONS["collection"][0]).first).to_be_visible()
    page.get_by_role("button", name=re.compile("^Revoke ?: The regulator")).click()
    expect(page.get_by_text("Revoked", exact=False).first).to_be_visible()
    assert outside.request.get(address).status == 404


def test_a_missed_passage_is_found_and_added(visit: Visit, product: RunningProduct) -> None:
    run = ask(product, "Which rules does the policy set for visitors?", "information-security-policy.md")
    page = visit("reviewer").go(f"/runs/{run}/")
    evidence_settled(page)
    hands = Counted(page)
    hands.click(page.get_by_role("link", name=re.compile("Select the evidence|Add evidence")))
    expect(page.locator("form[data-line-picker=ready]")).to_be_visible()
    hands.fill(page.get_by_role("main").get_by_role("searchbox").first, "access", send=True)
    expect(page.locator("form[data-line-picker=ready]")).to_be_visible()
    hands.click(page.locator(".lines__text").nth(4))
    hands.fill(page.get_by_label("What these lines show"), "They name who is let in.")
    hands.click(page.get_by_role("button", name="Add as evidence"))
    expect(page.get_by_text("Evidence added by a person")).to_be_visible()
    hands.took("a missed passage found and added", most=6)


def test_a_not_found_is_confirmed(visit: Visit, product: RunningProduct) -> None:
    run = ask(product, "Which pasture suits alpacas?", "information-security-policy.md")
    page = visit("reviewer").go(f"/runs/{run}/")
    hands = Counted(page)
    hands.press("a")
    expect(page.get_by_role("heading", name=re.compile("Not found, confirmed by"))).to_be_visible()
    hands.took("a not-found confirmed, keys", most=1)
