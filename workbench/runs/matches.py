"""Finds the words of a passage that match the question's: the same word, or one close in meaning.

Both are marked in the text and listed below it. Matches by meaning come from a detector, so a card that hides the
machine leaves them out. The question's own keywords are marked for everybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arbitration.text import WORD, fold, highlight_spans, stem


@dataclass(frozen=True, slots=True)
class Matches:
    """``same``: words of the question that occur in the passage. ``meant``: words of the question with the word of the
    passage that matches in meaning. Both are sorted by weight."""

    same: tuple[str, ...] = ()
    meant: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, words: Iterable[Mapping[str, Any]], language: str) -> Matches:
        """From the records of :class:`arbitration.pool.WordMatch`. Another form of a word counts as the same word."""
        same: dict[str, None] = {}
        meant: dict[str, tuple[str, str]] = {}
        for word in sorted(words, key=lambda record: -record["weight"]):
            asked, met = word["asked"], word["met"]
            if fold(asked) == fold(met) or stem(asked, language) == stem(met, language):
                same.setdefault(asked)
            else:
                meant.setdefault(fold(met), (asked, met))
        return cls(tuple(same), tuple(meant.values()))

    @property
    def pairs(self) -> list[str]:
        """The pairs of words that match in meaning: ``laptop ↔ equipment``."""
        return [f"{asked} ↔ {met}" for asked, met in self.meant]


def marked(
    text: str, keywords: Sequence[str], language: str, matches: Matches | None = None
) -> list[dict[str, Any]]:
    """The text split at matches: a list of {text, matched, meets}, never HTML. ``meets`` is empty, or the word of the
    question that this one matches in meaning. One pass over the text."""
    matches = matches or Matches()
    parts: list[dict[str, Any]] = []
    position = 0
    meant = {fold(met): asked for asked, met in matches.meant}
    for start, end, meets in _spans(text, [*keywords, *matches.same], language, meant):
        if start > position:
            parts.append(_part(text[position:start]))
        parts.append(_part(text[start:end], matched=True, meets=meets))
        position = end
    if position < len(text):
        parts.append(_part(text[position:]))
    return parts


def _part(text: str, *, matched: bool = False, meets: str = "") -> dict[str, Any]:
    return {"text": text, "matched": matched, "meets": meets}


def _spans(
    text: str, same: Sequence[str], language: str, meant: Mapping[str, str]
) -> Iterator[tuple[int, int, str]]:
    """The spans of matches, in order and without overlap. The same word takes precedence over a similar one."""
    exact = highlight_spans(text, same, language)
    if not meant:
        yield from ((start, end, "") for start, end in exact)
        return
    following = 0
    for word in WORD.finditer(text):
        asked = meant.get(fold(word[0]))
        if asked is None:
            continue
        while following < len(exact) and exact[following][0] < word.end():
            yield (*exact[following], "")
            following += 1
        if not following or exact[following - 1][1] <= word.start():
            yield word.start(), word.end(), asked
    yield from ((start, end, "") for start, end in exact[following:])
