"""Stretches of a sequence, and of a text between marks, found in one pass: a pattern such as ``<!--.*?-->`` looks
through the whole rest of the text again for each mark that is never closed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def runs(items: Iterable[T], begins: Callable[[list[T], T], bool]) -> Iterator[list[T]]:
    """Neighbours in lists, in order; ``begins`` says of the run so far and the next item whether a new run begins."""
    run: list[T] = []
    for item in items:
        if run and begins(run, item):
            yield run
            run = []
        run.append(item)
    if run:
        yield run


def without_spans(text: str, opening: str, closing: str) -> str:
    """The text without what stands from each ``opening`` to the next ``closing``, both included. A mark that is never
    closed stays."""
    kept: list[str] = []
    place = 0
    while (start := text.find(opening, place)) >= 0:
        end = text.find(closing, start + len(opening))
        if end < 0:
            break
        kept.append(text[place:start])
        place = end + len(closing)
    return "".join([*kept, text[place:]])


_TICKS = re.compile("`+")


def without_code_marks(text: str) -> str:
    """Markdown without the marks of code in a line: a run of backticks is closed by the next run of the same length."""
    runs = [match.span() for match in _TICKS.finditer(text)]
    later: dict[int, list[int]] = {}
    for number in range(len(runs) - 1, -1, -1):
        start, end = runs[number]
        later.setdefault(end - start, []).append(number)
    kept: list[str] = []
    place = number = 0
    while number < len(runs):
        start, end = runs[number]
        same = later[end - start]
        while same and same[-1] <= number:
            same.pop()
        if not same:
            number += 1
            continue
        closing = runs[same[-1]]
        kept += [text[place:start], text[end : closing[0]]]
        place, number = closing[1], same[-1] + 1
    return "".join([*kept, text[place:]])
