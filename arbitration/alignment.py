"""What two sequences share, in bounded time.

``difflib`` compares any two things well while they are short. Its time grows with the pairs of equal items, and in bad
cases with the cube of the length: two versions of a text that somebody wrote for it stop the reader of a page for
minutes. Long or repetitive sequences are therefore cut first at the items that each holds exactly once (patience
sorting, as version control does it), and only what lies between is compared item by item.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal, NamedTuple

#: Items of both, and pairs of equal ones, up to which two sequences are compared item by item.
MOST_ITEMS, MOST_PAIRS = 2_000, 50_000
#: How often a stretch is cut anew before what is left of it counts as replaced.
_DEEPEST = 24


class Block(NamedTuple):
    """``size`` items that are the same from ``a`` on in the first sequence and from ``b`` on in the second."""

    a: int
    b: int
    size: int


class Change(NamedTuple):
    """A stretch of both sequences: the same in both, or what stood there before and after; either may be empty."""

    kind: Literal["equal", "replace"]
    a_start: int
    a_end: int
    b_start: int
    b_end: int


def matching_blocks(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[Block]:
    """What both hold in the same order, from left to right; neighbouring blocks are one."""
    joined: list[Block] = []
    for block in _blocks(before, after):
        if joined and joined[-1].a + joined[-1].size == block.a and joined[-1].b + joined[-1].size == block.b:
            joined[-1] = joined[-1]._replace(size=joined[-1].size + block.size)
        else:
            joined.append(block)
    return joined


def changes(before: Sequence[Hashable], after: Sequence[Hashable]) -> Iterator[Change]:
    """Both sequences from left to right, in stretches that are the same and stretches that are not."""
    a = b = 0
    for block in [*matching_blocks(before, after), Block(len(before), len(after), 0)]:
        if a < block.a or b < block.b:
            yield Change("replace", a, block.a, b, block.b)
        a, b = block.a + block.size, block.b + block.size
        if block.size:
            yield Change("equal", block.a, a, block.b, b)


def _blocks(before: Sequence[Hashable], after: Sequence[Hashable]) -> Iterator[Block]:
    pending = [(_Part(0, len(before), 0, len(after)), 0)]
    while pending:
        part, depth = pending.pop()
        if part.is_empty or depth > _DEEPEST:
            continue
        if _are_few(before, after, part):
            yield from _compared(before, after, part)
            continue
        head = _shared_head(before, after, part)
        if head:
            yield Block(part.a, part.b, head)
            pending.append((part._replace(a=part.a + head, b=part.b + head), depth))
            continue
        pending += [(smaller, depth + 1) for smaller in reversed(_cut(before, after, part))]


class _Part(NamedTuple):
    """A stretch of both sequences."""

    a: int
    a_end: int
    b: int
    b_end: int

    @property
    def is_empty(self) -> bool:
        return self.a == self.a_end or self.b == self.b_end


def _compared(before: Sequence[Hashable], after: Sequence[Hashable], part: _Part) -> Iterator[Block]:
    matcher = SequenceMatcher(None, before[part.a : part.a_end], after[part.b : part.b_end], autojunk=False)
    for found in matcher.get_matching_blocks()[:-1]:
        yield Block(part.a + found.a, part.b + found.b, found.size)


def _are_few(before: Sequence[Hashable], after: Sequence[Hashable], part: _Part) -> bool:
    if part.a_end - part.a + part.b_end - part.b > MOST_ITEMS:
        return False
    here, there = Counter(before[part.a : part.a_end]), Counter(after[part.b : part.b_end])
    return sum(times * there[item] for item, times in here.items()) <= MOST_PAIRS


def _shared_head(before: Sequence[Hashable], after: Sequence[Hashable], part: _Part) -> int:
    longest = min(part.a_end - part.a, part.b_end - part.b)
    return next((n for n in range(longest) if before[part.a + n] != after[part.b + n]), longest)


def _shared_tail(before: Sequence[Hashable], after: Sequence[Hashable], part: _Part) -> int:
    longest = min(part.a_end - part.a, part.b_end - part.b)
    return next(
        (n for n in range(longest) if before[part.a_end - 1 - n] != after[part.b_end - 1 - n]), longest
    )


def _cut(before: Sequence[Hashable], after: Sequence[Hashable], part: _Part) -> list[_Part]:
    """The part in smaller ones: each but the first begins with what both share. Empty where nothing tells where to
    cut."""
    tail = _shared_tail(before, after, part)
    rest = part._replace(a_end=part.a_end - tail, b_end=part.b_end - tail)
    anchors = _anchors(before, after, rest)
    if not tail and not anchors:
        return []
    edges = [(part.a, part.b), *anchors, (rest.a_end, rest.b_end), (part.a_end, part.b_end)]
    return [_Part(a, a_end, b, b_end) for (a, b), (a_end, b_end) in pairwise(edges)]


#: How many items in a row must stand once in both to be an anchor: single ones, and where there are none, longer runs.
_RUNS = (1, 4, 12)


def _anchors(before: Sequence[Hashable], after: Sequence[Hashable], part: _Part) -> list[tuple[int, int]]:
    """Places at which both hold what either holds only once, the longest series in the order of both."""
    for run in _RUNS:
        ours = _places_of_singles(before, part.a, part.a_end, run)
        theirs = _places_of_singles(after, part.b, part.b_end, run)
        shared = [(place, theirs[items]) for items, place in ours.items() if items in theirs]
        if shared:
            return _rising(shared)
    return []


def _places_of_singles(items: Sequence[Hashable], low: int, high: int, run: int) -> dict[Hashable, int]:
    runs = [tuple(items[place : place + run]) for place in range(low, high - run + 1)]
    times = Counter(runs)
    return {found: low + place for place, found in enumerate(runs) if times[found] == 1}


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence of pairs, ordered by the first, whose seconds rise too."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int | None] = []
    for number, (_, place) in enumerate(pairs):
        at = bisect_left(ends, place)
        before.append(last[at - 1] if at else None)
        ends[at : at + 1] = [place]
        last[at : at + 1] = [number]
    found: list[tuple[int, int]] = []
    number_or_none = last[-1] if last else None
    while number_or_none is not None:
        found.append(pairs[number_or_none])
        number_or_none = before[number_or_none]
    return found[::-1]
