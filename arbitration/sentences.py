"""The sentences of a text of several lines, and where each stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_SENTENCE_END = re.compile(r"(?<=[.?!])[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-Z0-9ÁÉÍÓÚÑ¿¡•o])")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence on one line, and the indexes of the first and last line of the text that it stands on, 0-based."""

    text: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class SentenceMap:
    """Where the sentences of a text begin (``begins``) and its lines (``lines``), in characters of the text on one
    line: the lines without the white space at their ends, joined by single spaces."""

    flat: str
    begins: tuple[int, ...]
    lines: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> SentenceMap:
        """The sentences of a text; none of a blank one."""
        lines = [line.strip() for line in text.split("\n")]
        flat, starts, position = " ".join(lines), [], 0
        for line in lines:
            starts.append(position)
            position += len(line) + 1
        cuts = [0, *(match.end() for match in _SENTENCE_END.finditer(flat)), len(flat)]
        begins = [begin for begin, end in pairwise(cuts) if flat[begin:end].strip()]
        return cls(flat, tuple(begins), tuple(starts))

    def sentences(self) -> list[Sentence]:
        """The sentences in order."""
        ends = (*self.begins[1:], len(self.flat))
        return [
            Sentence(
                text=self.flat[begin:end].strip(),
                first=_index(self.lines, begin),
                last=_index(self.lines, max(begin, end - 2)),
            )
            for begin, end in zip(self.begins, ends, strict=False)
        ]


def sentences_of(text: str) -> list[Sentence]:
    """The sentences of a text of several lines, in order."""
    return SentenceMap.of(text).sentences()


def _index(starts: Sequence[int], offset: int) -> int:
    return bisect_right(starts, offset) - 1
