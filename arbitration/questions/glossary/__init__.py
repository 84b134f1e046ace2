"""The shipped glossary: English terms and how Spanish documents write them, and what it knows of a question.

``en_es.tsv`` holds one English term a line, a tab, and its Spanish renderings between `` | ``, the usual one first.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from arbitration.text import fold, is_stop_word, stem, supported_language, words

FILE = Path(__file__).with_name("en_es.tsv")
BETWEEN = " | "
OTHER = {"en": "es", "es": "en"}

Key = tuple[str, ...]
#: What may stand in a term beside letters, digits and blanks.
_MARKS = frozenset("-'/.&")


class GlossaryError(ValueError):
    """A line of the glossary that cannot be read."""


@cache
def entries() -> Mapping[str, tuple[str, ...]]:
    """Every English term with its Spanish renderings, in the order of the file.

    Raises :class:`GlossaryError` for a line without two sides, with a character that no term has, or for a term
    that an earlier line has.
    """
    return MappingProxyType(read_entries(FILE.read_text(encoding="utf-8")))


def read_entries(text: str) -> dict[str, tuple[str, ...]]:
    """The entries of a file's text; see :func:`entries`."""
    found: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        term, tab, other = line.partition("\t")
        renderings = tuple(other.split(BETWEEN))
        if not tab or not all(map(_is_plain, (term, *renderings))):
            raise GlossaryError(f"Line {number} is no term with its renderings: {line!r}")
        if term in found or len(set(renderings)) < len(renderings):
            raise GlossaryError(f"Line {number} repeats a term: {line!r}")
        found[term] = renderings
    return found


def _is_plain(term: str) -> bool:
    is_trimmed = bool(term) and term == " ".join(term.split()) and unicodedata.is_normalized("NFC", term)
    return is_trimmed and all(char.isalnum() or char == " " or char in _MARKS for char in term)


def surface_key(term: str, language: str) -> Key:
    """The content words of a term as they are written, without case and accents."""
    return tuple(fold(word) for word in words(term) if not is_stop_word(word, language))


def stem_key(term: str, language: str) -> Key:
    """The stems of the content words of a term."""
    return tuple(stem(word, language) for word in words(term) if not is_stop_word(word, language))


class Side:
    """The glossary read from one language: renderings by the written words, else by their stems."""

    def __init__(self, language: str) -> None:
        self._written: dict[Key, list[str]] = {}
        self._stemmed: dict[Key, list[str]] = {}
        for term, rendering in _pairs() if language == "en" else [(es, en) for en, es in _pairs()]:
            _add(self._written, surface_key(term, language), rendering)
            _add(self._stemmed, stem_key(term, language), rendering)
        #: Content words of the longest term.
        self.longest = max(map(len, self._stemmed))

    def renderings(self, written: Key, stemmed: Key) -> tuple[str, ...]:
        """How the other language writes a run of content words; empty where the glossary does not know it."""
        return tuple(self._written.get(written) or self._stemmed.get(stemmed) or ())


def _pairs() -> list[tuple[str, str]]:
    """English and Spanish, the usual renderings of all terms before the second ones, and so on: what a Spanish word
    usually means comes first, too."""
    ranked = [
        (rank, english, spanish)
        for english, several in entries().items()
        for rank, spanish in enumerate(several)
    ]
    return [(english, spanish) for _, english, spanish in sorted(ranked, key=lambda item: item[0])]


def _add(index: dict[Key, list[str]], key: Key, rendering: str) -> None:
    known = index.setdefault(key, []) if key else []
    if rendering not in known:
        known.append(rendering)


@cache
def side(language: str) -> Side:
    """The glossary read from a language; made once per process."""
    return Side(supported_language(language))
