"""The style guide in a real browser, under the product's own content security policy: accessibility, keys, themes."""

from __future__ import annotations

import mimetypes
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.test import override_settings

from workbench.devtools.styleguide import example_context
from workbench.review.models import ReasonCode

pytest.importorskip("playwright.sync_api")

pytestmark = pytest.mark.e2e

POLICY = "; ".join(
    f"{name} {' '.join(sources)}" for name, sources in settings.CONTENT_SECURITY_POLICY["DIRECTIVES"].items()
)
#: WCAG 2.2, 2.5.8: the least height and width of a target, in CSS pixels; links inside sentences are exempt.
TARGET = 24


@dataclass
class Site:
    """A server of the style guide and its static files; POSTs are kept and answered with a decided card."""

    html: str
    decided: str
    address: str = ""
    posts: list[tuple[str, str]] = field(default_factory=list)
    status: int = 200


class Handler(BaseHTTPRequestHandler):
    """Answers from ``server.site``."""

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def answer(self, body: bytes, content_type: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        if path == "/":
            self.answer(self.server.site.html.encode(), "text/html; charset=utf-8")
            return
        found = finders.find(path.removeprefix("/static/"))
        if not found:
            self.answer(b"", "text/plain", 404)
            return
        kind = mimetypes.guess_type(found)[0] or "application/octet-stream"
        self.answer(Path(found).read_bytes(), kind)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode(errors="replace")
        self.server.site.posts.append((self.path, f"{self.headers.get('X-CSRFToken')} {body}"))
        self.answer(self.server.site.decided.encode(), "text/html; charset=utf-8", self.server.site.status)


class Server(ThreadingHTTPServer):
    """Does not print that a browser closed a connection it no longer needed."""

    def handle_error(self, *_: object) -> None:
        """Quiet."""


def render_site() -> Site:
    """The style guide with addresses that the handler answers."""
    context = example_context() | {"csrf_token": "the-token"}
    for number, card in enumerate(context["cards"]):
        card.update({f"{name}_url": f"/{name}/{number}" for name in ("approve", "override", "unsure")})
    context["upload"]["url"] = "/upload"
    decision = {"action": "approve", "role": "primary", "by": "Ruth Okafor", "at": context["events"][0]["at"]}
    card = context["cards"][0] | {"decision": decision}
    with override_settings(ROOT_URLCONF="tests.workbench.test_templates"):
        html = render_to_string("styleguide.html", context)
        decided = render_to_string(
            "partials/_candidate_card.html", {"card": card, "reason_choices": ReasonCode.choices}
        )
    return Site(html=html, decided=decided)


@pytest.fixture
def site() -> Iterator[Site]:
    server = Server(("127.0.0.1", 0), Handler)
    server.site = render_site()
    server.site.address = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.site
    server.shutdown()
    server.server_close()


def open_page(browser, site: Site, *, width: int = 1440, scheme: str = "light", **options):
    """The style guide in a fresh profile; ``page.complaints`` collects what the browser complains of."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
    page = context.new_page()
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(site.address)
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_and_the_policy_is_kept(browser, site: Site, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = open_page(browser, site, width=width, scheme=scheme)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.complaints == []


@pytest.mark.parametrize("width", [1440, 720, 390, 320])
def test_nothing_is_wider_than_the_window(browser, site: Site, width: int) -> None:
    page = open_page(browser, site, width=width)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_targets_are_large_enough(browser, site: Site) -> None:
    page = open_page(browser, site)
    small = page.evaluate(
        """least => [...document.querySelectorAll('a,button,summary,input:not([type=hidden]),select')]
            .filter(e => e.checkVisibility() && !e.closest('p,dd,.event,.card__where,.row__wide,label,.choice'))
            .filter(e => !e.closest('.visually-hidden,.skip') && !e.matches('input[type=checkbox]'))
            .map(e => [e.outerHTML.slice(0, 90), e.getBoundingClientRect()])
            .filter(([, box]) => box.height < least || box.width < least)
            .map(([html, box]) => `${Math.round(box.width)}x${Math.round(box.height)} ${html}`)""",
        TARGET,
    )
    assert small == []


def test_approval_takes_two_keys_and_moves_to_the_next_open_card(browser, site: Site) -> None:
    page = open_page(browser, site)
    page.keyboard.press("j")
    assert page.locator("[data-card][aria-current=true]").get_attribute("id") == "c-6"
    page.keyboard.press("a")
    page.wait_for_selector("#c-6 .decision")
    assert [path for path, _ in site.posts] == ["/approve/0"]
    assert site.posts[0][1].startswith("the-token ")
    page.wait_for_selector("#c-11[aria-current=true]")
    assert page.evaluate("document.activeElement.id") == "c-11"


def test_role_key_opens_the_override_and_enter_on_the_reason_records_it(browser, site: Site) -> None:
    page = open_page(browser, site)
    page.keyboard.press("j")
    assert not page.locator("#c-6 .override__form").is_visible()
    page.keyboard.press("3")
    assert page.locator("#c-6 .override__form").is_visible()
    assert page.evaluate("document.activeElement.name") == "reason_code"
    page.locator("#c-6 select").select_option("duplicate")
    page.keyboard.press("Enter")
    page.wait_for_selector("#c-6 .decision")
    path, body = site.posts[0]
    assert path == "/override/0"
    assert "role=tangential" in body
    assert "reason_code=duplicate" in body


def test_a_form_costs_nothing_until_its_card_is_acted_on(browser, site: Site) -> None:
    page = open_page(browser, site)
    assert page.locator("#c-6 .override__form").count() == 0
    page.keyboard.press("j")
    assert page.locator("#c-6 .override__form").count() == 1
    hints = page.locator("#c-6 .override__form [data-key]").all()
    assert [hint.get_attribute("aria-keyshortcuts") for hint in hints] == ["1", "2", "3", "4"]


def test_opening_the_override_moves_no_button(browser, site: Site) -> None:
    page = open_page(browser, site)
    buttons = page.locator("#c-6 .card__acts > .button-row .button")
    before = [box.bounding_box() for box in buttons.all()]
    page.locator("#c-6 .override summary").click()
    assert [box.bounding_box() for box in buttons.all()] == before


def test_keys_do_nothing_while_typing_and_can_be_switched_off(browser, site: Site) -> None:
    page = open_page(browser, site)
    page.locator("#filter-q").focus()
    page.keyboard.press("j")
    assert page.locator("[data-card][aria-current=true]").count() == 0
    page.locator("#filter-q").evaluate("field => field.blur()")
    page.keyboard.press("?")
    page.get_by_label("Single keys are on").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    assert page.locator("[data-card][aria-current=true]").count() == 0


def test_a_key_can_be_bound_anew_and_is_shown_on_the_control(browser, site: Site) -> None:
    page = open_page(browser, site)
    page.keyboard.press("?")
    page.locator("[data-rebind=j]").click()
    page.keyboard.press("y")
    page.keyboard.press("Escape")
    assert page.locator("[data-cards-step='1'] .key").inner_text() == "y"
    page.reload()
    page.keyboard.press("j")
    assert page.locator("[data-card][aria-current=true]").count() == 0
    page.keyboard.press("y")
    assert page.locator("[data-card][aria-current=true]").count() == 1


def test_theme_is_set_before_the_first_paint_and_remembered(browser, site: Site) -> None:
    page = open_page(browser, site)
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.locator(".menu summary").click()
    page.locator("[data-theme-choice=dark]").click()
    dark = page.evaluate(paper)
    assert dark != light
    page.reload()
    assert page.evaluate(paper) == dark
    assert page.locator("[data-theme-choice=dark]").get_attribute("aria-pressed") == "true"


def test_a_refusal_is_shown_on_the_card_and_a_failure_in_words(browser, site: Site) -> None:
    page = open_page(browser, site)
    site.status = 409
    site.decided = site.decided.replace('class="decision"', 'class="decision" data-late')
    page.locator("#c-6 [data-key=a]").click()
    page.wait_for_selector("#c-6 [data-late]")
    site.status = 500
    page.locator("#c-11 [data-key=a]").click()
    page.wait_for_selector("#toasts .message")
    assert "Nothing was changed" in page.locator("#toasts").inner_text()


def test_files_are_sent_one_by_one_and_end_in_rows(browser, site: Site) -> None:
    page = open_page(browser, site)
    site.decided = '<li class="row" id="d-new">Received file</li>'
    files = [{"name": f"{n}.txt", "mimeType": "text/plain", "buffer": b"words"} for n in "ab"]
    page.locator("#upload-files").set_input_files(files)
    page.locator("[data-dropzone] .button--primary").click()
    page.wait_for_selector("#documents #d-new")
    page.wait_for_function("document.querySelectorAll('[data-uploads] li').length === 0")
    assert [path for path, _ in site.posts] == ["/upload", "/upload"]
    assert sorted(body.count('filename="') for _, body in site.posts) == [1, 1]


def test_page_image_zooms_and_lights_a_line_in_both_places(browser, site: Site) -> None:
    page = open_page(browser, site)
    before = page.locator(".sheet").bounding_box()["width"]
    page.locator("[data-zoom='1']").click()
    assert page.locator(".sheet").bounding_box()["width"] > before
    page.locator("#p6-l2 .lines__text").hover()
    assert page.locator("rect.is-lit[data-line=p6-l2]").count() == 1


def test_decisions_and_reading_work_without_scripts(browser, site: Site) -> None:
    page = open_page(browser, site, java_script_enabled=False)
    assert page.locator("[data-needs-js]:visible").count() == 0
    page.locator("#c-6 .override summary").click()
    page.locator("#c-6 .override__form input[value=discarded]").check()
    page.locator("#c-6 select").select_option("duplicate")
    page.locator("#c-6 .override__form .button--primary").click()
    assert [path for path, _ in site.posts] == ["/override/0"]


def test_print_shows_the_record_and_not_the_controls(browser, site: Site) -> None:
    page = open_page(browser, site, scheme="dark")
    page.emulate_media(media="print")
    assert page.locator(".bar").is_hidden()
    assert page.locator("#c-6 .card__acts > .button-row").is_hidden()
    assert page.locator("#c-2 .decision").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
