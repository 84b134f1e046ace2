"""The heart of the product in Spanish: no label is left in English, axe finds nothing, nothing is wider than the
window of a phone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.browser import NARROW, evidence_settled, overflow, restyled, violations
from tests.e2e.conftest import Visit
from tests.e2e.labelling import start_project
from tests.product import RunningProduct
from workbench.stack import messages

CATALOG = Path(__file__).resolve().parents[2] / "workbench" / "locale" / "es" / "LC_MESSAGES" / "django.po"
ROLES = ("reviewer", "analyst", "annotator", "admin")
#: Who looks at which page, and words that must stand on it.
HEART = {
    "home": ("reviewer", "/", ("En espera", "Últimas preguntas", "Cerrar sesión")),
    "run": ("reviewer", "/runs/{run}/", ("Aprobar", "Revocar", "No puedo decidir", "Procedencia")),
    "queue": ("reviewer", "/queue/", ("Cola", "Empezar la siguiente", "Filtrar")),
    "document": ("analyst", "{document}", ("Esquema", "Buscar en este documento")),
    "ask": ("analyst", "/ask/", ("Preguntar", "Estrategia", "Todos los documentos")),
    "labeling": ("admin", "/labeling/", ("Etiquetado", "Proyecto nuevo")),
    "models": ("admin", "/models/", ("Reentrenar ahora", "Ensayo", "Todos los modelos")),
}
#: Every text of the page that people read or hear; not code, not the words of documents, not other languages.
TEXTS = r"""() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
        const around = walker.currentNode.parentElement;
        if (!around.closest("script, style, code, pre, mark, blockquote, .excerpt, .context, .mono, [lang]:not(html)"))
            found.push(walker.currentNode.data.replace(/\s+/g, " ").trim());
    }
    for (const element of document.querySelectorAll("[aria-label], [title], [placeholder], [alt]"))
        for (const name of ["aria-label", "title", "placeholder", "alt"]) found.push(element.getAttribute(name) ?? "");
    return found.filter(Boolean);
}"""


@pytest.fixture(scope="module", autouse=True)
def in_spanish(product: RunningProduct) -> Iterator[dict[str, str]]:
    """Session keys of people who have chosen Spanish; they read English again afterwards."""
    with ExitStack() as stack:
        clients = {role: stack.enter_context(closing(product.client(role))) for role in ROLES}
        for client in clients.values():
            assert client.post("/i18n/", data={"language": "es", "next": "/ask/"}).url.path == "/ask/"
        yield {role: client.cookies["sessionid"] for role, client in clients.items()}
        for client in clients.values():
            client.post("/i18n/", data={"language": "en", "next": "/ask/"})


@pytest.fixture(scope="module")
def english() -> set[str]:
    """Whole texts whose Spanish is another."""
    return {
        message.id
        for message in messages.read(CATALOG)
        if isinstance(message.id, str) and message.id and message.id != message.string
    }


@pytest.fixture(scope="module")
def places(product: RunningProduct, runs: dict[str, int]) -> dict[str, object]:
    """Addresses of objects of the demo."""
    start_project(product, "Preguntas de prueba")
    query = "SELECT id FROM documents_document WHERE name = 'regulation-on-client-records.pdf'"
    return {"run": runs["collection"], "document": f"/documents/{product.rows(query)[0][0]}/?page=3&q=record"}


@pytest.mark.parametrize("name", HEART)
def test_page(
    name: str,
    visit: Visit,
    places: dict[str, object],
    product: RunningProduct,
    in_spanish: dict[str, str],
    english: set[str],
) -> None:
    role, path, words = HEART[name]
    visitor = visit(None)
    cookie = {"name": "sessionid", "value": in_spanish[role], "url": product.address}
    visitor.page.context.add_cookies([cookie])
    page = visitor.go(path.format(**places))
    evidence_settled(page)
    expect(page.locator("html")).to_have_attribute("lang", "es")
    texts = page.evaluate(TEXTS)
    assert all(any(word in text for text in texts) for word in words), texts
    assert english & set(texts) - _names(product) == set()
    assert violations(page) == ""
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    restyled(page)
    evidence_settled(page)
    assert english & set(page.evaluate(TEXTS)) - _names(product) == set()
    assert violations(page) == ""
    assert overflow(page) <= 0


def test_the_menu_changes_the_language(visit: Visit, product: RunningProduct) -> None:
    visitor = visit(None)
    page = visitor.go("/accounts/login/")
    page.locator(".menu summary").click()
    page.get_by_role("button", name="Español").click()
    expect(page.get_by_role("button", name="Iniciar sesión")).to_be_visible()


def _names(product: RunningProduct) -> set[str]:
    """What people call people, collections and documents is theirs."""
    query = "SELECT name FROM accounts_user UNION SELECT name FROM documents_collection"
    return {name for (name,) in product.rows(query)}
