"""Aliases and variants of a collection's vocabulary, as the parser asks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from arbitration.text import content_stems


class Dictionary(Protocol):
    """Approved variants of terms: synonyms, abbreviations, the Spanish of an English term."""

    def variants(self, term: str) -> Sequence[str]:
        """Other ways the documents write a term; empty when none is known."""


class MappingDictionary:
    """A dictionary over a plain mapping of term to variants; looks terms up by their stems, both ways."""

    def __init__(self, entries: Mapping[str, Sequence[str]] | None = None) -> None:
        self._groups: dict[tuple[str, ...], list[str]] = {}
        for term, variants in (entries or {}).items():
            self._add([term, *variants])

    def _add(self, group: list[str]) -> None:
        for member in group:
            known = self._groups.setdefault(_key(member), [])
            known.extend(other for other in group if other != member and other not in known)

    def variants(self, term: str) -> Sequence[str]:
        """The other members of the term's group."""
        return tuple(self._groups.get(_key(term), ()))


def _key(term: str) -> tuple[str, ...]:
    return tuple(content_stems(term)) or (term.lower(),)
