"""One running product, one browser, and visitors whose browsers must not complain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.browser import NARROW, WIDE, Visitor
from tests.product import PASSWORD, RunningProduct, await_demo, eventually, running_product

playwright = pytest.importorskip("playwright.sync_api")

Visit = Callable[..., Visitor]
METRICS_TOKEN = "a-token-that-only-the-tests-know"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here drives a browser."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def product() -> Iterator[RunningProduct]:
    """Web, worker and beat with a home of their own; the demo documents are ready."""
    extra = {"WEBAUTHN": "1", "WORKBENCH_USER_PASSWORD": PASSWORD, "METRICS_TOKEN": METRICS_TOKEN}
    with running_product(extra) as running:
        await_demo(running)
        yield running


@pytest.fixture(scope="session")
def sessions() -> dict[str, object]:
    """Cookies by role, so that most tests need not pass the door again."""
    return {}


@pytest.fixture(scope="session")
def window(browser, product: RunningProduct, sessions: dict[str, object]) -> Visit:
    """``window("reviewer")`` opens a browser of that demo user's, who is signed in; None is nobody's."""

    def make(
        role: str | None, *, narrow: bool = False, scheme: str = "light", scripts: bool = True
    ) -> Visitor:
        width, height = NARROW if narrow else WIDE
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            java_script_enabled=scripts,
            storage_state=sessions.get(role) if role else None,
            reduced_motion="reduce",
        )
        visitor = Visitor(context.new_page(), product.address)
        if role and role not in sessions:
            visitor.log_in(role)
            sessions[role] = context.storage_state()
        return visitor

    return make


@pytest.fixture
def visit(window: Visit) -> Iterator[Visit]:
    """``visit("reviewer")`` is a fresh browser of that demo user's. Fails the test when one complained."""
    visitors: list[Visitor] = []

    def make(role: str | None, **look: object) -> Visitor:
        visitors.append(window(role, **look))
        return visitors[-1]

    yield make
    complaints = [text for visitor in visitors for text in visitor.complaints]
    for visitor in visitors:
        visitor.page.context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def kept(window: Visit) -> Iterator[dict[str | None, Visitor]]:
    """The browsers that tests of a module share, by role."""
    visitors: dict[str | None, Visitor] = {}
    yield visitors
    for visitor in visitors.values():
        visitor.page.context.close()


@pytest.fixture
def keep(window: Visit, kept: dict[str | None, Visitor]) -> Iterator[Visit]:
    """``keep("reviewer")`` is the one browser of that demo user's in the module, for those who only look: scripts and
    styles are fetched and compiled once. Fails the test when it complained."""

    def one(role: str | None) -> Visitor:
        if role not in kept:
            kept[role] = window(role)
        return kept[role]

    yield one
    complaints = [text for visitor in kept.values() for text in visitor.complaints]
    for visitor in kept.values():
        visitor.complaints.clear()
    assert complaints == []


@pytest.fixture(scope="session")
def runs(product: RunningProduct) -> dict[str, int]:
    """Finished runs on the demo documents by what they show: an answer over all of them, one on the PDF, a
    not-found."""
    return {name: ask(product, *question) for name, question in QUESTIONS.items()}


QUESTIONS = {
    "collection": ("Within how many days must the Client pay an undisputed invoice?", None),
    "pdf": (
        "What does Article 20 require when an automated system selects information?",
        "regulation-on-client-records.pdf",
    ),
    "not_found": (
        "When are dividends paid to shareholders?",
        "information-security-policy.md",
    ),
}


def ask(product: RunningProduct, text: str, document: str | None, strategy: str = "offline") -> int:
    """The number of a finished run, asked through the API as the analyst."""
    with closing(product.client("analyst")) as client:
        documents = client.get("/api/v1/documents/").json()["results"]
        body = {"collection": "demo", "text": text, "strategy": strategy}
        if document:
            body["document"] = next(row["id"] for row in documents if row["name"] == document)
        answer = client.post("/api/v1/questions/", json=body)
        assert answer.status_code in {200, 201, 202}, answer.text
    (run,) = product.rows(
        "SELECT r.id FROM questions_run r JOIN questions_question q ON q.id = r.question_id"
        " WHERE q.text = %s AND r.strategy = %s ORDER BY r.id DESC LIMIT 1",
        text,
        strategy,
    )
    eventually(
        lambda: product.rows("SELECT 1 FROM questions_run WHERE id = %s AND status = 'done'", run[0]),
        seconds=300,
        what=f"run {run[0]} is done",
    )
    return int(run[0])
