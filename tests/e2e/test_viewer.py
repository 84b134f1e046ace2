"""People read documents: they search, cite and add evidence on the page image, by mouse and by keys; two documents
stand side by side; a phone and a browser without scripts show the same page."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.e2e.browser import evidence_settled, overflow, seen, violations
from tests.e2e.conftest import Visit, ask
from tests.product import RunningProduct

#: Whether every box that the viewer is fitted on lies inside its pane.
IN_SIGHT = """(selector) => {
    const pane = document.querySelector(".viewer__sheet").getBoundingClientRect();
    const boxes = [...document.querySelectorAll(`.sheet rect${selector}`)].map((box) => box.getBoundingClientRect());
    return boxes.length > 0 && boxes.every((box) => box.left >= pane.left - 1 && box.right <= pane.right + 1
        && box.top >= pane.top - 1 && box.bottom <= pane.bottom + 1);
}"""


def _document(product: RunningProduct, name: str) -> int:
    ((key,),) = product.rows("SELECT id FROM documents_document WHERE name = %s", name)
    return int(key)


def _width(page: Page) -> float:
    found: Any = page.locator(".sheet").bounding_box()
    return float(found["width"])


def test_a_search_is_walked_zoomed_and_panned_by_keys_alone(visit: Visit, product: RunningProduct) -> None:
    page = visit("analyst").go(f"/documents/{_document(product, 'regulation-on-client-records.pdf')}/")
    page.keyboard.press("/")
    page.keyboard.type("automated")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=automated*")
    evidence_settled(page)
    expect(page.get_by_text("hit 1 of 2")).to_be_visible()
    page.wait_for_function(IN_SIGHT, arg=".box--now")
    assert not violations(page)

    page.keyboard.press("n")
    page.wait_for_url("**hit=1*")
    expect(page.get_by_text("hit 2 of 2")).to_be_visible()
    expect(page.locator(".lines__item--now mark")).to_have_text("automated")
    page.wait_for_function(IN_SIGHT, arg=".box--now")
    fitted = _width(page)
    page.keyboard.press("+")
    assert _width(page) > fitted
    page.locator(".viewer__sheet").focus()
    left = page.evaluate("document.querySelector('.viewer__sheet').scrollLeft")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("left => document.querySelector('.viewer__sheet').scrollLeft < left", arg=left)
    page.keyboard.press("0")
    assert abs(_width(page) - fitted) < 2
    page.keyboard.press("[")
    page.wait_for_url("**page=4*")
    assert seen(page).refused == []


def test_lines_are_chosen_on_the_image_cited_and_made_evidence(visit: Visit, product: RunningProduct) -> None:
    run = ask(
        product,
        "What must a firm explain under Article 20 about an automated system?",
        "regulation-on-client-records.pdf",
    )
    page = visit("reviewer").go(f"/runs/{run}/")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    evidence_settled(page)
    page.wait_for_function(IN_SIGHT, arg=".box--anchor")
    page.get_by_role("link", name="Full page").click()
    page.wait_for_url("**/evidence/**")
    evidence_settled(page)
    page.wait_for_function(IN_SIGHT, arg=".box--anchor")

    # Dragging over words of the image.
    first, last = (
        page.locator(".sheet text").filter(has_text=words) for words in ("On request of", "knowledge can")
    )
    start, end = first.bounding_box(), last.bounding_box()
    assert start
    assert end
    page.mouse.move(start["x"] + 4, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(end["x"] + end["width"] - 4, end["y"] + end["height"] / 2, steps=8)
    page.mouse.up()
    cited = page.locator(".viewer__cited strong")
    expect(cited).to_have_text("Regulation on the Keeping of Client Records, Article 20, p. 5, lines 9–10")
    assert not violations(page)
    page.keyboard.press("c")
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert re.fullmatch(r"Regulation .*, p\. 5, lines 9–10: “\(3\) On request .*can follow\.”", copied)

    # The same by keys: from a line's number to the lines below.
    page.locator(".lines__item .lines__num").nth(7).focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowDown")
    expect(cited).to_contain_text("lines 8–10")
    expect(page.locator(".lines__item.is-chosen")).to_have_count(3)
    page.keyboard.press("v")
    page.wait_for_url("**/lines/**")
    expect(page.get_by_label("From line")).to_have_value("8")
    expect(page.get_by_label("To line")).to_have_value("10")
    page.get_by_label("What these lines show").fill("The firm explains the decision.")
    page.get_by_role("button", name="Add as evidence").click()
    expect(page.get_by_text("Evidence added by a person").first).to_be_visible()
    assert seen(page).refused == []


def test_two_documents_stand_side_by_side(visit: Visit, product: RunningProduct) -> None:
    one, other = (_document(product, name) for name in ("master-services-agreement.txt", "amendment-no-1.md"))
    for narrow in (False, True):
        page = visit("analyst", narrow=narrow).go(f"/documents/{one}/beside/{other}/")
        expect(page.locator(".viewer")).to_have_count(2)
        expect(page.locator("del").first).to_be_visible()
        expect(page.locator("ins").first).to_be_visible()
        assert not violations(page)
        assert overflow(page) <= 0


def test_the_page_is_read_on_a_phone_and_without_scripts(visit: Visit, product: RunningProduct) -> None:
    address = f"/documents/{_document(product, 'regulation-on-client-records.pdf')}/?q=automated&page=5&hit=0"
    phone = visit("analyst", narrow=True, scheme="dark").go(address)
    evidence_settled(phone)
    phone.wait_for_function(IN_SIGHT, arg=".box--now")
    phone.locator("li[data-line=p5-l4] .lines__text").click()
    expect(phone.locator(".viewer__cited")).to_contain_text("p. 5, line 4")
    assert not violations(phone)
    assert overflow(phone) <= 0

    plain = visit("analyst", scripts=False).go(address)
    expect(plain.locator(".sheet img")).to_be_visible()
    expect(plain.locator(".sheet rect.box--now")).to_be_visible()
    expect(plain.locator(".lines__item--now mark")).to_have_text("automated")
    plain.get_by_role("link", name="Next hit").click()
    plain.wait_for_url("**hit=1*")
    expect(plain.locator(".lines__item--now")).to_have_count(1)
