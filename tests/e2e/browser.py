"""A visitor: one person with one browser window, and what the browser complained of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from shutil import which
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect, sync_playwright

from tests.product import PASSWORD
from workbench.stack.gate import BROWSERS

CHROMIUM = next(filter(None, map(which, BROWSERS)), None)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE, NARROW = (1440, 900), (390, 844)
#: Milliseconds that a page, and a piece of background work, may take on a busy machine.
PATIENCE, WORK = 90_000, 480_000

expect.set_options(timeout=PATIENCE)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's own Chromium."""
    assert CHROMIUM, "no Chromium on this machine: apt-get install chromium-headless-shell"
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            yield running
        finally:
            running.close()


@dataclass
class Visitor:
    """A person at a browser. ``complaints`` holds console errors, uncaught errors and policy violations."""

    page: Page
    address: str
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(f"{self.page.url}: {message.text}")

    def go(self, path: str) -> Page:
        """Opens a page of the product, once its own requests for evidence are answered."""
        self.page.goto(self.address + path)
        return self.page

    def log_in(self, role: str, *, house: str = "demo") -> Page:
        """Through the door, as a person of the demo or of another house does."""
        page = self.go("/accounts/login/")
        page.get_by_label("Email").fill(f"{role}@{house}.example")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="Good day")).to_be_visible()
        return page

    def expect_refusal(self, status: int) -> None:
        """The browser logs a refused request as an error; this one was meant."""
        told = [text for text in self.complaints if f"status of {status}" in text]
        assert told, f"no request was answered with {status}"
        for text in told:
            self.complaints.remove(text)


#: Keeps, over all pages that a person opens, every control that a page moved while the pointer rested there, what the
#: content security policy refused, and the largest layout shift of a page: without what follows an input within half a
#: second, as browsers count it, or its answer, which a busy machine gives later. The pointer stays where it was when
#: the next page comes: what that page moves under it counts as well.
WATCH_THE_POINTER = """
(() => {
    if (!/^http/.test(location.protocol)) return;
    const kept = (name, otherwise) => JSON.parse(sessionStorage.getItem(`seen.${name}`) ?? otherwise);
    const keep = (name, value) => sessionStorage.setItem(`seen.${name}`, JSON.stringify(value));
    let [x, y] = kept("pointer", "[-1, -1]"), rested = 0, total = 0;
    const answers = [];
    addEventListener("mousemove", (event) => {
        [x, y, rested] = [event.clientX, event.clientY, performance.now()];
        keep("pointer", [x, y]);
    }, true);
    addEventListener("securitypolicyviolation", (event) =>
        keep("refused", [...kept("refused", "[]"), `${event.violatedDirective} ${event.blockedURI}`]));
    const byPerson = ({ detail }) =>
        ["submit", "click", "change", "keydown"].includes(detail.requestConfig?.triggeringEvent?.type);
    let leadsOn = false;
    addEventListener("htmx:afterRequest", (event) => {
        if (byPerson(event)) leadsOn = Boolean(event.detail.xhr.getResponseHeader("HX-Location"));
    });
    addEventListener("htmx:beforeSwap", (event) => {
        if (!byPerson(event) && !leadsOn) return;
        leadsOn = false;
        answers.push(performance.now());
    });
    const holds = (rect) => x >= rect.left && x <= rect.right && y >= rect.top && y <= rect.bottom;
    new PerformanceObserver((list) => {
        for (const shift of list.getEntries()) {
            const answered = answers.some((at) => at <= shift.startTime && shift.startTime < at + 500);
            if (!shift.hadRecentInput && !answered) total += shift.value;
            keep("shift", Math.max(kept("shift", "0"), total));
            if (x < 0 || shift.startTime < rested) continue;
            for (const source of shift.sources) {
                const node = source.node && source.node.nodeType === 1 ? source.node : source.node?.parentElement;
                const control = node?.closest("button, a.button, summary, input, select");
                if (control && (holds(source.previousRect) || holds(source.currentRect)))
                    keep("moved", [...kept("moved", "[]"), `${location.pathname}: ${control.outerHTML.slice(0, 160)}`]);
            }
        }
    }).observe({ type: "layout-shift", buffered: true });
})();
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a person met on all the pages of a sitting: controls that moved from, or to, under the resting pointer; what
    the policy refused; the largest layout shift of a page, without what follows an input or its answer."""

    moved: list[str]
    refused: list[str]
    shift: float


def seen(page: Page) -> Seen:
    """What :data:`WATCH_THE_POINTER` kept; read it before the window is closed."""
    found: Any = page.evaluate(
        """() => ["moved", "refused", "shift"].map((name) => JSON.parse(sessionStorage.getItem(`seen.${name}`)))"""
    )
    moved, refused, shift = found
    return Seen(moved or [], refused or [], shift or 0.0)


def restyled(page: Page) -> None:
    """Waits until a change of colours or size is painted, its transitions have ended and no part is being swapped."""
    page.wait_for_function("() => !document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling')")
    page.evaluate(
        """async () => {
            for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
            await Promise.allSettled(document.getAnimations().map((one) => one.finished));
        }"""
    )


def evidence_settled(page: Page) -> None:
    """Waits until page images are drawn, and the panel beside the cards, where it is shown, holds the evidence of the
    current card."""
    page.wait_for_function(
        """() => {
            if (document.querySelector(".sheet__blank[hx-get]")) return false;
            const side = document.querySelector(".review__side");
            if (!side || !side.checkVisibility()) return true;
            const image = side.querySelector(".sheet img");
            return side.querySelector(".panel:not(.is-stale)") && (!image || image.complete);
        }"""
    )


def current_card(page: Page) -> Locator:
    """The card that keys act on."""
    return page.locator("[data-card][aria-current=true]")


def open_card(page: Page) -> Locator:
    """The first card that waits for a decision, unfolded; one that is not folded if there is any."""
    waiting = page.locator("[data-card-open]:not(:has(details.fold))")
    if not waiting.count():
        waiting = page.locator("[data-card-open]")
    card = page.locator(f"#{waiting.first.get_attribute('id')}")
    if card.locator("details.fold:not([open])").count():
        card.locator("details.fold > summary").click()
    return card


def other_role(card: Locator) -> str:
    """A role that the machine did not give it."""
    return "tangential" if "is-discarded" in (card.get_attribute("class") or "") else "discarded"


def overflow(page: Page) -> int:
    """Pixels by which the page is wider than the window."""
    found: Any = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return int(found)


#: The narrowest field that still shows a number of four digits, in pixels; the least share of a list of facts that is
#: left to the facts.
NARROWEST, LEAST_SHARE = 40, 0.4


def squeezed(page: Page) -> list[str]:
    """Fields and facts that have too little room for what stands in them."""
    found: Any = page.evaluate(
        """([narrowest, share]) => {
            const wide = (element) => element.getBoundingClientRect().width;
            const seen = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
            const fields = seen("input:not([type=checkbox], [type=radio], [type=hidden]), select, textarea");
            const facts = seen(".facts > dd");
            return [
                ...fields.filter((field) => wide(field) < narrowest),
                ...facts.filter((fact) => wide(fact) < share * wide(fact.parentElement)),
            ].map((element) => element.outerHTML.slice(0, 160));
        }""",
        [NARROWEST, LEAST_SHARE],
    )
    return list(found)


def violations(page: Page) -> str:
    """What axe finds wrong with the page, empty where that is nothing."""
    axe = Axe("") if page.evaluate("'axe' in window") else Axe()
    found = axe.run(page)
    return found.generate_report() if found.violations_count else ""


def blank_below(page: Page) -> int:
    """Pixels that the page scrolls on below its end, where there is nothing."""
    found: Any = page.evaluate(
        "document.documentElement.scrollHeight - scrollY - document.body.getBoundingClientRect().bottom"
    )
    return int(found)
