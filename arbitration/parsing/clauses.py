"""Numbered clauses whose heading runs into the text: "2.1 Grant of License. Subject to the terms ...".

Contracts are built of them. A single such line proves nothing (a list looks the same), so a number counts only
where it goes on from the one before: 1, 2, 2.1, 2.2, 3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_CLAUSE = re.compile(
    r"^(?:(?P<name>section|article|clause|cláusula|artículo|sección)\s+(?=\d)|(?=\d{1,2}\.))"
    r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,3})\.?\)?[\s:.–—-]+"
    r"(?P<title>[A-ZÁÉÍÓÚÑ\"“][^.:;–—]{2,79}?)(?P<stop>\.|:|\s[–—-]|$)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"^(?P<name>(?i:section|article|clause|cláusula|artículo|sección))?\s*(?P<number>\d{1,2}(?:\.\d{1,2}){0,3})(?P<stop>[.):]?)\s+"
    r"(?P<words>[\"“(\[]?[A-ZÁÉÍÓÚÑ].*)"
)
_SENTENCE_END = re.compile(r"(?<=\w{3})[.;:](?=\s|$)")
_MIN_NUMBERED, _MAX_NUMBERED = 4, 1500
_MAX_FIRST = 2
_TITLE_WORDS, _TITLE_CHARACTERS = 9, 80
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


def find_numbered(starts: Iterable[tuple[int, str]]) -> list[ClauseHeading]:
    """Numbered clauses without titles, named by their first words; for texts in which nothing else is a heading.

    ``starts`` are (key, text) of the places where a clause may begin. Empty unless four numbers go up.
    """
    numbered: list[tuple[tuple[int, ...], ClauseHeading]] = []
    for key, text in starts:
        match = _NUMBERED.match(text)
        if match is None or len(numbered) >= _MAX_NUMBERED:
            continue
        number = tuple(int(part) for part in match.group("number").split("."))
        if len(number) > 1 or match.group("name") or match.group("stop"):
            title = f"{match.group('number')} {_first_words(match.group('words'))}"
            numbered.append((number, ClauseHeading(key, title, len(number))))
    chain = _longest_chain([number for number, _ in numbered])
    return [numbered[place][1] for place in chain] if len(chain) >= _MIN_NUMBERED else []


def _longest_chain(numbers: Sequence[tuple[int, ...]]) -> list[int]:
    """Places of the longest run of numbers that only go up, by at most two at the top, from 1 or 2 on.

    Where line breaks were lost some numbers stand inside lines and are not seen; what remains still goes up, while
    references to other clauses and lists inside one do not fit in.
    """
    length = [0] * len(numbers)
    before = [-1] * len(numbers)
    for place, number in enumerate(numbers):
        if number[0] <= _MAX_FIRST:
            length[place] = 1
        for earlier in range(place):
            fits = numbers[earlier] < number and number[0] - numbers[earlier][0] <= _MAX_FIRST
            if length[earlier] and fits and length[earlier] >= length[place]:
                length[place], before[place] = length[earlier] + 1, earlier
    if not any(length):
        return []
    chain = [max(range(len(numbers)), key=lambda place: (length[place], -place))]
    while before[chain[-1]] >= 0:
        chain.append(before[chain[-1]])
    return chain[::-1]


def _first_words(text: str) -> str:
    words = text.split()
    kept = " ".join(words[:_TITLE_WORDS])[:_TITLE_CHARACTERS]
    sentence = _SENTENCE_END.search(kept)
    if sentence is not None:
        return kept[: sentence.start()]
    return kept if len(words) <= _TITLE_WORDS else f"{kept.rstrip(' ,;:')} …"


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
