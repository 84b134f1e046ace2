"""What of a page's text is no word for people: identifiers of the code, values of the database in lower case, numbered
rules, ranks, bare probabilities."""

from __future__ import annotations

import re

from django.db.models import TextChoices
from lxml import html

from arbitration.features import FEATURE_NAMES
from arbitration.settings import METHODS
from arbitration.strategies.registry import STRATEGIES

#: What a reader opens to see codes, or what is marked as one.
_FOR_MACHINES = (
    "//script|//style|//code|//pre|//kbd|//details|//*[contains(@class, 'mono')]|//textarea|//noscript"
)
#: Elements whose whole text is a word of its own. A badge or a state within a sentence may begin in lower case.
_WORDS = "//option|//td|//th|//dt|//dd|//label|//legend|//summary|//text|//*[contains(@class, 'plot__label')]"
_CODED = {
    "an identifier": re.compile(r"\bp\d+_l\d+\w*|\b[a-z]{2,}(?:_[a-z0-9]{2,})+\b(?![.@/])"),
    "a numbered rule": re.compile(r"\b(?:rule|regla) \d", re.IGNORECASE),
    "a rank": re.compile(r"(?<!reciprocal )\brank\b|\brango\b", re.IGNORECASE),
    "a probability": re.compile(r"\bp\s*=\s*[01]?[.,]\d"),
}
#: A figure between 0 and 1 that is no percentage; on pages of measurements it is a metric under its name.
_BARE = re.compile(r"(?<![\w.,$€/-])0?[.,]\d{2,}\b(?! ?(?:%|s\b|ms\b|USD))")
_OF_EVIDENCE = re.compile(r"^/(?:runs|queue|candidates|evidence)/")


def code_words() -> frozenset[str]:
    """What the database and the engine call states, features and detectors; strategies have names of their own."""
    choices = {
        value
        for cls in TextChoices.__subclasses__()
        if cls.__module__[:9] == "workbench"
        for value in cls.values
    }
    return frozenset(choices | set(FEATURE_NAMES) | set(METHODS)) - set(STRATEGIES)


def coded(page: str, *, path: str, own: frozenset[str] = frozenset()) -> list[str]:
    """What was found, with some of the text around it; ``own`` are names that documents and people gave."""
    tree = html.fromstring(page)
    for element in tree.xpath(_FOR_MACHINES):
        element.drop_tree()
    alone = {" ".join(element.text_content().split()) for element in tree.xpath(_WORDS)}
    spoken = tree.xpath("//@title|//@aria-label|//@placeholder|//@alt")
    text = " ".join(" ".join([tree.text_content(), *spoken]).split())
    for name in sorted(own, key=len, reverse=True):
        text = text.replace(name, "…")
    patterns = _CODED | ({"a bare probability": _BARE} if _OF_EVIDENCE.match(path) else {})
    return [f"a code: {word}" for word in sorted(alone & code_words() - own)] + [
        f"{what}: {text[max(found.start() - 30, 0) : found.end() + 20]}"
        for what, pattern in patterns.items()
        for found in pattern.finditer(text)
    ]
