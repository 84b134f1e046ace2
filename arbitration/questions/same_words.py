"""Whether two terms name one thing to a reader: the same word, an inflection of it, or its translation.

A reason that names "client" and "cliente", or says that "access" is there and missing, reads like a list of search
terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from arbitration.questions.translation import other_language, other_language_terms
from arbitration.text import fold, is_stop_word, stem, words

#: Words of so many letters are compared across languages as they are written ("client", "cliente"); shorter ones
#: only look alike ("date", "dato").
_SHORTEST_ALIKE = 5

_Stem = tuple[str, str]  # language, stem


@dataclass(frozen=True, slots=True)
class Term:
    """A word or a phrase and its language, ``en`` or ``es``."""

    text: str
    language: str


def share_a_word(one: Term, other: Term) -> bool:
    """Whether a content word of one is, in any form or in the other language, a word of the other."""
    own, translated = _stems(one)
    others, others_translated = _stems(other)
    return bool(own & others or own & others_translated or translated & others)


def new_terms(terms: Iterable[Term], said: Sequence[Term] = ()) -> list[Term]:
    """Those that share no word with an earlier one, or with one that was said before."""
    kept: list[Term] = []
    for term in terms:
        if not any(share_a_word(term, other) for other in (*said, *kept)):
            kept.append(term)
    return kept


@lru_cache(maxsize=20_000)
def _stems(term: Term) -> tuple[frozenset[_Stem], frozenset[_Stem]]:
    """The stems of a term, and those of what the other language calls it."""
    other = other_language(term.language)
    content = _content(term.text, term.language)
    alike = [word for word in content if len(word) >= _SHORTEST_ALIKE]
    called = [
        word
        for text in dict.fromkeys((term.text, *content))
        for rendering in other_language_terms(text, term.language)
        for word in _content(rendering, other)
    ]
    return (
        frozenset((term.language, stem(word, term.language)) for word in content),
        frozenset((other, stem(word, other)) for word in (*alike, *called)),
    )


def _content(text: str, language: str) -> list[str]:
    """Its words but for those that only join; all of them where it has no others."""
    found = [fold(word) for word in words(text)]
    return [word for word in found if not is_stop_word(word, language)] or found
