"""The reviewer's day in a browser: many cards by keyboard, taking back, lines the machine missed, signing."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser import current_card, evidence_settled, open_card
from tests.e2e.conftest import Visit, ask
from tests.product import PASSWORD, RunningProduct, eventually

#: Asked of the whole demo collection, so that there are many cards.
QUESTIONS = (
    "How long must client records be kept?",
    "Who approves access to client data?",
    "When must an incident be reported?",
    "What happens when an invoice is not paid in time?",
    "Which records must be encrypted?",
    "Who is responsible for training?",
    "When does the agreement end?",
    "Which reports go to the regulator?",
)
#: How many of them are asked, cards decided, and the fewest that will do; all of them with WORKBENCH_FULL_JOURNEYS=1.
ASKED, CARDS, FEWEST = (len(QUESTIONS), 100, 40) if os.environ.get("WORKBENCH_FULL_JOURNEYS") else (3, 25, 15)


@pytest.fixture(scope="module")
def busy(product: RunningProduct) -> list[int]:
    """Runs with many candidates between them."""
    return [ask(product, text, None) for text in QUESTIONS[:ASKED]]


class CountedKeys:
    """A keyboard that counts."""

    def __init__(self, page: Page) -> None:
        self.page, self.presses = page, 0

    def press(self, key: str) -> None:
        """One press."""
        self.presses += 1
        self.page.keyboard.press(key)


def decided_by(product: RunningProduct, role: str) -> int:
    query = (
        "SELECT count(*) FROM review_review r JOIN accounts_user u ON u.id = r.reviewer_id WHERE u.email = %s"
    )
    return int(product.rows(query, f"{role}@demo.example")[0][0])


def test_many_cards_by_keyboard(
    visit: Visit, product: RunningProduct, busy: list[int], record_property: Callable[[str, object], None]
) -> None:
    """On run pages: one press decides a card and opens the next. At most two presses for an approval."""
    page = visit("reviewer").page
    keys, before, decided, spent = CountedKeys(page), decided_by(product, "reviewer"), 0, 0.0
    for run in busy:
        page.goto(f"{product.address}/runs/{run}/")
        evidence_settled(page)
        cards = page.locator("[data-card-open]").count()
        started = time.monotonic()
        for place in range(cards):
            if decided == CARDS:
                break
            if place == 0:
                keys.press("j")
                if not current_card(page).locator("[data-key=a]").count():
                    break  # the first card cannot be approved; the next run has others
            here = current_card(page).get_attribute("id")
            can_approve = current_card(page).locator("[data-key=a]").count() > 0
            keys.press("a" if can_approve else "u")
            expect(page.locator(f"#{here} .decision")).to_be_attached()
            decided += 1
        spent += time.monotonic() - started
    done = decided_by(product, "reviewer") - before
    assert done == decided >= FEWEST, f"only {done} cards"
    assert keys.presses <= 2 * decided
    per_minute = 60 * decided / spent
    record_property("decisions_per_minute", round(per_minute, 1))
    record_property("keys_per_decision", round(keys.presses / decided, 2))
    print(f"\n{decided} decisions, {keys.presses / decided:.2f} keys each, {per_minute:.0f} a minute")


def test_one_key_takes_a_decision_back(visit: Visit, product: RunningProduct) -> None:
    run = ask(product, "Who keeps the register of visitors?", None)
    page = visit("reviewer").go(f"/runs/{run}/")
    evidence_settled(page)
    card = open_card(page)
    card.locator("[data-key=a]").click()
    expect(card.locator(".decision")).to_contain_text("Approved by")
    page.keyboard.press("z")
    expect(card.locator(".decision")).to_have_count(0)
    expect(card.locator("[data-key=a]")).to_be_enabled()
    actions = product.rows("SELECT action FROM review_review WHERE run_id = %s ORDER BY id", run)
    assert [action for (action,) in actions] == ["approve", "undo"]


def test_lines_are_chosen_by_clicking_and_the_answer_is_written_anew(
    visit: Visit, product: RunningProduct
) -> None:
    run = ask(product, "What does the policy say about the moon?", "information-security-policy.md")
    page = visit("reviewer").go(f"/runs/{run}/")
    page.get_by_role("link", name=re.compile("Select the evidence|Add evidence")).click()
    expect(page.locator("form[data-line-picker=ready]")).to_be_visible()
    lines = page.locator(".lines__item")
    lines.nth(4).locator(".lines__text").click()
    lines.nth(6).locator(".lines__text").click()
    expect(page.locator(".lines__item.is-chosen")).to_have_count(3)
    page.get_by_label("What these lines show").fill("The moon, by another name.")
    page.get_by_role("button", name="Add as evidence").click()
    expect(page.get_by_text("Evidence added by a person")).to_be_visible()
    now = page.get_by_role("button", name="Write now")
    if now.count():  # while something else waits, a person asks for it; else it is written by itself
        now.click()
    eventually(
        lambda: product.rows("SELECT 1 FROM questions_answer WHERE run_id = %s AND version = 2", run),
        seconds=240,
        what="a second version of the answer",
    )
    # In another window: this one may be fetching the new answer itself just now.
    page = visit("reviewer").go(f"/runs/{run}/")
    expect(page.get_by_text("The answer before, version 1")).to_be_visible()


def test_a_decided_run_is_signed_by_keys(visit: Visit, product: RunningProduct) -> None:
    run = ask(product, "Which fertiliser suits tulips?", "information-security-policy.md")
    page = visit("reviewer").go(f"/runs/{run}/")
    page.keyboard.press("a")
    expect(page.locator(".answer .decision")).to_be_visible()
    sign = page.get_by_role("link", name="Sign", exact=True)
    expect(sign.locator("kbd")).to_have_text("s")
    expect(sign).to_have_attribute("aria-keyshortcuts", "s")
    page.keyboard.press("s")
    expect(page.get_by_role("heading", name="Sign this run")).to_be_visible()
    expect(page.get_by_label("Password")).to_be_focused()
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.locator(".message").filter(has_text="Signed")).not_to_have_count(0)
    assert product.rows("SELECT count(*) FROM review_signature WHERE run_id = %s", run)[0][0] == 1


@pytest.mark.parametrize(
    "scripts", [pytest.param(True, marks=pytest.mark.long), False], ids=["with-scripts", "without"]
)
def test_a_run_is_decided_signed_and_reopened(visit: Visit, product: RunningProduct, scripts: bool) -> None:
    run = ask(product, f"Within how many days is notice given? ({scripts})", None)
    page = visit("reviewer", scripts=scripts).go(f"/runs/{run}/sign/")
    expect(page.get_by_text("must be decided first")).to_be_visible()
    while product.rows(
        "SELECT 1 FROM review_queueitem WHERE run_id = %s AND is_required AND state = 'waiting'", run
    ):
        page.goto(f"{product.address}/runs/{run}/sign/")
        page.locator("section[aria-labelledby=act-title] li a").first.click()
        card = page.locator(f"#{page.url.split('#')[1]}")
        before = product.rows("SELECT count(*) FROM review_review WHERE run_id = %s", run)
        approve = card.get_by_role("button", name=re.compile("^Approve"))
        if approve.count():
            approve.click()
        else:
            card.locator("summary").filter(has_text="Override").click()
            card.locator(".override__form input[value=discarded]").check()
            card.get_by_label("Because").select_option("wrong_passage")
            card.get_by_role("button", name="Record override").click()
        eventually(
            lambda seen=before: (
                product.rows("SELECT count(*) FROM review_review WHERE run_id = %s", run) != seen
            ),
            seconds=240,
            what="the decision is recorded",
        )
    eventually(
        lambda: (
            not product.rows("SELECT 1 FROM review_regeneration WHERE run_id = %s AND state = 'waiting'", run)
        ),
        seconds=240,
        what="the answer is written from the decisions",
    )
    page.goto(f"{product.address}/runs/{run}/sign/")
    page.get_by_label("My signature means").select_option("approved")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign", exact=True).click()
    expect(page.locator(".message").filter(has_text="I approve this result")).to_be_visible()
    assert page.locator("[data-card-open]").count() == 0
    page.get_by_role("link", name="Signature", exact=True).click()
    expect(page.get_by_text("The hash matches")).to_be_visible()
    page.get_by_label("Reason").fill("One more page came.")
    page.get_by_role("button", name="Reopen the run").click()
    expect(page.get_by_role("link", name="Sign", exact=True)).to_be_visible()
