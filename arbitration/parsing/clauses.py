"""Numbered clauses whose heading runs into the text: "2.1 Grant of License. Subject to the terms ...".

Contracts are built of them. A single such line proves nothing (a list looks the same), so a number counts only
where it goes on from the one before: 1, 2, 2.1, 2.2, 3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_CLAUSE = re.compile(
    r"^(?:(?P<name>section|article|clause|cláusula|artículo|sección)\s+(?=\d)|(?=\d{1,2}\.))"
    r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,3})\.?\)?[\s:.–—-]+"
    r"(?P<title>[A-ZÁÉÍÓÚÑ\"“][^.:;–—]{2,79}?)(?P<stop>\.|:|\s[–—-]|$)",
    re.IGNORECASE,
)
_MAX_WORDS = 9
_MIN_CLAUSES = 3
_MAX_STEP = 3
_SMALL_WORDS = frozenset(
    """
    a an and as at by for from in into of on or the to with upon under without between non y e o de del
    la las el los por para con en a
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class ClauseHeading:
    """A run-in heading: ``key`` says where it stands in the caller's list, ``depth`` is 1 for "3", 2 for "3.1"."""

    key: int
    title: str
    depth: int


def find_clauses(starts: Iterable[tuple[int, str]]) -> list[ClauseHeading]:
    """Headings among the first lines of paragraphs, given as (key, text); empty unless three go on in order."""
    found: list[ClauseHeading] = []
    last: tuple[int, ...] = ()
    for key, text in starts:
        match = _CLAUSE.match(text)
        if match is None or not _reads_like_heading(match.group("title")):
            continue
        number = tuple(int(part) for part in match.group("number").split("."))
        if not follows(number, last):
            continue
        last = number
        found.append(
            ClauseHeading(key, f"{match.group('number')} {match.group('title').strip()}", len(number))
        )
    return found if len(found) >= _MIN_CLAUSES else []


def follows(number: tuple[int, ...], last: tuple[int, ...]) -> bool:
    """Whether a clause number may come after another: the next one, the first below it, or the next of a level above.

    A number or two may be left out, since their headings may have been missed.
    """
    if not last:
        return number[0] <= 2 and all(part == 1 for part in number[1:])
    if len(number) > len(last):
        return number == (*last, *([1] * (len(number) - len(last)))) or (
            number[0] == last[0] + 1 and all(part == 1 for part in number[1:])
        )
    shared = len(number) - 1
    if number[:shared] == last[:shared]:
        return 1 <= number[shared] - last[shared] <= _MAX_STEP
    return number[0] in (last[0] + 1, last[0] + 2) and all(part == 1 for part in number[1:])


def _reads_like_heading(title: str) -> bool:
    """Few words, most of them capitalised: "Grant of License", not "The parties agree that"."""
    words = re.findall(r"[^\W\d_][\w'’-]*", title)
    if not words or len(words) > _MAX_WORDS:
        return False
    main = [word for word in words if word.casefold() not in _SMALL_WORDS]
    if not main or not words[0][0].isupper():
        return False
    capitalised = sum(word[0].isupper() for word in main)
    return capitalised >= 0.7 * len(main) or len(words) <= 2
