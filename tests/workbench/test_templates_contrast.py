"""WCAG 2.2 contrast of the design system's colours, read from the style sheet itself, in both themes."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

CSS = (Path(__file__).resolve().parents[2] / "static" / "css" / "workbench.css").read_text(encoding="utf-8")
PAIR = re.compile(r"--([\w-]+):\s*light-dark\((#[0-9a-f]{6}),\s*(#[0-9a-f]{6})\);")
COLOURS = {name: {"light": light, "dark": dark} for name, light, dark in PAIR.findall(CSS)}
THEMES = ("light", "dark")

GROUNDS = ("paper", "paper-raised", "paper-sunk")
TEXTS = (
    "ink",
    "ink-2",
    "ink-3",
    "accent",
    "role-primary",
    "role-supporting",
    "role-tangential",
    "role-discarded",
)
#: Text on a ground of its own: (text, ground).
TINTED = [
    *((f"role-{role}", f"role-{role}-wash") for role in ("primary", "supporting", "tangential", "discarded")),
    ("ink", "marker"),
    ("ink-2", "marker"),
    ("accent", "accent-wash"),
    ("ink", "accent-wash"),
    ("ink", "role-primary-wash"),
    ("ink", "role-supporting-wash"),
    ("ink-3", "role-primary-wash"),
    ("ink-3", "role-supporting-wash"),
    ("paper", "ink"),
    ("paper", "ink-2"),
]
TEXT_MINIMUM = 4.5  # WCAG 2.2, 1.4.3 AA
CONTROL_MINIMUM = 3.0  # WCAG 2.2, 1.4.11 AA


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb``, 0 (black) to 1 (white), as WCAG defines it."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours, 1 to 21."""
    lighter, darker = sorted((luminance(first), luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_the_formula_agrees_with_the_known_ends() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("text", "ground"), [*product(TEXTS, GROUNDS), *TINTED])
def test_text_can_be_read(theme: str, text: str, ground: str) -> None:
    ratio = contrast(COLOURS[text][theme], COLOURS[ground][theme])
    assert ratio >= TEXT_MINIMUM, f"--{text} on --{ground} in {theme}: {ratio:.2f}"


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("mark", "ground"), list(product(("rule-strong", "focus"), GROUNDS)))
def test_controls_and_focus_can_be_seen(theme: str, mark: str, ground: str) -> None:
    ratio = contrast(COLOURS[mark][theme], COLOURS[ground][theme])
    assert ratio >= CONTROL_MINIMUM, f"--{mark} on --{ground} in {theme}: {ratio:.2f}"


def test_boxes_can_be_seen_on_a_white_page_image() -> None:
    boxes = dict(re.findall(r"--(box-[\w-]+):\s*(#[0-9a-f]{6});", CSS))
    assert set(boxes) == {"box-anchor", "box-context", "box-hover", "box-hit"}
    for name, colour in boxes.items():
        assert contrast(colour, "#ffffff") >= CONTROL_MINIMUM, name


def test_every_colour_used_is_a_token_of_both_themes() -> None:
    used = set(re.findall(r"var\(--((?:paper|ink|role|rule|accent|marker|focus)[\w-]*)", CSS)) - {
        "role",
        "role-wash",
    }
    assert used <= set(COLOURS)
