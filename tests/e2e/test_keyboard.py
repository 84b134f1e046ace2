"""A reviewer's day without a mouse."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.e2e.browser import current_card, evidence_settled, open_card, other_role
from tests.e2e.conftest import Visit
from tests.product import RunningProduct


def decisions(product: RunningProduct, run: int) -> int:
    return int(product.rows("SELECT count(*) FROM review_review WHERE run_id = %s", run)[0][0])


def test_the_run_page_is_worked_by_keys(visit: Visit, product: RunningProduct, runs: dict[str, int]) -> None:
    page = visit("reviewer").go(f"/runs/{runs['pdf']}/")
    evidence_settled(page)
    before = decisions(product, runs["pdf"])

    page.keyboard.press("j")
    first = current_card(page).get_attribute("id")
    page.keyboard.press("a")
    expect(page.locator(f"#{first} .decision")).to_contain_text("Approved by Rui Tavares")
    expect(current_card(page)).not_to_have_attribute("id", first or "")

    second = current_card(page)
    second_id = second.get_attribute("id")
    machine = second.get_attribute("class") or ""
    page.keyboard.press("3" if "is-tangential" not in machine else "2")
    expect(second.locator("select[name=reason_code]")).to_be_focused()
    second.locator("select[name=reason_code]").select_option("duplicate")
    page.keyboard.press("Enter")
    expect(page.locator(f"#{second_id} .decision")).to_contain_text("The machine said")
    expect(current_card(page)).not_to_have_attribute("id", second_id or "")

    page.keyboard.press("u")
    expect(page.locator(".decision").filter(has_text="could not tell")).to_be_visible()
    assert decisions(product, runs["pdf"]) == before + 3

    page.keyboard.press("k")
    page.keyboard.press("o")
    expect(current_card(page).locator(".override__form")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Help")).to_be_visible()
    page.keyboard.press("Escape")


def test_evidence_follows_the_current_card(visit: Visit, runs: dict[str, int]) -> None:
    page = visit("reviewer").go(f"/runs/{runs['collection']}/")
    evidence_settled(page)
    for _ in range(3):
        page.keyboard.press("j")
        wanted = current_card(page).get_attribute("data-evidence-url")
        expect(page.locator(f'.panel[data-of="{wanted}"]')).to_be_visible()
    page.keyboard.press("e")
    assert page.url.split("#")[0].endswith(f"/runs/{runs['collection']}/")


def test_a_folded_card_opens_where_the_keys_stand_and_folds_behind_them(
    visit: Visit, runs: dict[str, int]
) -> None:
    page = visit("reviewer").go(f"/runs/{runs['pdf']}/")
    evidence_settled(page)
    page.keyboard.press("k")  # from the top to the last card
    last = current_card(page).locator("details.fold")
    expect(last).to_have_attribute("open", "")
    page.keyboard.press("k")
    expect(page.locator("[data-card]").last.locator("details.fold")).not_to_have_attribute("open", "")


def test_cards_left_for_later_come_by_a_link_by_keys_and_by_an_address(
    visit: Visit, runs: dict[str, int]
) -> None:
    page = visit("reviewer").go(f"/runs/{runs['collection']}/")
    evidence_settled(page)
    cards, more = page.locator("[data-card]"), page.locator("[data-cards-more]")
    shown, links = cards.count(), more.count()
    assert links, "the run has a role with many folded cards"
    wanted = int("".join(filter(str.isdigit, more.first.inner_text())))
    more.first.click()
    expect(cards).to_have_count(shown + wanted)
    expect(more).to_have_count(links - 1)
    late = cards.evaluate_all("all => all.map((card) => card.id)")

    page.goto(page.url.split("#")[0])
    evidence_settled(page)
    early = cards.evaluate_all("all => all.map((card) => card.id)")
    here = more.first.evaluate("link => link.closest('.cards__more').previousElementSibling.id")
    page.locator(f"#{here} summary").first.click()
    page.keyboard.press("j")
    after = late[late.index(here) + 1]
    expect(current_card(page)).to_have_attribute("id", after)
    assert after not in early

    page.goto("about:blank")
    page = visit("reviewer").go(f"/runs/{runs['collection']}/#{after}")
    expect(current_card(page)).to_have_attribute("id", after)


def test_the_queue_goes_from_card_to_card_with_one_key_each(
    visit: Visit, product: RunningProduct, runs: dict[str, int]
) -> None:
    page = visit("reviewer2").go("/queue/")
    page.keyboard.press("x")
    expect(page.locator("h1")).to_be_visible()
    decided = 0
    while decided < 5:
        here = page.url
        _approve(page)
        page.wait_for_url(lambda url, here=here: url != here)
        expect(page.locator(".message--success")).to_be_visible()
        decided += 1
    rows = product.rows(
        "SELECT count(*) FROM review_review r JOIN accounts_user u ON u.id = r.reviewer_id"
        " WHERE u.email = %s AND r.action IN ('approve', 'confirm_not_found')",
        "reviewer2@demo.example",
    )
    assert rows[0][0] >= 5


def test_the_key_for_the_next_card_goes_on_in_the_queue_too(visit: Visit, runs: dict[str, int]) -> None:
    page = visit("reviewer").go("/queue/")
    page.keyboard.press("x")
    page.wait_for_url("**/queue/*/")
    seen = [page.url]
    for _ in range(2):
        page.keyboard.press("j")
        page.wait_for_url(lambda url: url not in seen)
        expect(page.get_by_text("Reserved until")).to_be_visible()
        seen.append(page.url)
    for address in reversed(seen[:-1]):
        page.keyboard.press("k")
        page.wait_for_url(address)
        expect(page.get_by_text("Reserved until")).to_be_visible()
    expect(page.locator("[data-key=k]")).to_have_count(0)
    page.get_by_role("button", name="Release", exact=True).click()


def _approve(page: Page) -> None:
    """One key, for a verdict as for a not-found."""
    expect(page.locator("[data-key=a]")).to_be_visible()
    evidence_settled(page)
    page.keyboard.press("a")


def test_two_reviewers_never_get_the_same_item(visit: Visit, runs: dict[str, int]) -> None:
    first, second = visit("reviewer"), visit("reviewer2")
    for visitor in (first, second):
        visitor.go("/queue/")
        visitor.page.get_by_role("button", name="Start next").click()
        expect(visitor.page.get_by_text("Reserved until")).to_be_visible()
    assert first.page.url != second.page.url
    for visitor in (first, second):
        visitor.page.get_by_role("button", name="Release", exact=True).click()
        expect(visitor.page.get_by_role("heading", name="Queue")).to_be_visible()


def test_a_late_decision_is_refused_kindly_with_nothing_lost(visit: Visit, runs: dict[str, int]) -> None:
    run = f"/runs/{runs['collection']}/"
    early, late = visit("reviewer2"), visit("reviewer")
    late.go(run)
    evidence_settled(late.page)
    card = open_card(late.page).get_attribute("id")
    early.go(run)
    evidence_settled(early.page)
    open_card(early.page).locator("[data-key=a]").click()
    expect(early.page.locator(f"#{card} .decision")).to_be_visible()

    here = late.page.locator(f"#{card}")
    here.locator("summary[data-key=o]").click()
    here.locator(f".override__form input[value={other_role(here)}]").check()
    here.get_by_label("Because").select_option("duplicate")
    here.get_by_label("Comment").fill("Typed before the news came.")
    here.get_by_role("button", name="Record override").click()
    expect(here.get_by_role("alert")).to_contain_text("Ingrid Solberg decided this card meanwhile")
    expect(here.get_by_label("Comment")).to_have_value("Typed before the news came.")
    late.expect_refusal(409)
    here.get_by_role("button", name="Record override").click()
    expect(here.locator(".decision")).to_contain_text("Rui Tavares decided")


def test_approving_moves_no_button_under_the_pointer(visit: Visit, runs: dict[str, int]) -> None:
    page = visit("reviewer").go(f"/runs/{runs['collection']}/")
    evidence_settled(page)
    card = open_card(page).get_attribute("id")
    buttons = page.locator(f"#{card} .card__acts > .button-row")
    approve = page.locator(f"#{card} [data-key=a]")
    approve.scroll_into_view_if_needed()
    before = buttons.bounding_box()
    approve.click()
    expect(page.locator(f"#{card} .decision")).to_be_visible()
    after = buttons.bounding_box()
    assert before is not None
    assert after is not None
    assert abs(before["y"] - after["y"]) < 2
    assert page.locator(f"#{card}").get_by_role("button", name="Approved").is_disabled()


def test_a_question_is_asked_without_leaving_the_keys(visit: Visit) -> None:
    page = visit("analyst").go("/")
    page.keyboard.press("g")
    page.keyboard.press("a")
    expect(page.get_by_label("Question")).to_be_focused()
    page.keyboard.type("Who is the responsible officer?")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/runs/*/")
