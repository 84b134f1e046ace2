"""Two versions of one document: where a passage of the old one stands in the new one, and what changed.

Line breaks, hyphens at line ends, quotes and dashes may differ without the text having changed; anything else is a
change. The rules are deterministic and ask no model (system.md, "Life of a document").
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Literal

import numpy as np

from arbitration.alignment import changes, matching_blocks
from arbitration.text import normalise

MatchState = Literal["unchanged", "changed", "gone"]
DiffKind = Literal["same", "removed", "added"]
Position = tuple[int, int]  # page, line

#: Share of words in common, in order, below which a passage counts as gone and not as changed.
CHANGED_FROM = 0.5
_LINE_END_HYPHEN = re.compile(r"(?<=[^\W\d_])-\Z")


@dataclass(frozen=True, slots=True)
class VersionLine:
    """One line of a document's body; ``heading`` is the title of its section."""

    page_num: int
    line_num: int
    text: str
    heading: str = ""

    @property
    def position(self) -> Position:
        """Page and line."""
        return self.page_num, self.line_num


@dataclass(frozen=True, slots=True)
class AnchorMatch:
    """What became of a passage. ``lines`` is empty when it is gone; ``similarity`` is in [0, 1]."""

    state: MatchState
    lines: tuple[VersionLine, ...]
    similarity: float

    @property
    def text(self) -> str:
        """The matched lines as they stand in the new version."""
        return "\n".join(line.text for line in self.lines)


@dataclass(frozen=True, slots=True)
class DiffPart:
    """Consecutive words that stayed, went or came."""

    kind: DiffKind
    text: str


def squeezed(lines: Sequence[str]) -> str:
    """The lines' text without white space and without hyphens that only break a line: equal iff unchanged."""
    return "".join(_squeezed_lines(lines))


def text_key(lines: Sequence[str]) -> str:
    """SHA-256 of :func:`squeezed`: names a text whatever its line breaks."""
    return hashlib.sha256(squeezed(lines).encode("utf-8", "surrogatepass")).hexdigest()


def _squeezed_lines(lines: Sequence[str]) -> list[str]:
    plain = [normalise(line) for line in lines]
    found = []
    for line, following in zip_longest(plain, plain[1:], fillvalue=""):
        joins = following[:1].islower() and _LINE_END_HYPHEN.search(line)
        found.append("".join((line[:-1] if joins else line).split()))
    return found


def words_of(text: str) -> list[str]:
    """The words of a text as :func:`word_diff` compares them."""
    return normalise(text).split()


def word_diff(old: str, new: str) -> tuple[DiffPart, ...]:
    """What went and what came, by words, in reading order."""
    before, after = words_of(old), words_of(new)
    parts: list[DiffPart] = []
    for kind, i1, i2, j1, j2 in changes(before, after):
        if kind == "equal":
            parts.append(DiffPart("same", " ".join(before[i1:i2])))
            continue
        if i2 > i1:
            parts.append(DiffPart("removed", " ".join(before[i1:i2])))
        if j2 > j1:
            parts.append(DiffPart("added", " ".join(after[j1:j2])))
    return tuple(parts)


class VersionText:
    """The body of one version, in which passages of another are looked for."""

    def __init__(self, lines: Sequence[VersionLine]) -> None:
        self._lines = list(lines)
        pieces = _squeezed_lines([line.text for line in self._lines])
        self._stream = "".join(pieces)
        self._starts = list(np.cumsum([0, *map(len, pieces)])[:-1])

    def match(self, passage: Sequence[str], *, heading: str = "", place: float = 0.0) -> AnchorMatch:
        """Where the lines of a passage stand in this version.

        ``heading`` is the title of its section in the old version and ``place`` how far into that version it stood
        (0 to 1): they choose between several places with the same text.
        """
        exact = self._exact(squeezed(passage), heading=heading, place=place)
        if exact:
            return AnchorMatch("unchanged", exact, 1.0)
        nearest, similarity = self._nearest([word for line in passage for word in words_of(line)])
        if not nearest or similarity < CHANGED_FROM:
            return AnchorMatch("gone", (), similarity)
        return AnchorMatch("changed", nearest, similarity)

    # --- the same text ------------------------------------------------------------------------------

    def _exact(self, wanted: str, *, heading: str, place: float) -> tuple[VersionLine, ...]:
        if not wanted:
            return ()
        found = [self._span(at, at + len(wanted)) for at in self._occurrences(wanted)]
        size = max(1, len(self._lines))

        def distance(span: tuple[int, int]) -> tuple[bool, float]:
            return self._lines[span[0]].heading != heading, abs(span[0] / size - place)

        if not found:
            return ()
        first, last = min(found, key=distance)
        return tuple(self._lines[first : last + 1])

    def _occurrences(self, wanted: str) -> Iterator[int]:
        """Offsets at which the text stands between word boundaries."""
        at = self._stream.find(wanted)
        while at >= 0:
            if at in self._word_starts and at + len(wanted) in self._word_ends:
                yield at
            at = self._stream.find(wanted, at + 1)

    def _span(self, start: int, end: int) -> tuple[int, int]:
        """First and last line of a stretch of the stream."""
        return bisect_right(self._starts, start) - 1, bisect_right(self._starts, end - 1) - 1

    @cached_property
    def _boundaries(self) -> tuple[frozenset[int], frozenset[int]]:
        starts, ends = set(), set()
        for index, line in enumerate(self._lines):
            offset = self._starts[index]
            limit = self._starts[index + 1] if index + 1 < len(self._starts) else len(self._stream)
            for word in words_of(line.text):
                starts.add(int(offset))
                offset = min(offset + len(word), limit)
                ends.add(int(offset))
        return frozenset(starts), frozenset(ends)

    @property
    def _word_starts(self) -> frozenset[int]:
        return self._boundaries[0]

    @property
    def _word_ends(self) -> frozenset[int]:
        return self._boundaries[1]

    # --- the most similar text ----------------------------------------------------------------------

    @cached_property
    def _words(self) -> tuple[list[str], list[int]]:
        """Every word of the body, and the line that each stands in."""
        words: list[str] = []
        lines: list[int] = []
        for index, line in enumerate(self._lines):
            found = words_of(line.text)
            words += found
            lines += [index] * len(found)
        return words, lines

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(self._words[0])

    def _nearest(self, passage: Sequence[str]) -> tuple[tuple[VersionLine, ...], float]:
        """The stretch that shares most with the passage, rare words counting more; and how similar it is."""
        words, lines = self._words
        if not passage or not words:
            return (), 0.0
        wanted = set(passage)
        weights = np.array([1.0 / self._counts[word] if word in wanted else 0.0 for word in words])
        if not weights.any():
            return (), 0.0
        width = min(len(passage), len(words))
        totals = np.concatenate([[0.0], np.cumsum(weights)])
        start = int(np.argmax(totals[width:] - totals[:-width]))
        # A little more on both sides, so that words put in or moved do not push the ends out.
        slack = max(3, width // 4)
        low, high = max(0, start - slack), min(len(words), start + width + slack)
        blocks = matching_blocks(list(passage), words[low:high])
        if not blocks:
            return (), 0.0
        first = lines[low + blocks[0].b]
        last = lines[low + blocks[-1].b + blocks[-1].size - 1]
        shared = sum(block.size for block in blocks)
        return tuple(self._lines[first : last + 1]), shared / max(len(passage), 1)


# --- sections -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class VersionSection:
    """A section's own text in one version; the title is empty for text before the first heading. ``place``: its first
    and last line, where known."""

    title: str
    text: str
    place: tuple[Position, Position] | None = None


@dataclass(frozen=True, slots=True)
class SectionChange:
    """A section of either version: words that stayed, came and went."""

    title: str
    old: VersionSection | None
    new: VersionSection | None
    same: int
    added: int
    removed: int

    @property
    def state(self) -> Literal["same", "changed", "added", "removed"]:
        """What became of it."""
        if self.old is None:
            return "added"
        if self.new is None:
            return "removed"
        return "changed" if self.added or self.removed or not self.is_in_order else "same"

    @property
    def is_in_order(self) -> bool:
        """Whether the words stand in the same order too."""
        return (
            self.old is not None
            and self.new is not None
            and squeezed(self.old.text.split("\n")) == squeezed(self.new.text.split("\n"))
        )


_NUMBERING = re.compile(
    r"^\W*(?:(?:section|article|clause)\s+)?[\dIVXivx]*(?:\.\d+)*[.):]?\s+(?=\S)", re.IGNORECASE
)


def numberless(title: str) -> str:
    """A title without its number, so that a section that only moved is still the same section."""
    plain = normalise(title)
    return _NUMBERING.sub("", plain) or plain


def section_key(title: str) -> str:
    """What two versions of a section's title share: no number, no case."""
    return numberless(title).casefold()


def body_text(text: str, *, title: str) -> str:
    """A line of a section for comparison: the line that is its heading loses its number, every other is itself."""
    return numberless(text) if title and normalise(text) == normalise(title) else text


def section_changes(
    old: Sequence[VersionSection], new: Sequence[VersionSection]
) -> tuple[SectionChange, ...]:
    """The sections of both versions side by side, in the order of the new one."""
    found: list[SectionChange] = []
    titles = [section_key(s.title) for s in old], [section_key(s.title) for s in new]
    for kind, i1, i2, j1, j2 in changes(*titles):
        if kind == "equal":
            found += [_change(a, b) for a, b in zip(old[i1:i2], new[j1:j2], strict=True)]
            continue
        found += [_change(section, None) for section in old[i1:i2]]
        found += [_change(None, section) for section in new[j1:j2]]
    return tuple(found)


def _change(old: VersionSection | None, new: VersionSection | None) -> SectionChange:
    if old and new and squeezed(old.text.split("\n")) == squeezed(new.text.split("\n")):
        return SectionChange(new.title, old, new, len(words_of(new.text)), 0, 0)
    before = Counter(words_of(old.text)) if old else Counter[str]()
    after = Counter(words_of(new.text)) if new else Counter[str]()
    same = (before & after).total()
    title = new.title if new else old.title if old else ""
    return SectionChange(title, old, new, same, after.total() - same, before.total() - same)
