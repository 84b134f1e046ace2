"""Draws the diagrams of the documents as pictures for the site, which fetches nothing from elsewhere.

    npm pack mermaid && tar xzf mermaid-*.tgz
    .venv/bin/python docs/diagrams.py package/dist/mermaid.min.js

Each picture is named after the words it was drawn from, so that a diagram that was changed and not drawn again is
noticed (``tests/test_site.py``). Read by ``hooks.py`` too, which puts the pictures in the places of the words.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "img" / "diagrams"
BLOCK = re.compile(r"^```mermaid\n(.*?)^```$", re.DOTALL | re.MULTILINE)
#: Text as text, so that a picture in an <img> shows it; the fonts are those of any machine.
SETTINGS = (
    "{startOnLoad: false, theme: 'neutral', fontFamily: 'sans-serif', "
    "htmlLabels: false, flowchart: {htmlLabels: false}}"
)


def picture_of(words: str) -> str:
    """The name of the picture of a diagram."""
    return f"{hashlib.sha256(words.encode()).hexdigest()[:12]}.svg"


def diagrams() -> Iterator[str]:
    """The words of every diagram in the documents."""
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]:
        yield from BLOCK.findall(path.read_text("utf-8"))


def draw(library: Path) -> None:
    """Draws all, and removes pictures of what is gone. ``library`` is mermaid's own script."""
    from playwright.sync_api import sync_playwright

    PICTURES.mkdir(parents=True, exist_ok=True)
    wanted = {picture_of(words): words for words in diagrams()}
    for path in PICTURES.glob("*.svg"):
        if path.name not in wanted:
            path.unlink()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page()
        page.set_content("<!doctype html><html lang=en><body></body></html>")
        page.add_script_tag(path=library)
        page.evaluate(f"mermaid.initialize({SETTINGS})")
        for name, words in wanted.items():
            picture = page.evaluate("words => mermaid.render('diagram', words).then(made => made.svg)", words)
            (PICTURES / name).write_text(_standing_alone(picture) + "\n", "utf-8")
        browser.close()


def _standing_alone(picture: str) -> str:
    """With a size and a ground of its own, whatever page it stands on."""
    width, height = re.search(r'viewBox="\S+ \S+ (\S+) (\S+)"', picture).groups()
    picture = picture.replace('width="100%"', f'width="{float(width):.0f}" height="{float(height):.0f}"', 1)
    return picture.replace('style="', 'style="background: white; ', 1)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
