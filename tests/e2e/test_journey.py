"""The main job from login to audit, on a real paper and on a document of our own."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e import journey
from tests.e2e.conftest import Visit

QUESTION = "What positional encoding does the paper use?"
PAPER = "Attention Is All You Need"
#: Words of section 3.5: the sinusoidal definition, and the paragraph on learned embeddings.
DEFINITION = "sine and cosine functions of different frequencies"
LEARNED = "learned positional embeddings"


@pytest.fixture(scope="module")
def paper(shared_data: Path) -> Path:
    return shared_data / "worked_examples" / "1706.03762v7.pdf"


@pytest.mark.long
@pytest.mark.data
@pytest.mark.parametrize("strategy", ["offline", "arbiter"])
def test_from_upload_to_audit_on_a_paper(strategy: str, visit: Visit, paper: Path) -> None:
    analyst = visit("analyst")
    journey.upload(analyst, paper, title=PAPER)
    run = journey.ask(analyst, QUESTION, title=PAPER, strategy=strategy)

    cards = journey.cards_of(analyst.page)
    journey.check_every_candidate_has_role_and_reason(analyst.page)
    primary = [card for card in cards if card["role"] == "Primary"]
    definition = next(card for card in primary if DEFINITION in card["text"])
    assert any(LEARNED in card["text"] for card in primary)
    assert all("p6_" in card["id"] for card in (definition, next(c for c in primary if LEARNED in c["text"])))

    analyst.page.locator(f"#{definition['id']}").get_by_role("link", name="Evidence").click()
    expect(analyst.page.locator(".panel rect.box--anchor").first).to_be_visible()
    analyst.page.get_by_role("link", name="Full page").click()
    journey.check_boxes(analyst.page, pdf=paper)

    comment = f"Checked by hand, {strategy}."
    journey.override(
        visit("reviewer"),
        run,
        definition["id"],
        role="supporting",
        reason="Wrong role",
        comment=comment,
    )
    journey.check_audit(
        visit("auditor"), before="primary", after="supporting", who="Rui Tavares", comment=comment
    )


def test_from_drop_to_audit_on_a_document_of_our_own(visit: Visit, tmp_path: Path) -> None:
    """The same way in the ordinary run, with the file dropped on the page."""
    from workbench.operations.demo.pdf import regulation_pdf

    folder = Path(__file__).resolve().parents[2] / "workbench" / "operations" / "demo" / "documents"
    source = (folder / "regulation-on-client-records.source.txt").read_text(encoding="utf-8")
    title = "Regulation on the Storage of Client Records"
    pdf = tmp_path / "regulation-dropped.pdf"
    pdf.write_bytes(regulation_pdf(source.replace("Regulation on the Keeping of Client Records", title)))

    analyst = visit("analyst")
    journey.upload(analyst, pdf, title=title, drop=True)
    question = "What does Article 20 require when an automated system selects information?"
    run = journey.ask(analyst, question, title=title, strategy="offline")
    journey.check_every_candidate_has_role_and_reason(analyst.page)
    primary = next(card for card in journey.cards_of(analyst.page) if card["role"] == "Primary")
    analyst.page.locator(f"#{primary['id']}").get_by_role("link", name="Evidence").click()
    analyst.page.get_by_role("link", name="Full page").click()
    journey.check_boxes(analyst.page, pdf=pdf)

    comment = "Article 21 settles it."
    journey.override(
        visit("reviewer"),
        run,
        primary["id"],
        role="tangential",
        reason="Wrong passage",
        comment=comment,
    )
    journey.check_audit(
        visit("auditor"), before="primary", after="tangential", who="Rui Tavares", comment=comment
    )
