"""What people do from upload to audit, one step each, so that the journeys read as they are told."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pypdfium2
from playwright.sync_api import Locator, Page, expect

from tests.e2e.browser import WORK, Visitor, evidence_settled

ROLES = {"Primary", "Supporting", "Tangential", "Discarded"}


def upload(visitor: Visitor, path: Path, *, title: str, drop: bool = False) -> None:
    """Gives a file to the demo collection and sees its progress end in ready."""
    page = visitor.go("/collections/demo/")
    if drop:
        _drop(page, path)
    else:
        page.locator("#upload-files").set_input_files(path)
        page.get_by_role("button", name="Upload").click()
    row = page.locator("#documents > li").filter(
        has_text=re.compile(f"{re.escape(path.name)}|{re.escape(title)}")
    )
    expect(row.locator(".state--queued, .state--running, .state--ready")).to_be_visible()
    expect(row.locator(".state--ready")).to_be_visible(timeout=WORK)
    # A file given twice has a row that links to the document it is the same as.
    expect(row.get_by_role("link", name=title).first).to_be_visible()


def _drop(page: Page, path: Path) -> None:
    """What a browser does when a file is dropped on the form."""
    transfer = page.evaluate_handle(
        """([name, text]) => {
            const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
            const data = new DataTransfer();
            data.items.add(new File([bytes], name));
            return data;
        }""",
        [path.name, _base64(path)],
    )
    page.dispatch_event("[data-dropzone]", "dragover", {"dataTransfer": transfer})
    expect(page.locator("[data-dropzone].is-over")).to_be_visible()
    page.dispatch_event("[data-dropzone]", "drop", {"dataTransfer": transfer})


def _base64(path: Path) -> str:
    import base64

    return base64.b64encode(path.read_bytes()).decode()


def ask(visitor: Visitor, question: str, *, title: str, strategy: str) -> str:
    """Asks one document a question and waits on the run page until it is answered; the page's path."""
    page = visitor.go("/collections/demo/")
    page.locator("#documents .row__title").get_by_role("link", name=title).click()
    page.get_by_role("link", name="Ask this document").click()
    page.get_by_label("Question").fill(question)
    page.get_by_text("Advanced", exact=True).click()
    page.get_by_label("Strategy").select_option(strategy)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("heading", name=question)).to_be_visible()
    expect(page.locator("section.answer")).to_be_visible(timeout=WORK)
    evidence_settled(page)
    return page.url.removeprefix(visitor.address)


def cards_of(page: Page) -> list[dict[str, str]]:
    """Every card: id, effective role as its badge says, text and reason."""
    found: list[dict[str, str]] = page.evaluate(
        """() => [...document.querySelectorAll("[data-card]")].map((card) => ({
            id: card.id,
            role: card.querySelector(".card__place .role__word")?.textContent.trim() ?? "",
            text: card.querySelector(".excerpt")?.textContent ?? "",
            reason: card.querySelector(".reason")?.textContent.replace(/^\\s*Reason/, "").trim() ?? "",
        }))"""
    )
    return found


def check_every_candidate_has_role_and_reason(page: Page) -> None:
    """No card without a role and a reason in words."""
    cards = cards_of(page)
    assert len(cards) > 1
    assert {card["role"] for card in cards} <= ROLES
    assert [card["id"] for card in cards if len(card["reason"]) < 10] == []


def check_boxes(page: Page, *, pdf: Path) -> None:
    """The boxes of the evidence page lie where the marked lines stand: on the image as it is shown, and in the
    document itself, whose text inside each box is that line's, as an independent reader has it."""
    lines = page.locator(".lines__item--anchor")
    boxes = page.locator("rect.box--anchor")
    expect(lines.first).to_be_visible()  # the page may still be on its way
    expect(boxes).to_have_count(lines.count())
    number = int(page.locator("#page-number").input_value())
    source = pypdfium2.PdfDocument(pdf)
    try:
        sheet = source[number - 1]
        reader, height = sheet.get_textpage(), sheet.get_height()
        for box, line in zip(boxes.all(), lines.all(), strict=True):
            frame = {name: float(box.get_attribute(name) or "nan") for name in ("x", "y", "width", "height")}
            _check_shown_there(page, box, frame, sheet.get_size())
            inside = reader.get_text_bounded(
                left=frame["x"] - 1,
                bottom=height - frame["y"] - frame["height"] - 1,
                right=frame["x"] + frame["width"] + 1,
                top=height - frame["y"] + 1,
            )
            assert _share(line.locator(".lines__text").inner_text(), inside) > 0.8
    finally:
        source.close()


def _check_shown_there(page: Page, box: Locator, frame: dict[str, float], size: tuple[float, float]) -> None:
    image: Any = page.locator(".sheet img").bounding_box()
    shown: Any = box.bounding_box()
    scale = image["width"] / size[0]
    assert abs(shown["x"] - image["x"] - frame["x"] * scale) < 3
    assert abs(shown["y"] - image["y"] - frame["y"] * scale) < 3
    assert abs(shown["width"] - frame["width"] * scale) < 4


def _share(wanted: str, found: str) -> float:
    """Share of the line's words that stand in the text found."""
    words = re.findall(r"\w{3,}", wanted.replace("(evidence)", ""))
    return sum(word in found for word in words) / len(words) if words else 1.0


def override(visitor: Visitor, run: str, card_id: str, *, role: str, reason: str, comment: str) -> None:
    """A reviewer gives one card another role."""
    page = visitor.go(run)
    card = page.locator(f"#{card_id}")
    card.locator("summary[data-key=o]").click()
    card.locator(f".override__form input[value={role}]").check()
    card.get_by_label("Because").select_option(label=reason)
    card.get_by_label("Comment").fill(comment)
    card.get_by_role("button", name="Record override").click()
    expect(card.locator(".decision")).to_contain_text("The machine said")
    expect(card.locator(".decision")).to_contain_text(comment)


def check_audit(visitor: Visitor, *, before: str, after: str, who: str, comment: str) -> None:
    """The auditor sees the override with its before and its after."""
    page = visitor.go("/audit/?action=verdict.overridden")
    event = page.locator("li.event").first
    expect(event).to_contain_text(who)
    expect(event).to_contain_text(comment)
    event.locator("summary").click()
    change = event.locator("table.diff tr").filter(has=page.get_by_role("rowheader", name="role", exact=True))
    expect(change.locator("del")).to_have_text(before)
    expect(change.locator("ins")).to_have_text(after)
