"""Each person from login to finished work: an analyst with many uploads, a reviewer with a full queue, an annotator, an
admin, an auditor. In the gate it is small and mostly in one look; `make test-all` adds another, and with
WORKBENCH_FULL_JOURNEYS=1 thirty real PDFs and 5,000 candidates, in light and dark, wide and narrow.

On no page of a sitting may the browser complain (console, content security policy), nor a control move under the
resting pointer.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import (
    NARROW,
    WATCH_THE_POINTER,
    WIDE,
    WORK,
    Visitor,
    current_card,
    evidence_settled,
    overflow,
    seen,
)
from tests.e2e.office import SLUG, Office, Scale, fill_queue, open_office, sign_in, wait_until_read
from tests.product import PASSWORD, RunningProduct

SMALL = Scale(files=2, candidates=120, cards=8)
LARGE = Scale(files=30, candidates=5_000, cards=100)
LOOKS = [("light", WIDE), ("dark", NARROW)]
OTHER_LOOKS = [("dark", WIDE), ("light", NARROW)]
FULL = bool(os.environ.get("WORKBENCH_FULL_JOURNEYS"))
#: Reading thirty documents takes a worker some ten minutes: asked for by name.
WHEN_ASKED = pytest.mark.skipif(
    not FULL, reason="thirty documents and 5,000 candidates: WORKBENCH_FULL_JOURNEYS=1"
)


def named(look: tuple[str, tuple[int, int]]) -> str:
    """A look, for the name of a test."""
    return f"{look[0]}-{'wide' if look[1] is WIDE else 'narrow'}"


_REST = [pytest.param(look, marks=pytest.mark.long) for look in (OTHER_LOOKS if FULL else [])]
in_every_look = pytest.mark.parametrize(
    "look", [LOOKS[0], pytest.param(LOOKS[1], marks=pytest.mark.long), *_REST], ids=named
)
#: Where the shift of a phone's page is most likely.
narrow_too = pytest.mark.parametrize("look", [*LOOKS, *_REST], ids=named)
#: Layout shift that browsers call good.
MOST_SHIFT = 0.1
MOST_BYTES = 1_500_000

Enter = Callable[..., Visitor]


def real_pdfs(folder: Path, number: int) -> list[Path]:
    """So many different PDFs of the shared data, the smaller ones first."""
    chosen: dict[str, Path] = {}
    places = (
        "cuad",
        "h2o_evals",
        "mmlongbench_admin",
        "worked_examples",
        "documents",
        "aragog",
        "financebench",
    )
    files = [path for place in places for path in (folder / place).rglob("*.pdf")]
    for path in sorted(files, key=lambda path: path.stat().st_size):
        if path.stat().st_size <= MOST_BYTES:
            chosen.setdefault(hashlib.sha256(path.read_bytes()).hexdigest(), path)
    return list(chosen.values())[:number]


def own_pdfs(folder: Path, number: int) -> list[Path]:
    """Variants of the demo's regulation."""
    from workbench.operations.demo.pdf import regulation_pdf

    documents = Path(__file__).resolve().parents[2] / "workbench" / "operations" / "demo" / "documents"
    source = (documents / "regulation-on-client-records.source.txt").read_text(encoding="utf-8")
    made = []
    for place in range(1, number + 1):
        path = folder / f"rules-of-branch-{place}.pdf"
        path.write_bytes(regulation_pdf(source.replace("Client Records", f"Records of Branch {place}")))
        made.append(path)
    return made


@pytest.fixture(scope="module", params=["small", pytest.param("large", marks=[pytest.mark.data, WHEN_ASKED])])
def office(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Office:
    """The collection with its people; the large one needs the shared data, and starts no other product."""
    if request.param == "small":
        product: RunningProduct = request.getfixturevalue("product")
        files = own_pdfs(tmp_path_factory.mktemp("office"), SMALL.files)
        question = "How long must recordings of telephone calls be kept?"
        return open_office(product, SMALL, files=files, question=question)
    data: Path = request.getfixturevalue("shared_data")
    files = real_pdfs(data, LARGE.files)
    assert len(files) == LARGE.files
    with_its_own = request.getfixturevalue("another_product")
    return open_office(with_its_own, LARGE, files=files, question="When does the agreement end?")


@pytest.fixture(scope="module")
def another_product() -> Iterator[RunningProduct]:
    """A product of its own, so that thirty documents and their queue disturb no other test."""
    from tests.product import running_product

    with running_product() as running:
        yield running


@pytest.fixture
def enter(browser: Browser, office: Office) -> Iterator[Enter]:
    """``enter("reviewer", look)``: that person of the office at a browser, signed in through the door."""
    visitors: list[Visitor] = []

    def make(role: str, look: tuple[str, tuple[int, int]]) -> Visitor:
        scheme, (width, height) = look
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True
        )
        context.add_init_script(WATCH_THE_POINTER)
        visitor = Visitor(context.new_page(), office.product.address)
        visitors.append(visitor)
        return sign_in(visitor, role)

    yield make
    for visitor in visitors:
        visitor.page.wait_for_load_state()
        met = seen(visitor.page)
        wide = overflow(visitor.page)
        complaints = list(visitor.complaints)
        visitor.page.context.close()
        assert (complaints, met.refused, met.moved) == ([], [], [])
        assert met.shift <= MOST_SHIFT
        assert wide <= 0
        print(f"\nlargest layout shift of a page: {met.shift:.4f}")


@pytest.fixture(scope="module")
def asked(office: Office, browser: Browser) -> int:
    """The analyst's journey in light and wide: every file at once, all of them ready, one question answered. Then the
    queue is filled; the number of the run."""
    context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]})
    context.add_init_script(WATCH_THE_POINTER)
    visitor = sign_in(Visitor(context.new_page(), office.product.address), "analyst")
    page = visitor.page
    page.get_by_role("link", name="Collections").first.click()
    page.get_by_role("link", name="Office").first.click()
    started = time.monotonic()
    page.locator("#upload-files").set_input_files(office.files)
    page.get_by_role("button", name="Upload").click()
    expect(page.get_by_text("No documents yet")).to_be_hidden()
    wait_until_read(office)
    print(
        f"\n{len(office.files)} documents are ready {time.monotonic() - started:.0f} s after the upload began"
    )
    page.goto(f"{office.product.address}{office.path}")
    expect(page.locator("#documents > li .state--ready")).to_have_count(len(office.files))
    run = ask(page, office.question)
    met = seen(page)
    assert (visitor.complaints, met.refused, met.moved) == ([], [], [])
    context.close()
    assert fill_queue(office, run=run) >= office.scale.candidates
    return run


def ask(page: Page, question: str) -> int:
    """From the top bar to the answer; the number of the run."""
    page.get_by_role("link", name="Ask", exact=True).first.click()
    page.get_by_label("Question").fill(question)
    page.get_by_label("Collection").select_option(SLUG)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("section.answer")).to_be_visible(timeout=WORK)
    evidence_settled(page)
    return int(re.findall(r"/runs/(\d+)/", page.url)[0])


@in_every_look
def test_the_analyst_asks_reads_and_takes_the_record_along(
    look: tuple[str, tuple[int, int]], enter: Enter, office: Office, asked: int, tmp_path: Path
) -> None:
    page = enter("analyst", look).page
    page.get_by_role("link", name=office.question).first.click()
    expect(page.locator("section.answer")).to_be_visible()
    card = page.locator("[data-card]").first
    card.get_by_role("link", name="Evidence").click()
    expect(page.locator("rect.box--anchor, .lines__item--anchor").first).to_be_visible()
    page.goto(f"{office.product.address}/runs/{asked}/")
    page.get_by_role("button", name="Export").click()
    link = page.get_by_role("link", name=f"run-{asked}.pdf")
    expect(link).to_be_visible(timeout=WORK)
    with page.expect_download() as taken:
        link.click()
    taken.value.save_as(tmp_path / "record.pdf")
    assert (tmp_path / "record.pdf").read_bytes().startswith(b"%PDF")


@in_every_look
def test_the_reviewer_works_the_queue_by_keyboard(
    look: tuple[str, tuple[int, int]],
    enter: Enter,
    office: Office,
    asked: int,
    record_property: Callable[[str, object], None],
) -> None:
    page = enter("reviewer", look).page
    page.goto(f"{office.product.address}/queue/")
    expect(page.locator(".rows > li").first).to_be_visible()
    cards = office.scale.cards if look is LOOKS[0] else 5
    before = _decided(office)
    page.keyboard.press("x")
    expect(page.get_by_text("Reserved until")).to_be_visible()
    # The pointer rests where a hand left it: on the button that the keys press.
    page.locator("[data-key=a]").first.hover()
    presses, started = 0, time.monotonic()
    for _ in range(cards):
        here = page.url
        expect(page.locator("[data-key=a]").first).to_be_visible()
        page.keyboard.press("a")
        presses += 1
        page.wait_for_url(lambda url, here=here: url != here)
    spent = time.monotonic() - started
    assert _decided(office) == before + cards
    assert presses <= 2 * cards
    record_property("decisions_per_minute", round(60 * cards / spent, 1))
    print(
        f"\n{cards} approvals in the queue, {presses / cards:.2f} keys each, {60 * cards / spent:.0f} a minute"
    )
    last = page.url
    page.keyboard.press("z")
    page.wait_for_url(lambda url: url != last)
    expect(page).to_have_url(re.compile(r"/queue/\d+/"))
    undone = "SELECT count(*) FROM review_review WHERE action = 'undo' AND reviewer_id ="
    assert office.count(
        f"{undone} (SELECT id FROM accounts_user WHERE email = %s)", f"reviewer@{SLUG}.example"
    )


def _decided(office: Office) -> int:
    return office.count(
        "SELECT count(*) FROM review_review r JOIN accounts_user u ON u.id = r.reviewer_id"
        " WHERE u.email = %s AND r.action IN ('approve', 'confirm_not_found')",
        f"reviewer@{SLUG}.example",
    )


def test_the_reviewer_decides_a_run_and_signs_it(enter: Enter, office: Office, asked: int) -> None:
    page = enter("reviewer", LOOKS[0]).page
    page.goto(f"{office.product.address}/runs/{asked}/")
    evidence_settled(page)
    open_items = (
        "SELECT count(*) FROM review_queueitem WHERE run_id = %s AND is_required AND state = 'waiting'"
    )
    for _ in range(60):
        if not office.count(open_items, asked):
            break
        page.goto(f"{office.product.address}/runs/{asked}/sign/")
        page.locator("section[aria-labelledby=act-title] li a").first.click()
        evidence_settled(page)
        here = current_card(page).get_attribute("id")
        if current_card(page).locator("[data-key=a]").count():
            page.keyboard.press("a")
        else:
            page.keyboard.press("4")
            current_card(page).locator("select[name=reason_code]").select_option("wrong_passage")
            page.keyboard.press("Enter")
        expect(page.locator(f"#{here} .decision")).to_be_attached()
    page.goto(f"{office.product.address}/runs/{asked}/sign/")
    page.get_by_label("My signature means").select_option("approved")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign", exact=True).click()
    expect(page.locator(".message").filter(has_text="I approve this result")).to_be_visible()


@in_every_look
def test_the_admin_sets_up_labelling_and_looks_after_the_house(
    look: tuple[str, tuple[int, int]], enter: Enter, office: Office, asked: int
) -> None:
    page = enter("admin", look).page
    name = f"Office labels {look[0]} {look[1][0]}"
    for path, words in (
        (f"{office.path}people/", "Reviewer Field"),
        (f"{office.path}settings/", "Thresholds"),
        ("/operations/", "Waiting"),
        ("/trust/", "People agree with the machine"),
        ("/models/", "Models"),
    ):
        page.goto(office.product.address + path)
        expect(page.get_by_role("main").get_by_text(words).first).to_be_visible()
    page.goto(f"{office.product.address}/labeling/")
    page.locator("input[name=name]").fill(name)
    page.locator("select[name=collection]").select_option(SLUG)
    page.get_by_role("button", name="Start the project").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    with page.expect_response(re.compile("/fill/")):
        page.locator("form[action$='fill/'] button").first.click()
    # A pair is asked once: the project that was started first may have taken all there are.
    pairs = "SELECT count(*) FROM labeling_pair p JOIN labeling_project j ON j.id = p.project_id WHERE j.name LIKE %s"
    assert office.count(pairs, "Office labels %") > 0


@pytest.fixture(scope="module")
def stocked(office: Office, asked: int) -> str:
    """The name of the project that has pairs to label: one is asked once, so the first that was filled has them all.
    An admin's where they were here before, else one that is started now."""
    found = (
        "SELECT j.name FROM labeling_project j JOIN labeling_pair p ON p.project_id = j.id"
        " JOIN documents_collection k ON k.id = j.collection_id WHERE k.slug = %s ORDER BY j.id LIMIT 1"
    )
    rows = office.product.rows(found, SLUG)
    if not rows:
        with closing(office.client("admin")) as admin:
            fields = {"collection": SLUG, "name": "Office stock", "gold_share": 0, "random_share": 20}
            project = admin.post("/labeling/", data={**fields, "double_share": 0}).url.path
            admin.post(f"{project}fill/", data={"limit": 400})
        rows = office.product.rows(found, SLUG)
    return str(rows[0][0])


@narrow_too
def test_the_annotator_labels_by_keys(
    look: tuple[str, tuple[int, int]], enter: Enter, office: Office, stocked: str
) -> None:
    page = enter("annotator", look).page
    page.goto(f"{office.product.address}/labeling/")
    page.get_by_role("button", name=f"Label {stocked}", exact=True).click()
    labels = (
        "SELECT count(*) FROM labeling_label l JOIN accounts_user u ON u.id = l.person_id WHERE u.email = %s"
    )
    person = f"annotator@{SLUG}.example"
    before = office.count(labels, person)
    desk = page.locator(".desk__roles")
    for number in range(5):
        here = desk.get_attribute("action") or ""
        page.keyboard.press(str(number % 4 + 1))
        expect(desk).not_to_have_attribute("action", here)
    assert office.count(labels, person) == before + 5


@in_every_look
def test_the_auditor_verifies_and_takes_the_month_along(
    look: tuple[str, tuple[int, int]], enter: Enter, office: Office, asked: int, tmp_path: Path
) -> None:
    page = enter("auditor", look).page
    page.goto(f"{office.product.address}/audit/?action=verdict.")
    expect(page.locator("li.event").filter(has_text="Verdict approved").first).to_be_visible()
    page.get_by_role("button", name="Verify the chain").click()
    expect(page.get_by_text("The chain is whole")).to_be_visible(timeout=WORK)
    page.goto(f"{office.product.address}/runs/{asked}/as-of/")
    expect(page.get_by_role("heading").first).to_be_visible()
    if office.scale is LARGE:
        return  # a month of a hundred runs takes minutes; the small one shows the way
    page.goto(f"{office.product.address}/exports/")
    page.get_by_role("button", name="Export the period").click()
    link = page.get_by_role("link", name=re.compile(r"\.zip$"))
    expect(link).to_be_visible(timeout=WORK)
    with page.expect_download() as taken:
        link.click()
    taken.value.save_as(tmp_path / "month.zip")
    with zipfile.ZipFile(tmp_path / "month.zip") as parcel:
        assert {"overview.html", "overview.pdf", "trail.jsonl", "SHA256SUMS"} <= set(parcel.namelist())
        assert f"runs/run-{asked}.pdf" in parcel.namelist()
