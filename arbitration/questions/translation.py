"""The other language's words for a question, from the shipped glossary and by word endings.

Word for word, with no model and no sense of grammar: good enough to search by, never to be read or to prove by.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from arbitration.questions.cognates import cognates
from arbitration.questions.glossary import OTHER, Key, side
from arbitration.text import fold, is_stop_word, stem, supported_language, words

#: Renderings of one term that are searched for; further ones bring more noise than answers.
MOST_RENDERINGS = 4
_TOKEN = re.compile(r"[^\W_]+(?:[.,/&'’\-][^\W_]+)*(?:\([a-z0-9]+\))*|[.;:?!]", re.IGNORECASE)
_SENTENCE_END = frozenset(".;:?!")


@dataclass(frozen=True, slots=True)
class _Word:
    """A content word: as the question writes it, without case and accents, and its stem. No term of the glossary
    reaches over an end of a sentence, which is a word without letters."""

    text: str
    written: str
    stemmed: str


@dataclass(frozen=True, slots=True)
class _Piece:
    """A run of content words, and what the glossary calls it; no renderings where it does not know it."""

    text: str
    length: int
    renderings: tuple[str, ...]


def other_language_terms(term: str, language: str) -> tuple[str, ...]:
    """How documents in the other language may write a term of ``language``, the usual word first.

    A phrase that the glossary does not know is read piece by piece, the longest known piece first from the left. A
    single word that it does not know is changed by its ending ("cancellation", "cancelación").
    """
    pieces = list(_pieces(term, language))
    found = [other for piece in pieces for other in piece.renderings[:MOST_RENDERINGS]]
    if not found and len(pieces) == 1:
        found = list(cognates(pieces[0].text, language))
    same = fold(term)
    return tuple(dict.fromkeys(other for other in found if fold(other) != same))


def phrase_terms(text: str, language: str) -> tuple[str, ...]:
    """The other language's words for the phrases of a text that the glossary knows as a whole."""
    phrases = (piece for piece in _pieces(text, language) if piece.length > 1)
    return tuple(dict.fromkeys(t for piece in phrases for t in piece.renderings[:MOST_RENDERINGS]))


def gloss(question: str, source: str, target: str) -> str:
    """A question's content in the other language, word by word: known phrases first, then known words. Numbers,
    names, codes and unknown words stay as they are, function words are dropped. Empty where the glossary knows
    nothing of it, or where the two languages are one. Takes time in proportion to the text."""
    if supported_language(source) == supported_language(target):
        return ""
    pieces = list(_pieces(question, source))
    if not any(piece.renderings for piece in pieces):
        return ""
    return " ".join(piece.renderings[0] if piece.renderings else piece.text for piece in pieces)


def other_language(language: str) -> str:
    """The one of our two languages that this one is not."""
    return OTHER[supported_language(language)]


def _pieces(text: str, language: str) -> Iterator[_Piece]:
    """The text from left to right, each time by the longest run of words that the glossary knows."""
    known = side(language)
    read = list(_content(text, language))
    place = 0
    while place < len(read):
        ahead = read[place : place + known.longest]
        piece = next(_known_runs(ahead, language), None) or _Piece(read[place].text, 1, ())
        if read[place].written:
            yield piece
        place += piece.length


def _known_runs(ahead: list[_Word], language: str) -> Iterator[_Piece]:
    for length in range(len(ahead), 0, -1):
        run = ahead[:length]
        written: Key = tuple(word.written for word in run)
        renderings = side(language).renderings(written, tuple(word.stemmed for word in run))
        if renderings:
            yield _Piece(" ".join(word.text for word in run), length, renderings)


def _content(text: str, language: str) -> Iterator[_Word]:
    """The content words of a text, and the ends of its sentences; what holds a digit stays in one piece."""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in _SENTENCE_END:
            yield _Word(token, "", "")
        elif any(char.isdigit() for char in token):
            yield _Word(token, fold(token), fold(token))
        else:
            yield from (
                _Word(word, fold(word), stem(word, language))
                for word in words(token)
                if not is_stop_word(word, language)
            )
