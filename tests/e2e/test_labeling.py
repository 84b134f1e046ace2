"""An annotator's day: keys only, a reload in the middle, and the same without scripts."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.e2e.conftest import Visit
from tests.e2e.labelling import import_pairs, start_project
from tests.product import RunningProduct

LABELS = (
    "SELECT l.role FROM labeling_label l JOIN accounts_user u ON u.id = l.person_id"
    " JOIN labeling_slot s ON s.label_id = l.id JOIN labeling_pair p ON p.id = s.pair_id"
    " JOIN labeling_project j ON j.id = p.project_id"
    " WHERE u.email = 'annotator@demo.example' AND j.name = %s ORDER BY l.id"
)
ROLES = ("primary", "supporting", "tangential", "discarded")


def desk(page: Page) -> str:
    """Which place lies on the desk."""
    return page.locator(".desk__roles").get_attribute("action") or ""


def press_and_wait(page: Page, key: str) -> None:
    """One key, and the next pair is there."""
    before = desk(page)
    page.keyboard.press(key)
    expect(page.locator(".desk__roles")).not_to_have_attribute("action", before)


def test_twenty_pairs_by_keys_alone(visit: Visit, product: RunningProduct) -> None:
    name = "By keys"
    import_pairs(product, start_project(product, name), subject="keys", count=26)
    page = visit("annotator").go("/labeling/")
    page.keyboard.press("x")  # the newest project
    expect(page.locator(".desk__roles")).to_be_visible()

    for number in range(20):
        if number == 10:
            before, question = desk(page), page.locator(".desk__question").inner_text()
            page.reload()
            expect(page.locator(".desk__question")).to_have_text(question)
            assert desk(page) == before
        press_and_wait(page, str(number % 4 + 1))
    given = [role for (role,) in product.rows(LABELS, name)]

    assert given == [ROLES[number % 4] for number in range(20)]

    press_and_wait(page, "l")
    press_and_wait(page, "u")
    press_and_wait(page, "z")
    press_and_wait(page, "z")
    press_and_wait(page, "z")  # the twentieth label is taken back
    assert len(product.rows(LABELS, name)) == 19
    press_and_wait(page, "1")
    assert [role for (role,) in product.rows(LABELS, name)][-1] == "primary"
    expect(page.locator("#announcer")).to_contain_text("Recorded: primary.")


def test_the_roles_stay_where_they_are(visit: Visit, product: RunningProduct) -> None:
    import_pairs(product, start_project(product, "By pointer"), subject="pointers", count=3)
    page = visit("annotator").go("/labeling/")
    page.get_by_role("button", name="Label By pointer").click()
    primary = page.locator(".desk__role[value=primary]")
    before, action = primary.bounding_box(), desk(page)
    primary.click()
    expect(page.locator(".desk__roles")).not_to_have_attribute("action", action)
    after = primary.bounding_box()

    assert before is not None
    assert after is not None
    assert abs(before["y"] - after["y"]) < 2


def test_without_scripts(visit: Visit, product: RunningProduct) -> None:
    name = "Plain"
    import_pairs(product, start_project(product, name), subject="plain pages", count=3)
    page = visit("annotator", scripts=False).go("/labeling/")
    page.get_by_role("button", name=f"Label {name}").click()
    first = desk(page)
    page.get_by_role("button", name="Primary").click()
    expect(page.get_by_text("Recorded: primary.")).to_be_visible()
    assert desk(page) != first
    page.get_by_role("button", name="Can't tell").click()
    expect(page.get_by_text("Skipped.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Taken back.")).to_be_visible()

    assert desk(page) == first
    assert product.rows(LABELS, name) == []
