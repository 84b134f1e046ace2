"""Every page and state, wide and narrow, light and dark: no axe violation, nothing wider than the window, no
complaint of the browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser import (
    NARROW,
    WIDE,
    Visitor,
    blank_below,
    evidence_settled,
    overflow,
    restyled,
    squeezed,
    violations,
)
from tests.e2e.conftest import Visit
from tests.e2e.furniture import furnish
from tests.product import RunningProduct

#: Who looks at which page; braces are filled with objects of the demo.
PAGES = {
    "home": ("reviewer", "/"),
    "home-analyst": ("analyst", "/"),
    "collections": ("analyst", "/collections/"),
    "collection": ("analyst", "/collections/demo/"),
    "people": ("admin", "/collections/demo/people/"),
    "document-pdf": ("analyst", "{pdf}?page=3&q=record"),
    "document-text": ("auditor", "{text}"),
    "document-admin": ("admin", "{text}"),
    "ask": ("analyst", "/ask/"),
    "search": ("analyst", "/search/?q=access+records&section=e"),
    "search-empty": ("analyst", "/search/"),
    "search-none": ("auditor", "/search/?q=records+xylophone&collection=demo"),
    "runs": ("auditor", "/runs/"),
    "runs-none": ("auditor", "/runs/?q=nothing-like-it"),
    "run": ("reviewer", "/runs/{run}/"),
    "run-read": ("auditor", "/runs/{run_pdf}/"),
    "run-not-found": ("reviewer", "/runs/{run_none}/"),
    "run-provenance": ("auditor", "/runs/{run}/?tab=provenance"),
    "run-calls": ("auditor", "/runs/{run}/?tab=calls"),
    "run-history": ("auditor", "/runs/{run}/?tab=history"),
    "run-json": ("auditor", "/runs/{run}/?tab=json"),
    "evidence": ("reviewer", "{evidence}"),
    "queue": ("reviewer", "/queue/"),
    "item": ("reviewer", "{item}"),
    "hand-over": ("reviewer", "{item}hand-over/"),
    "models": ("admin", "/models/"),
    "models-read": ("auditor", "/models/"),
    "models-plan": ("admin", "/models/plan/"),
    "models-drift": ("auditor", "/models/drift/"),
    "audit": ("auditor", "/audit/"),
    "trust": ("reviewer", "/trust/"),
    "progress": ("auditor", "/trust/progress/"),
    "tour": ("reviewer", "/tour/3/"),
    "tour-end": ("auditor", "/tour/7/"),
    "risk": ("admin", "/collections/demo/settings/risk/"),
    "risk-read": ("auditor", "/collections/demo/settings/risk/"),
    "archive-of": ("admin", "/collections/demo/archive/"),
    "archive-out": ("admin", "{archive_out}"),
    "archives-sent": ("admin", "/archives/"),
    "archive-in": ("admin", "{archive_in}"),
    "exports": ("auditor", "/exports/"),
    "exports-own": ("analyst", "/exports/"),
    "sets": ("analyst", "/sets/"),
    "set": ("analyst", "{set}"),
    "round": ("reviewer", "{round}"),
    "compare": ("analyst", "/compare/"),
    "comparison": ("reviewer", "{comparison}"),
    "strategies": ("auditor", "/strategies/"),
    "settings": ("admin", "/collections/demo/settings/"),
    "settings-read": ("auditor", "/collections/demo/settings/"),
    "sources": ("admin", "/collections/demo/sources/"),
    "webhooks": ("admin", "/collections/demo/webhooks/"),
    "webhook": ("admin", "{webhook}"),
    "webhook-read": ("auditor", "{webhook}"),
    "operations": ("admin", "/operations/"),
    "operations-read": ("auditor", "/operations/"),
    "maintenance": ("admin", "/operations/maintenance/"),
    "fields": ("admin", "/collections/demo/fields/"),
    "costs": ("auditor", "/costs/"),
    "prompts": ("auditor", "/prompts/"),
    "prompt": ("auditor", "/prompts/?name=arbiter"),
    "tokens": ("analyst", "/tokens/"),
    "api": ("analyst", "/api/"),
    "vocabulary": ("admin", "/collections/demo/vocabulary/"),
    "versions": ("analyst", "{versions}"),
    "labelling": ("annotator", "/labeling/"),
    "labelling-admin": ("admin", "/labeling/"),
    "label-project": ("admin", "{project}"),
    "label-project-annotator": ("annotator", "{project}"),
    "label-desk": ("annotator", "{project}work/"),
    "label-corrected": ("annotator", "/labeling/corrected/"),
    "adjudication": ("reviewer", "/labeling/adjudication/"),
    "dispute": ("reviewer", "{dispute}"),
    "agreement": ("auditor", "/labeling/agreement/"),
    "run-comments": ("reviewer", "/runs/{run}/?tab=comments"),
    "sign": ("reviewer", "/runs/{run}/sign/"),
    "as-of": ("auditor", "/runs/{run}/as-of/"),
    "receipt": ("auditor", "{receipt}"),
    "against": ("analyst", "/runs/{run}/against/"),
    "lines": ("reviewer", "/runs/{run_pdf}/lines/"),
    "which-document": ("reviewer", "/runs/{run}/lines/"),
    "bulk": ("reviewer", "/queue/bulk/?show=all"),
    "claims": ("admin", "/queue/claims/"),
    "notifications": ("reviewer", "/notifications/"),
    "shares": ("admin", "/collections/demo/review/"),
    "login": (None, "/accounts/login/"),
}


@pytest.fixture(scope="module")
def places(product: RunningProduct, runs: dict[str, int]) -> dict[str, object]:
    """Addresses of objects of the demo."""

    def one(query: str, *values: object) -> int:
        return int(product.rows(query, *values)[0][0])

    document = "SELECT id FROM documents_document WHERE name = %s"
    candidate = one("SELECT id FROM questions_candidate WHERE run_id = %s ORDER BY position", runs["pdf"])
    item = one(
        "SELECT id FROM review_queueitem WHERE state = 'waiting' AND candidate_id IS NOT NULL"
        " ORDER BY is_required, id LIMIT 1"
    )
    return {
        **furnish(product),
        "run": runs["collection"],
        "run_pdf": runs["pdf"],
        "run_none": runs["not_found"],
        "pdf": f"/documents/{one(document, 'regulation-on-client-records.pdf')}/",
        "text": f"/documents/{one(document, 'amendment-no-1.md')}/",
        "evidence": f"/candidates/{candidate}/evidence/",
        "receipt": f"/candidates/{candidate}/receipt/",
        "item": f"/queue/{item}/",
    }


def check(page: Page) -> None:
    """No violation of any level, and no scrolling sideways or on below the end, room for what is typed and told."""
    found = violations(page)
    assert not found, found  # whole: pytest would cut it before the place
    assert overflow(page) <= 0
    assert blank_below(page) <= 1
    assert squeezed(page) == []


@pytest.fixture
def look(keep: Visit) -> Iterator[Visit]:
    """``keep``, whose windows are wide and light again at the end."""
    looked: list[Page] = []

    def at(role: str | None) -> Visitor:
        visitor = keep(role)
        looked.append(visitor.page)
        return visitor

    yield at
    for page in looked:
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str, look: Visit, places: dict[str, object]) -> None:
    """As it opens in a wide, light window, and in the same window made narrow and dark."""
    role, path = PAGES[name]
    page = look(role).go(path.format(**places))
    evidence_settled(page)
    expect(page.locator("h1")).to_be_visible()
    check(page)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    restyled(page)
    evidence_settled(page)
    check(page)


@pytest.mark.parametrize("name", ["run", "item", "document-pdf"])
@pytest.mark.parametrize(
    ("narrow", "scheme"),
    [(False, "dark"), pytest.param(True, "light", marks=pytest.mark.long), (True, "dark")],
    ids=["wide-dark", "narrow-light", "narrow-dark"],
)
def test_the_heart_in_the_other_looks(
    name: str, narrow: bool, scheme: str, visit: Visit, places: dict[str, object]
) -> None:
    """Opened so, which loads what such a window shows."""
    role, path = PAGES[name]
    page = visit(role, narrow=narrow, scheme=scheme).go(path.format(**places))
    evidence_settled(page)
    check(page)


def test_states_of_a_card(visit: Visit, places: dict[str, object]) -> None:
    page = visit("reviewer").go(f"/runs/{places['run']}/")
    evidence_settled(page)
    for details in page.locator(".card details").all()[:12]:
        details.evaluate("element => { element.open = true; }")
    check(page)
    page.keyboard.press("?")
    check(page)
    page.keyboard.press("Escape")
    page.locator(".menu summary").click()
    check(page)


def test_states_of_an_upload(visit: Visit) -> None:
    visitor = visit("analyst")
    page = visitor.go("/collections/demo/")
    empty = {"name": "empty.txt", "mimeType": "text/plain", "buffer": b""}
    broken = {"name": "broken.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7\nnothing more"}
    page.locator("#upload-files").set_input_files([empty, broken])
    page.get_by_role("button", name="Upload").click()
    expect(page.locator("[data-uploads] [role=alert]")).to_be_visible()
    visitor.expect_refusal(422)
    row = page.locator("#documents > li").filter(has_text="broken.pdf")
    expect(row.locator(".state--failed")).to_be_visible(timeout=120_000)
    expect(row.locator(".field__error")).to_be_visible()
    expect(row.get_by_role("button", name="Try again")).to_be_visible()
    check(page)


@pytest.mark.parametrize("path", ["/runs/999999/", "/nowhere/"])
def test_what_is_not_there(path: str, visit: Visit) -> None:
    visitor = visit("analyst")
    page = visitor.go(path)
    expect(page.get_by_role("heading", name="There is nothing here for you")).to_be_visible()
    check(page)
    visitor.expect_refusal(404)


def test_an_ended_session_leads_to_the_door_and_back(visit: Visit, places: dict[str, object]) -> None:
    visitor = visit(None)
    visitor.log_in("reviewer")
    page = visitor.go(f"/runs/{places['run']}/")
    evidence_settled(page)
    page.context.clear_cookies(name="sessionid")
    page.locator("[data-card-open] [data-key=u]").first.click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert f"next=%2Fruns%2F{places['run']}%2F" in page.url
