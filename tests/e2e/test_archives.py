"""A small collection leaves as an archive and comes back as a new one, by the pages alone: its document and its
label are there again."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browser import WORK, overflow
from tests.e2e.conftest import Visit
from tests.product import RunningProduct, eventually

NAME, AGAIN = "Parcel", "parcel-again"
RULE = "Cash above 500 euros needs two signatures."
POLICY = f"Cash policy\n\n{RULE}\n\nReceipts are kept for seven years.\n"
QUESTION = "How many signatures does cash above 500 euros need?"


@pytest.fixture(scope="module")
def parcel(product: RunningProduct) -> str:
    """The page of a collection of one document with one label, made through the product's own forms."""
    with closing(product.client("admin")) as admin:
        path = admin.post("/collections/", data={"name": NAME}).url.path
        upload = {"files": ("cash-policy.txt", POLICY.encode(), "text/plain")}
        assert admin.post(f"{path}upload/", files=upload).status_code == 200
        slug = path.split("/")[2]
        ready = (
            "SELECT 1 FROM documents_document d JOIN documents_collection c ON c.id = d.collection_id"
            " WHERE c.slug = %s AND d.status = 'ready'"
        )
        eventually(lambda: product.rows(ready, slug), seconds=300, what="the document is ready")
        fields = {"collection": slug, "name": NAME, "gold_share": 0, "random_share": 0}
        project = admin.post("/labeling/", data={**fields, "double_share": 0}).url.path
        label = {"question": QUESTION, "document": "cash-policy.txt", "text": RULE}
        row = json.dumps({**label, "role": "primary", "judge": "Outside annotator"})
        taken = admin.post(
            f"{project}import/", data={"kind": "annotator"}, files={"file": ("labels.jsonl", row.encode())}
        )
        assert "The file was imported" in taken.text, taken.text[:4000]
    return str(path)


def take_out(page: Page, into: Path) -> Path:
    """From the collection to its archive on the person's disk."""
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("link", name="Archive", exact=True).click()
    page.get_by_role("button", name="Create archive").click()
    with page.expect_download() as fetched:
        page.get_by_role("link", name="Download the archive").click(timeout=WORK)
    fetched.value.save_as(into)
    return into


def test_a_collection_leaves_and_comes_back(
    visit: Visit, product: RunningProduct, parcel: str, tmp_path: Path
) -> None:
    visitor = visit("admin")
    file = take_out(visitor.go(parcel), tmp_path / "parcel.zip")

    page = visitor.go("/collections/")
    page.get_by_role("link", name="Import an archive").click()
    page.get_by_label("Archive", exact=True).set_input_files(file)
    page.get_by_role("button", name="Upload and check").click()
    expect(page.get_by_role("heading", name="What would be created")).to_be_visible(timeout=WORK)
    expect(page.locator(".facts")).to_contain_text("1 document")
    page.get_by_label("Short name of the new collection").fill(AGAIN)
    page.get_by_role("button", name="Create collection").click()
    expect(page.get_by_text("The collection is created")).to_be_visible(timeout=WORK)
    with page.expect_download() as labels:
        page.get_by_role("link", name="Its labels as CSV").click()
    told = Path(labels.value.path()).read_text(encoding="utf-8")
    assert QUESTION in told
    assert "primary" in told
    page.get_by_role("link", name=f"Open {NAME}").click()

    assert f"/collections/{AGAIN}/" in page.url
    row = page.locator("#documents > li").filter(has_text="Cash policy")
    expect(row.locator(".state--ready")).to_be_visible(timeout=WORK)
    row.get_by_role("link").first.click()
    expect(page.get_by_text("two signatures").first).to_be_visible()
    assert overflow(page) <= 0
