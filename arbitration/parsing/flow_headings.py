"""Headings of a flowing document whose markup names none: read from weight, capitals and numbers.

Agreements are often typed without heading styles: "**1. Confidentiality.** The parties ..." is one. As in
:mod:`arbitration.parsing.headings`, a missed heading costs little.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from arbitration.parsing.clauses import find_clauses
from arbitration.parsing.drafts import DraftLine, TocEntry, TocSource
from arbitration.parsing.flow import Flow
from arbitration.parsing.levels import Look, levels_of
from arbitration.parsing.numbering import heading_number, is_upper_case

_MAX_CHARACTERS = 110
_MAX_WORDS = 14
_MAX_SHARE = 0.3  # of the characters; more "headings" than that are something else
_MIN_SIZE = 0.93  # of the usual size
_REPEATED = 3
_COVER_LINES, _COVER_SHARE = 10, 0.1  # of the lines; a shorter beginning needs no headings of its own
_MIN_HEADINGS = 2
_LABEL_LINE = re.compile(
    r"/s/|_{3,}|\.{4,}|^(?:by|name|title|date|signature|signed|attest|witness|its|firma|nombre|fecha)\b\s*:?\s*$",
    re.IGNORECASE,
)
_MARKED = re.compile(r"^(#{1,6})\s+(\S.{0,120})$")
_MIN_MARKED = 3
_TABLE_NAME = re.compile(r"^(?:table|figure|tabla|figura)\s+\d", re.IGNORECASE)


@dataclass(slots=True)
class Candidate:
    """A paragraph that might be a heading, or begin with one.

    ``title`` is the part that would be the title; ``is_whole`` is false where it runs into the text.
    """

    line: DraftLine
    title: str
    look: Look
    is_whole: bool
    is_bullet: bool = False


def candidate_of(
    line: DraftLine, text: str, *, run_in: str = "", bold: bool = False, is_bullet: bool = False
) -> Candidate:
    """A paragraph in a type of unknown size; ``run_in`` are the words at its beginning that would be the title."""
    title = run_in or " ".join(text.split())
    look = Look(0.0, bold, is_upper_case(title), kind_of(title))
    return Candidate(line, title, look, is_whole=not run_in, is_bullet=is_bullet)


def kind_of(title: str) -> tuple[str, int]:
    """The kind of a :class:`~arbitration.parsing.levels.Look`, by the number that the title begins with."""
    number = heading_number(title)
    if number is None:
        return "none", 0
    return ("named", number.rank) if number.is_named else ("decimal", number.depth)


def usable_headings(flow: Flow, candidates: Sequence[Candidate]) -> tuple[list[TocEntry], TocSource]:
    """The headings that the markup names, where it names at least two; else those that look like headings.

    A cover page before the first named heading is often typed without styles: there the look decides too.
    """
    if len(flow.toc) >= _MIN_HEADINGS:
        return [*_of_the_cover(flow, candidates), *flow.toc], "markup"
    found = headings_by_look(candidates, flow.lines)
    if found:
        return found, "headings"
    return flow.toc, "markup" if flow.toc else "none"


def _of_the_cover(flow: Flow, candidates: Sequence[Candidate]) -> list[TocEntry]:
    first = flow.toc[0].page_num or 1, flow.toc[0].line_num or 1
    before = [line for line in flow.lines if (line.page_num, line.line_num) < first]
    if len(before) < max(_COVER_LINES, _COVER_SHARE * len(flow.lines)):
        return []
    known = {id(line) for line in before}
    return headings_by_look([c for c in candidates if id(c.line) in known], before)


def headings_by_look(candidates: Sequence[Candidate], lines: Sequence[DraftLine]) -> list[TocEntry]:
    """Entries with levels; empty when the paragraphs show no plain structure."""
    marked = _by_marks(candidates)
    if marked:
        return marked
    usual = _usual_size(lines)
    body_is_bold = sum(c.look.bold for c in candidates if c.is_whole) > 0.5 * max(len(candidates), 1)
    chosen = {
        id(candidate.line): candidate
        for candidate in candidates
        if _stands_out(candidate, usual, body_is_bold=body_is_bold)
    }
    times = Counter(candidate.title.casefold() for candidate in chosen.values())
    chosen = {key: c for key, c in chosen.items() if times[c.title.casefold()] < _REPEATED}
    for clause in find_clauses(
        (place, c.title if not c.is_whole else c.line.text) for place, c in enumerate(candidates)
    ):
        candidate = candidates[clause.key]
        if id(candidate.line) not in chosen:
            look = Look(usual, False, False, ("decimal", clause.depth))
            chosen[id(candidate.line)] = Candidate(candidate.line, clause.title, look, is_whole=False)
    found = [chosen[id(c.line)] for c in candidates if id(c.line) in chosen]
    total = sum(len(line.text) for line in lines if line.is_body)
    if len(found) < _MIN_HEADINGS or sum(len(c.title) for c in found) > max(_MAX_SHARE * total, 200):
        return []
    levels = levels_of(candidate.look for candidate in found)
    return [
        TocEntry(c.title, level, c.line.page_num, line_num=c.line.line_num)
        for c, level in zip(found, levels, strict=True)
    ]


def _by_marks(candidates: Sequence[Candidate]) -> list[TocEntry]:
    """Headings that are typed as in Markdown, ``## Term``, where a document does so throughout."""
    found = [(match, c.line) for c in candidates if (match := _MARKED.match(c.line.text)) is not None]
    if len(found) < _MIN_MARKED:
        return []
    return [
        TocEntry(match.group(2).strip(" *_#"), len(match.group(1)), line.page_num, line_num=line.line_num)
        for match, line in found
        if any(c.isalpha() for c in match.group(2))
    ]


def _usual_size(lines: Sequence[DraftLine]) -> float:
    sizes: Counter[float] = Counter()
    for line in lines:
        if line.is_body:
            sizes[line.size] += len(line.text)
    return max(sizes, key=lambda size: (sizes[size], size), default=0.0)


def _stands_out(candidate: Candidate, usual: float, *, body_is_bold: bool) -> bool:
    title = candidate.title
    if len(title) > _MAX_CHARACTERS or len(title.split()) > _MAX_WORDS or candidate.is_bullet:
        return False
    letters = sum(map(str.isalpha, title))
    if 0 < candidate.look.size < _MIN_SIZE * usual:
        return False
    if letters < 3 or letters < 0.5 * len("".join(title.split())):
        return False
    if _LABEL_LINE.search(title) or _TABLE_NAME.match(title):
        return False
    if not candidate.is_whole:
        return candidate.look.kind[0] != "none" or title[:1].isupper()
    if title.endswith((",", ";")) or (title.endswith((".", ":")) and candidate.look.kind[0] == "none"):
        return False
    large = usual > 0 and candidate.look.size >= 1.12 * usual
    return large or candidate.look.caps or (candidate.look.bold and not body_is_bold)
