"""Two texts line by line: which words of each line the other text does not have in their place."""

from __future__ import annotations

from collections.abc import Sequence

from arbitration.alignment import changes
from arbitration.text import normalise

Span = tuple[int, int]
#: A piece of a word: its line, and where it begins and ends there. A word broken at a line's end has two.
_Piece = tuple[int, int, int]


def differing_words(
    one: Sequence[str], other: Sequence[str]
) -> tuple[tuple[tuple[Span, ...], ...], tuple[tuple[Span, ...], ...]]:
    """Offsets of the words that differ, for each line of both texts. Line breaks, white space and hyphens that only
    break a line do not count."""
    first, second = _words(one), _words(other)
    marks: tuple[list[list[Span]], list[list[Span]]] = ([[] for _ in one], [[] for _ in other])
    for change in changes([word for word, _ in first], [word for word, _ in second]):
        if change.kind == "equal":
            continue
        _mark(marks[0], first[change.a_start : change.a_end])
        _mark(marks[1], second[change.b_start : change.b_end])
    return tuple(tuple(line) for line in marks[0]), tuple(tuple(line) for line in marks[1])


def _words(lines: Sequence[str]) -> list[tuple[str, list[_Piece]]]:
    """The words of a text, plain, with their pieces."""
    found: list[tuple[str, list[_Piece]]] = []
    for number, line in enumerate(lines):
        at = 0
        for place, raw in enumerate(line.split()):
            at = line.index(raw, at)
            piece = (number, at, at + len(raw))
            at += len(raw)
            if place == 0 and found and _is_broken(found[-1], number) and raw[:1].islower():
                before, pieces = found[-1]
                found[-1] = (before[:-1] + normalise(raw), [*pieces, piece])
            else:
                found.append((normalise(raw), [piece]))
    return found


def _is_broken(word: tuple[str, list[_Piece]], line: int) -> bool:
    text, pieces = word
    return pieces[-1][0] == line - 1 and len(text) > 1 and text.endswith("-") and text[-2].isalpha()


def _mark(lines: list[list[Span]], words: Sequence[tuple[str, list[_Piece]]]) -> None:
    """Adds the words to the marks of their lines; neighbours are one mark."""
    for _, pieces in words:
        for line, start, end in pieces:
            marks = lines[line]
            if marks and start - marks[-1][1] <= 1:
                marks[-1] = (marks[-1][0], end)
            else:
                marks.append((start, end))
