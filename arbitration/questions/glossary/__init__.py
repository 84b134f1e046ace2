"""The shipped glossary: English terms and how Spanish documents write them, and what it knows of a question.

``en_es.tsv`` holds one English term a line, a tab, and its Spanish renderings between `` | ``, the usual one first.
``es_first.tsv`` holds Spanish words and the English one that comes first where several are rendered so.
``es_forms.tsv`` holds, in the same shape, Spanish base forms and those of their inflected forms that stemming does not
bring back ("pedir": "pide", "pidieron"), or takes for another word ("solicita" for "solicitante").
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from arbitration.text import fold, is_stop_word, stem, supported_language, words

FILE = Path(__file__).with_name("en_es.tsv")
FIRST_FILE = Path(__file__).with_name("es_first.tsv")
FORMS_FILE = Path(__file__).with_name("es_forms.tsv")
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


@cache
def base_forms() -> Mapping[str, str]:
    """Inflected Spanish forms and their base forms, both without case and accents.

    Raises :class:`GlossaryError` as :func:`entries` does, and for a form that two base forms claim.
    """
    found: dict[str, str] = {}
    for base, forms in read_entries(FORMS_FILE.read_text(encoding="utf-8")).items():
        for form in map(fold, forms):
            if form in found:
                raise GlossaryError(f"{form!r} is a form of both {found[form]!r} and {base!r}")
            found[form] = fold(base)
    return MappingProxyType(found)


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
    """The glossary read from one language: renderings by the written words and their base forms, else by stems."""

    def __init__(self, language: str) -> None:
        self._bases: Mapping[str, str] = base_forms() if language == "es" else {}
        self._written: dict[Key, list[str]] = {}
        self._stemmed: dict[Key, list[str]] = {}
        for term, rendering in _pairs() if language == "en" else _reversed_pairs():
            _add(self._written, surface_key(term, language), rendering)
            _add(self._stemmed, stem_key(term, language), rendering)
        #: Content words of the longest term.
        self.longest = max(map(len, self._stemmed))

    def renderings(self, written: Key, stemmed: Key) -> tuple[str, ...]:
        """How the other language writes a run of content words; empty where the glossary does not know it."""
        found = list(self._written.get(written, []))
        based = tuple(self._bases.get(word, word) for word in written)
        if based != written:
            found += self._written.get(based, [])
        return tuple(dict.fromkeys(found or self._stemmed.get(stemmed, [])))


def _pairs() -> list[tuple[str, str]]:
    """English and Spanish, the usual renderings of all terms before the second ones, and so on: what a Spanish word
    usually means comes first, too."""
    ranked = [
        (rank, english, spanish)
        for english, several in entries().items()
        for rank, spanish in enumerate(several)
    ]
    return [(english, spanish) for _, english, spanish in sorted(ranked, key=lambda item: item[0])]


def _reversed_pairs() -> list[tuple[str, str]]:
    """Spanish and English; what ``es_first.tsv`` puts first comes before all others."""
    first = read_entries(FIRST_FILE.read_text(encoding="utf-8"))
    stated = [(spanish, english) for spanish, several in first.items() for english in several]
    return stated + [(spanish, english) for english, spanish in _pairs()]


def _add(index: dict[Key, list[str]], key: Key, rendering: str) -> None:
    known = index.setdefault(key, []) if key else []
    if rendering not in known:
        known.append(rendering)


@cache
def side(language: str) -> Side:
    """The glossary read from a language; made once per process."""
    return Side(supported_language(language))
