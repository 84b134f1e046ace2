"""Noun phrases of a question by rule, without a tagger.

A question is cut at function words, punctuation and verbs; what remains together is a noun phrase. The
rules err towards "noun": a verb taken for a noun costs a little weight, a noun lost costs the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from arbitration.questions.lexicon import BEFORE_VERB, LIGHT_WORDS, NOUN_ENDING, SCOPE_WORDS, VERBS
from arbitration.text import is_code, is_stop_word

ChunkKind = Literal["noun_phrase", "other"]
_TOKEN = re.compile(r"[^\W_]+(?:[.&/'’\-][^\W_]+)*(?:\([a-z0-9]+\))?|[^\w\s]")
_LONGEST_PHRASE = 4
_POSSESSIVE = re.compile(r"['’]s?\Z")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A noun phrase (one or more words), or a content word of another kind."""

    words: tuple[str, ...]
    kind: ChunkKind


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    tag: Literal["break", "noun", "other"]


def chunk(text: str, language: str, *, masked: Sequence[tuple[int, int]] = ()) -> list[Chunk]:
    """The chunks of a question in order; spans in ``masked`` (references, exclusions) are left out."""
    chunks: list[Chunk] = []
    run: list[str] = []
    for token in _tagged(text, language, masked):
        if token.tag == "noun":
            run.append(token.text)
            continue
        chunks += _phrases(run)
        run = []
        if token.tag == "other":
            chunks.append(Chunk((token.text,), "other"))
    return [*chunks, *_phrases(run)]


def scope_words(text: str) -> tuple[str, ...]:
    """The words of a question that only name the document or the act of telling."""
    found = (token[0].lower() for token in _TOKEN.finditer(text))
    return tuple(dict.fromkeys(word for word in found if word in SCOPE_WORDS))


def _phrases(run: Sequence[str]) -> Iterator[Chunk]:
    for start in range(0, len(run), _LONGEST_PHRASE):
        yield Chunk(tuple(run[start : start + _LONGEST_PHRASE]), "noun_phrase")


def _tagged(text: str, language: str, masked: Sequence[tuple[int, int]]) -> Iterator[_Token]:
    tokens = [(m[0], m.start()) for m in _TOKEN.finditer(text)]
    is_hidden = bytearray(len(text))
    for low, high in masked:
        is_hidden[low:high] = b"\x01" * (min(high, len(text)) - low)
    previous = ""
    for position, (raw, start) in enumerate(tokens):
        following = tokens[position + 1][0] if position + 1 < len(tokens) else ""
        word = _POSSESSIVE.sub("", raw)
        hidden = bool(is_hidden[start])
        tag = "break" if hidden else _tag(word, previous, following, language)
        yield _Token(word, start, tag)
        previous = "" if hidden else word.lower()


def _tag(word: str, previous: str, following: str, language: str) -> Literal["break", "noun", "other"]:
    lowered = word.lower()
    if not word[:1].isalnum():
        return "break"
    if is_code(word):
        return "noun"
    if is_stop_word(word, language) or lowered in SCOPE_WORDS or lowered in LIGHT_WORDS:
        return "break"
    if len(word) == 1 and not word.isdigit():
        return "break"
    if word[0].isupper() and previous:
        return "noun"
    return "other" if _is_other(lowered, previous, following, language) else "noun"


def _is_other(word: str, previous: str, following: str, language: str) -> bool:
    if word in VERBS:
        return True
    if word.endswith("ly" if language == "en" else "mente"):
        return True
    if previous in BEFORE_VERB and not NOUN_ENDING.search(word):
        return True
    ends_phrase = not following[:1].isalnum() or is_stop_word(following, language)
    if language == "en":
        return ends_phrase and word.endswith("ed") and len(word) > 4
    return ends_phrase and re.search(r"(?:ar|er|ir|ado|ido)\Z", word) is not None
