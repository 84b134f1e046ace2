"""Text that talks to the model: suspicion that a passage gives orders to whoever reads it.

A suspicion sends a candidate to a person and blocks nothing. It names the words that raised it, for the person who
decides. How a text talks to a model is in :mod:`arbitration.injection_signs`, how it hides in
:mod:`arbitration.disguise`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from arbitration.disguise import encoded_run, hidden_characters, shown
from arbitration.injection_signs import SIGNS
from arbitration.prompting import clean_text

#: The most characters of a document that a suspicion repeats.
LONGEST_QUOTE = 120
_HIDING = "hides characters that no reader sees"
_ENCODING = "hides text in an encoding"
_AROUND = 20  # characters shown on either side of hidden ones

_LETTERS_APART = re.compile(r"\b(?:[A-Za-z] ){5,}[A-Za-z]\b")
_LETTERS_ALONE = 3  # words of one character that a match of the next pattern holds
_MAYBE_APART = re.compile(r" [A-Za-z] [A-Za-z] [A-Za-z] ")  # a blank first: quickly found missing
_BLANKS = re.compile(r"[^\S\n]+")
_WORD = re.compile(r"[^\W_]+")

#: Whatever word none of the signs needs is passed over at once.
_TELLING = frozenset().union(*(sign.words | sign.also for sign in SIGNS))
_ASCII_WORDS = {code: " " for code in range(128) if not chr(code).isalnum()}
_UNEVEN = re.compile(r"[^\S \n]|  ")


@dataclass(frozen=True, slots=True)
class Suspicion:
    """One sign that a text gives orders: what it does, and the ``words`` that say so, on one line, shortened, with a
    code in place of every character that shows nothing."""

    why: str
    words: str


def injection_reasons(text: str) -> tuple[str, ...]:
    """Why a text looks as if it gave orders to the model that reads it; empty when it does not."""
    return tuple(dict.fromkeys(suspicion.why for suspicion in suspicions(text)))


@lru_cache(maxsize=20_000)
def suspicions(text: str) -> tuple[Suspicion, ...]:
    """The signs that a text gives orders to the model that reads it, with the words of each; empty without any."""
    return tuple(_found(text))


def _found(text: str) -> Iterator[Suspicion]:
    if hidden := hidden_characters(text):
        start, end = hidden.span()
        yield _suspicion(_HIDING, text[max(0, start - _AROUND) : end + _AROUND])
    if run := encoded_run(text):
        yield _suspicion(_ENCODING, run)
    plain = _even(text)
    present = _TELLING.intersection(_words(plain.lower()))
    if not present:
        return
    is_ascii = plain.isascii()
    for sign in SIGNS:
        if sign.may_match(present, is_ascii=is_ascii) and (words := sign.find(plain)):
            yield _suspicion(sign.why, words)


def _even(text: str) -> str:
    """The text as a model reads it: nothing unseen, single blanks, letters that stand apart joined to words."""
    plain = text if text.isascii() else clean_text(text)
    if _MAYBE_APART.search(plain) and sum(len(word) == 1 for word in plain.split()) >= _LETTERS_ALONE:
        plain = _LETTERS_APART.sub(lambda match: match[0].replace(" ", ""), plain)
    return _BLANKS.sub(" ", plain) if _UNEVEN.search(plain) else plain


def _suspicion(why: str, words: str) -> Suspicion:
    line = shown(" ".join(words.split()).strip(" .:;,-|>*#"))
    return Suspicion(why, line if len(line) <= LONGEST_QUOTE else f"{line[: LONGEST_QUOTE - 1].rstrip()}…")


def _words(text: str) -> list[str]:
    return text.translate(_ASCII_WORDS).split() if text.isascii() else _WORD.findall(text)
