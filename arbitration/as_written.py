"""Terms as a text writes them, for a sentence that names them to a reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from arbitration.text import TermMatch, TermMatcher

#: Terms that are told in one breath at most.
_LONGEST = 4


def as_written(terms: Sequence[str], text: str, language: str, *, asked: str = "") -> list[str]:
    """Each term once, in the form that the text has, with its capitals; those that are neighbours there and in the
    question ``asked`` are one: "Delivery Note" for "delivery" and "note". A term that the text lacks stays as it is."""
    flat, asked = " ".join(text.split()), " ".join(asked.split())
    pairs = _neighbours(TermMatcher(terms, language).find(asked))
    told: dict[str, str] = {}
    taken: set[str] = set()
    for run in sorted(_runs(terms, flat, language, pairs), key=lambda run: _rank(run, flat, asked)):
        held = [match.term for match in run]
        if taken.isdisjoint(held):
            taken.update(held)
            told[min(held, key=terms.index)] = _said(run, flat, asked)
    return [told.get(term, term) for term in terms if term in told or term not in taken]


def _neighbours(matches: Sequence[TermMatch]) -> frozenset[tuple[str, str]]:
    return frozenset((a.term, b.term) for a, b in pairwise(matches) if b.start == a.end + 1)


def _runs(
    terms: Sequence[str], flat: str, language: str, pairs: frozenset[tuple[str, str]]
) -> Iterator[list[TermMatch]]:
    """Every match by itself, and matches of neighbours that only a space parts."""
    matches = TermMatcher(terms, language).find(flat)
    for place, match in enumerate(matches):
        run = [match]
        yield run
        for after in matches[place + 1 : place + _LONGEST]:
            if after.start != run[-1].end + 1 or (run[-1].term, after.term) not in pairs:
                break
            run = [*run, after]
            yield run


def _rank(run: Sequence[TermMatch], flat: str, asked: str) -> tuple[int, bool, int]:
    """The longest first, then those that shout no heading, then the forms that the question has."""
    forms = [(match.term.casefold(), flat[match.start : match.end]) for match in run]
    return -len(run), _is_shouted(run, flat, asked), sum(term != form.casefold() for term, form in forms)


def _said(run: Sequence[TermMatch], flat: str, asked: str) -> str:
    if _is_shouted(run, flat, asked):
        return " ".join(match.term for match in run)
    return flat[run[0].start : run[-1].end].removesuffix("’s").removesuffix("'s")


def _is_shouted(run: Sequence[TermMatch], flat: str, asked: str) -> bool:
    """Whether the words stand in capitals, as in a heading, and the question does not write them so."""
    said = flat[run[0].start : run[-1].end]
    return said.isupper() and said not in asked and any(match.term.islower() for match in run)
