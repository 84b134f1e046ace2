"""A visitor: one person with one browser window, and what the browser complained of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from shutil import which
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect, sync_playwright

from tests.product import PASSWORD

CHROMIUM = which("chromium") or which("chromium-browser") or which("google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE, NARROW = (1440, 900), (390, 844)
#: Milliseconds that a page, and a piece of background work, may take on a busy machine.
PATIENCE, WORK = 30_000, 240_000

expect.set_options(timeout=PATIENCE)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's own Chromium."""
    assert CHROMIUM, "no Chromium on this machine: apt-get install chromium"
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


#: Told of every element that a page moves while the pointer rests on it, after the person came to rest there.
WATCH_THE_POINTER = """
(() => {
    let x = -1, y = -1, rested = 0;
    window.movedUnderPointer = [];
    addEventListener("mousemove", (event) => {
        [x, y, rested] = [event.clientX, event.clientY, performance.now()];
    }, true);
    const holds = (rect) => x >= rect.left && x <= rect.right && y >= rect.top && y <= rect.bottom;
    new PerformanceObserver((list) => {
        for (const shift of list.getEntries()) {
            if (x < 0 || shift.startTime < rested) continue;
            for (const source of shift.sources) {
                const node = source.node && source.node.nodeType === 1 ? source.node : source.node?.parentElement;
                const control = node?.closest("button, a.button, summary, input, select");
                if (control && (holds(source.previousRect) || holds(source.currentRect)))
                    window.movedUnderPointer.push(control.outerHTML.slice(0, 160));
            }
        }
    }).observe({ type: "layout-shift", buffered: true });
})();
"""


def moved_under_pointer(page: Page) -> list[str]:
    """The controls that moved away from, or under, a resting pointer on this page."""
    found: Any = page.evaluate("window.movedUnderPointer")
    return list(found)


def evidence_settled(page: Page) -> None:
    """Waits until the panel beside the cards, where it is shown, holds the evidence of the current card."""
    page.wait_for_function(
        """() => {
            const side = document.querySelector(".review__side");
            if (!side || !side.checkVisibility()) return true;
            const image = side.querySelector(".sheet img");
            return side.querySelector(".panel:not(.is-stale)") && (!image || image.complete);
        }"""
    )


def current_card(page: Page) -> Locator:
    """The card that keys act on."""
    return page.locator("[data-card][aria-current=true]")


def overflow(page: Page) -> int:
    """Pixels by which the page is wider than the window."""
    found: Any = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return int(found)
