"""``python -m tests.e2e.shots``: the pictures of ``docs/img``, taken from a running product on its demo documents.

Only documents written for the demo are in it, never test data. Pictures are palette PNGs, named by page, theme and
width; those the gallery shows are listed in ``docs/tour.md``.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page

from tests.e2e.browser import NARROW, WIDE, Visitor, chromium, current_card, evidence_settled
from tests.e2e.conftest import QUESTIONS, ask
from tests.e2e.furniture import furnish
from tests.product import RunningProduct, eventually, running_product

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "img"
COLOURS = 256
DEMO_DOCUMENTS = 5
LOOKS = [(scheme, size) for scheme in ("light", "dark") for size in (WIDE, NARROW)]


@dataclass(frozen=True)
class Shot:
    """A picture: whose page, where, and what is done there before it is taken."""

    name: str
    role: str
    path: str
    prepare: Callable[[Page], None] = lambda page: None


def _override(page: Page) -> None:
    page.keyboard.press("j")
    card = current_card(page)
    page.keyboard.press("3")
    card.locator("select[name=reason_code]").select_option("wrong_passage")


def shots(product: RunningProduct) -> list[Shot]:
    """Every picture; the runs they need are asked first."""
    run = ask(product, *QUESTIONS["collection"])
    on_pdf = ask(product, *QUESTIONS["pdf"])
    absent = ask(product, *QUESTIONS["not_found"])
    (pdf,) = product.rows(
        "SELECT id FROM documents_document WHERE name = %s", "regulation-on-client-records.pdf"
    )[0]
    (evidence,) = product.rows(
        "SELECT c.id FROM questions_candidate c JOIN questions_verdict v ON v.candidate_id = c.id"
        ' WHERE c.run_id = %s ORDER BY v."order" LIMIT 1',
        on_pdf,
    )[0]
    return [
        Shot("run", "reviewer", f"/runs/{on_pdf}/"),
        Shot("queue", "reviewer", "/queue/"),
        Shot("document", "analyst", f"/documents/{pdf}/?page=3"),
        Shot("override", "reviewer", f"/runs/{run}/", _override),
        Shot("not-found", "reviewer", f"/runs/{absent}/"),
        Shot("evidence", "reviewer", f"/candidates/{evidence}/evidence/"),
        Shot("provenance", "auditor", f"/runs/{on_pdf}/?tab=provenance"),
        Shot("collection", "analyst", "/collections/demo/"),
        Shot("ask", "analyst", "/ask/"),
        Shot("home", "reviewer", "/"),
        Shot("audit", "auditor", "/audit/"),
        Shot("settings", "admin", "/collections/demo/settings/"),
        Shot("operations", "admin", "/operations/"),
    ]


def furnished(product: RunningProduct) -> list[Shot]:
    """Pictures of what needs more than the demo: it is made only after the others are taken, or it would be on them."""
    made = furnish(product)
    return [
        Shot("round", "reviewer", made["round"]),
        Shot("comparison", "reviewer", made["comparison"]),
        Shot("strategies", "auditor", "/strategies/"),
        Shot("label-desk", "annotator", f"{made['project']}work/"),
        Shot("agreement", "auditor", "/labeling/agreement/"),
        Shot("trust", "auditor", "/trust/"),
        Shot("models", "admin", "/models/"),
        Shot("vocabulary", "admin", "/collections/demo/vocabulary/"),
        Shot("exports", "auditor", "/exports/"),
    ]


#: These are shown in every look; the others once, in light and wide.
EVERY_LOOK = {"run", "queue", "document"}


def take(browser: Browser, product: RunningProduct, shot: Shot, scheme: str, size: tuple[int, int]) -> Path:
    """One picture, as a person with this window and theme sees the page."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, reduced_motion="reduce"
    )
    visitor = Visitor(context.new_page(), product.address)
    visitor.log_in(shot.role)
    page = visitor.go(shot.path)
    evidence_settled(page)
    shot.prepare(page)
    evidence_settled(page)
    target = FOLDER / f"{shot.name}-{scheme}-{size[0]}.png"
    target.write_bytes(small(page.screenshot()))
    context.close()
    return target


def small(picture: bytes) -> bytes:
    """The picture with a palette of its own colours."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    reduced = image.quantize(colors=COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    body = io.BytesIO()
    reduced.save(body, "PNG", optimize=True)
    return body.getvalue()


def main() -> None:
    """Takes all pictures anew."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with running_product() as product, chromium() as browser:
        ready = "SELECT count(*) FILTER (WHERE status <> 'ready'), count(*) FROM documents_document"
        eventually(
            lambda: product.rows(ready)[0] == (0, DEMO_DOCUMENTS), seconds=300, what="the demo is ready"
        )
        for make in (shots, furnished):
            for shot in make(product):
                for scheme, size in LOOKS if shot.name in EVERY_LOOK else LOOKS[:1]:
                    target = take(browser, product, shot, scheme, size)
                    print(f"{target.relative_to(FOLDER.parent.parent)}  {target.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
