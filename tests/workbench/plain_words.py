"""What of a page's text is no word for people: identifiers of the code, numbered rules, ranks, bare probabilities."""

from __future__ import annotations

import re

from lxml import html

#: What a reader opens to see codes, or what is marked as one.
_FOR_MACHINES = (
    "//script|//style|//code|//pre|//kbd|//svg|//details|//*[contains(@class, 'mono')]|//textarea|//noscript"
)
_CODED = {
    "an identifier": re.compile(r"\bp\d+_l\d+\w*|\b[a-z]{2,}(?:_[a-z0-9]{2,})+\b(?![.@/])"),
    "a numbered rule": re.compile(r"\b(?:rule|regla) \d", re.IGNORECASE),
    "a rank": re.compile(r"(?<!reciprocal )\brank\b|\brango\b", re.IGNORECASE),
    "a probability": re.compile(r"\bp\s*=\s*[01]?[.,]\d"),
}
#: A figure between 0 and 1 that is no percentage; on pages of measurements it is a metric under its name.
_BARE = re.compile(r"(?<![\w.,$€/-])0?[.,]\d{2,}\b(?! ?(?:%|s\b|ms\b|USD))")
_OF_EVIDENCE = re.compile(r"^/(?:runs|queue|candidates|evidence)/")


def coded(page: str, *, path: str, own: frozenset[str] = frozenset()) -> list[str]:
    """What was found, with some of the text around it; ``own`` are names that documents and people gave."""
    tree = html.fromstring(page)
    for element in tree.xpath(_FOR_MACHINES):
        element.drop_tree()
    spoken = tree.xpath("//@title|//@aria-label|//@placeholder|//@alt")
    text = " ".join(" ".join([tree.text_content(), *spoken]).split())
    for name in sorted(own, key=len, reverse=True):
        text = text.replace(name, "…")
    patterns = _CODED | ({"a bare probability": _BARE} if _OF_EVIDENCE.match(path) else {})
    return [
        f"{what}: {text[max(found.start() - 30, 0) : found.end() + 20]}"
        for what, pattern in patterns.items()
        for found in pattern.finditer(text)
    ]
