"""The queue by question, as a reviewer works it: by keys, card after card, a whole question at once."""

from __future__ import annotations

import re

import psycopg
import pytest
from playwright.sync_api import Page, expect

from tests.bulk import copy_runs
from tests.e2e.browser import evidence_settled, overflow, violations
from tests.e2e.conftest import Visit
from tests.product import RunningProduct

CARDS = 10


def question_of(product: RunningProduct, run: int, *, cards: int = CARDS) -> int:
    """A copy of a finished run of which so many cards wait, each with a role that can be approved."""
    with psycopg.connect(product.database_url(), autocommit=True) as connection:
        (copy,) = copy_runs(connection, source=run, copies=1)
        connection.execute(
            "UPDATE review_queueitem i SET is_blind = false, needs_second = false, is_required = n.place <= %s,"
            " state = CASE WHEN n.place <= %s THEN 'waiting' ELSE 'withdrawn' END FROM ("
            " SELECT q.id, row_number() OVER (ORDER BY v.role IS NULL, q.id) AS place FROM review_queueitem q"
            " JOIN questions_verdict v ON v.candidate_id = q.candidate_id WHERE q.run_id = %s) n WHERE n.id = i.id",
            [cards, cards, copy],
        )
    waiting = "SELECT count(*) FROM review_queueitem WHERE run_id = %s AND state = 'waiting'"
    assert product.rows(waiting, copy)[0][0] == cards
    return int(copy)


class Keys:
    """A person without a mouse, whose keys are counted."""

    def __init__(self, page: Page) -> None:
        self.page, self.pressed = page, 0

    def press(self, key: str) -> None:
        """One key, once the control it means is there."""
        expect(self.page.locator(f"[data-key='{key}']").first).to_be_visible()
        self.page.keyboard.press(key)
        self.pressed += 1


def decided(product: RunningProduct, run: int) -> int:
    return int(product.rows("SELECT count(*) FROM review_review WHERE run_id = %s", run)[0][0])


def test_ten_cards_take_at_most_twelve_keys(
    visit: Visit, product: RunningProduct, runs: dict[str, int]
) -> None:
    run = question_of(product, runs["collection"])
    page = visit("reviewer").go(f"/queue/?run={run}")
    keys = Keys(page)
    keys.press("x")
    page.wait_for_url(re.compile(r"/queue/\d+/"))
    for number in range(CARDS):
        expect(page.get_by_text(f"{number} of {CARDS} decided, then the answer is final")).to_be_visible()
        evidence_settled(page)
        here = page.url
        keys.press("a")
        page.wait_for_url(lambda url, here=here: url != here)
    expect(page.get_by_text("Nothing waits for you here.")).to_be_visible()
    assert keys.pressed <= 12
    assert decided(product, run) == CARDS


def test_the_next_card_takes_the_focus_and_undo_leads_back(
    visit: Visit, product: RunningProduct, runs: dict[str, int]
) -> None:
    run = question_of(product, runs["collection"], cards=3)
    page = visit("reviewer").go(f"/queue/?run={run}")
    keys = Keys(page)
    keys.press("x")
    page.wait_for_url(re.compile(r"/queue/\d+/"))
    evidence_settled(page)
    first = page.url
    page.evaluate("window.stayed = true")
    keys.press("a")
    page.wait_for_url(lambda url: url != first)
    expect(page.locator("[data-card]")).to_be_focused()
    expect(page.locator("#announcer")).to_contain_text("Approved")
    expect(page.locator("[data-countdown]")).to_contain_text(":")
    assert page.evaluate("window.stayed"), "no new page"
    assert page.locator("main h1").count() == 1
    evidence_settled(page)

    keys.press("z")
    page.wait_for_url(first)
    expect(page.get_by_text("Reserved until")).to_be_visible()
    expect(page.get_by_text("0 of 3 decided, then the answer is final")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Release all")).click()
    expect(page.get_by_role("heading", name="Queue", exact=True)).to_be_visible()


def test_a_second_key_in_haste_decides_nothing_twice(
    visit: Visit, product: RunningProduct, runs: dict[str, int]
) -> None:
    run = question_of(product, runs["collection"], cards=3)
    page = visit("reviewer").go(f"/queue/?run={run}")
    page.keyboard.press("x")
    page.wait_for_url(re.compile(r"/queue/\d+/"))
    evidence_settled(page)
    first = page.url
    page.route(re.compile(r"/queue/\d+/"), lambda route: (page.wait_for_timeout(1500), route.continue_()))
    with page.expect_response(re.compile("/approve/")):
        page.keyboard.press("a")
    page.wait_for_timeout(300)
    page.keyboard.press("a")
    page.wait_for_url(lambda url: url != first)
    assert decided(product, run) == 1


def test_a_not_found_is_confirmed_with_one_key(
    visit: Visit, product: RunningProduct, runs: dict[str, int]
) -> None:
    with psycopg.connect(product.database_url(), autocommit=True) as connection:
        (run,) = copy_runs(connection, source=runs["not_found"], copies=1)
        connection.execute("UPDATE review_queueitem SET state = 'withdrawn' WHERE run_id = %s", [run])
        (item,) = connection.execute(
            "INSERT INTO review_queueitem (collection_id, run_id, is_required, state, stage, is_blind,"
            " needs_second, priority, why) SELECT collection_id, id, true, 'waiting', 'first', false, false, 1,"
            " '[\"not_found\"]' FROM questions_run WHERE id = %s RETURNING id",
            [run],
        ).fetchone() or (None,)
    page = visit("reviewer").go(f"/queue/{item}/?run={run}")
    keys = Keys(page)
    keys.press("a")
    page.wait_for_url(lambda url: f"/queue/{item}/" not in url)
    assert keys.pressed == 1
    assert product.rows("SELECT action FROM review_review WHERE run_id = %s", run) == [("confirm_not_found",)]


def test_a_blind_card_is_decided_by_the_key_of_a_role(
    visit: Visit, product: RunningProduct, runs: dict[str, int]
) -> None:
    """Role and record are one key: no reason is asked of who has not seen the machine's role."""
    run = question_of(product, runs["pdf"], cards=1)  # none is left to the tests that follow
    with psycopg.connect(product.database_url(), autocommit=True) as connection:
        connection.execute("UPDATE review_queueitem SET is_blind = true WHERE run_id = %s", [run])
    page = visit("reviewer2").go(f"/queue/?run={run}")
    keys = Keys(page)
    keys.press("x")
    page.wait_for_url(re.compile(r"/queue/\d+/"))
    here = page.url
    keys.press("4")
    page.wait_for_url(lambda url: url != here)
    assert keys.pressed == 2
    assert product.rows("SELECT role FROM review_review WHERE run_id = %s", run) == [("discarded",)]


def test_a_whole_question_is_taken_and_given_back(
    visit: Visit, product: RunningProduct, runs: dict[str, int]
) -> None:
    run = question_of(product, runs["pdf"], cards=3)
    held = "SELECT count(*) FROM review_queueitem WHERE run_id = %s AND claimed_by_id IS NOT NULL"
    page = visit("reviewer").go(f"/queue/?run={run}")
    page.get_by_role("button", name=re.compile("^Take all")).click()
    expect(page.get_by_text("3 cards are yours.")).to_be_visible()
    assert product.rows(held, run)[0][0] == 3
    page.goto(page.url.partition("/queue/")[0] + f"/queue/?run={run}")
    page.get_by_role("button", name=re.compile("^Release")).click()
    expect(page.get_by_text("3 cards released.")).to_be_visible()
    assert product.rows(held, run)[0][0] == 0


def test_the_list_is_sorted_by_the_keyboard_and_keeps_its_place_in_the_address(
    visit: Visit, runs: dict[str, int]
) -> None:
    page = visit("reviewer").go("/queue/?show=all")
    page.get_by_label("Sort by").select_option("age")
    page.wait_for_url(re.compile("order=age"))
    page.reload()
    expect(page.get_by_text(re.compile("oldest first"))).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("narrow", [False, True])
def test_it_reads_well_everywhere(visit: Visit, runs: dict[str, int], scheme: str, narrow: bool) -> None:
    page = visit("reviewer", scheme=scheme, narrow=narrow).go("/queue/?show=all")
    expect(page.locator(".group").first).to_be_visible()
    assert overflow(page) <= 0
    assert violations(page) == ""


def test_many_are_approved_after_some_were_checked(
    visit: Visit, product: RunningProduct, runs: dict[str, int]
) -> None:
    run = question_of(product, runs["collection"], cards=8)
    with psycopg.connect(product.database_url(), autocommit=True) as connection:
        connection.execute(
            "UPDATE questions_verdict SET probability = 0.02, needs_person = false, injection_suspected = false"
            " WHERE candidate_id IN (SELECT id FROM questions_candidate WHERE run_id = %s)",
            [run],
        )
    page = visit("reviewer").go(f"/queue/?run={run}")
    page.get_by_role("link", name="Bulk approve").click()
    boxes = page.get_by_role("checkbox")
    expect(boxes).to_have_count(8)
    assert violations(page) == ""
    assert overflow(page) <= 0
    boxes.first.uncheck()
    page.get_by_label("Reason").fill("The same clause in every contract.")
    page.get_by_role("button", name="Start check").click()
    expect(page.get_by_text("Decide 1 card first.")).to_be_visible()
    assert violations(page) == ""
    keys = Keys(page)
    keys.press("x")
    page.wait_for_url(re.compile(r"\?bulk="))
    evidence_settled(page)
    keys.press("a")
    expect(page.get_by_text("You approved every card of the check.")).to_be_visible()
    assert decided(product, run) == 1
    keys.press("x")
    expect(page.get_by_text("6 approved.")).to_be_visible()
    assert decided(product, run) == 7
    page = visit("auditor").go("/audit/?action=queue.bulk_approved")
    expect(page.locator("li.event").first).to_contain_text("The same clause in every contract.")
