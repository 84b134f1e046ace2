"""Which candidate a labelled passage means, where the two do not have the same borders.

People and other tools mark a clause or a page; detection makes passages of its own. The two mean the same when they
share at least half of the text of the shorter one: the clause stands in the passage, or the passage in what was marked.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from django.db.models import Q

from arbitration.pool import CandidatePool, PoolCandidate
from workbench.documents.ingest import text_hash
from workbench.documents.models import Line

from .models import Label

#: Of the text of the shorter of two passages, the share they must have in common.
LEAST_SHARED = 0.5

#: Characters by (page, line): which lines a passage has, and how much each weighs.
Lines = Mapping[tuple[int, int], int]
#: The same of a document, in the order of the lines.
_Placed = Sequence[tuple[tuple[int, int], int]]


@dataclass(frozen=True, slots=True)
class Unmatched:
    """Of some labels, by their place among them, those that mean no candidate and so train nothing; ``not_checked``
    counts the ones of which that is not known yet."""

    places: tuple[int, ...] = ()
    not_checked: int = 0


#: Looks which labels of an import mean no candidate; the second argument says whether they are stored.
Matcher = Callable[[Sequence[Label], bool], Unmatched]
_matchers: dict[str, Matcher] = {}


def matchers_register(*, here: Matcher, by_worker: Matcher) -> None:
    """The app that finds candidates for labels says how, once it is loaded; it stands above this one."""
    _matchers.update(here=here, by_worker=by_worker)


def match_here(labels: Sequence[Label], are_stored: bool) -> Unmatched:
    """Looks in this process; for commands, which may load the encoder."""
    return _matchers["here"](labels, are_stored)


def match_by_worker(labels: Sequence[Label], are_stored: bool) -> Unmatched:
    """Has a worker look, and waits a few seconds for it; for pages and the API."""
    return _matchers["by_worker"](labels, are_stored)


class Labelled(Protocol):
    """What a label says of its passage."""

    @property
    def document_id(self) -> int: ...
    @property
    def page_start(self) -> int: ...
    @property
    def line_start(self) -> int: ...
    @property
    def page_end(self) -> int: ...
    @property
    def line_end(self) -> int: ...
    @property
    def text_hash(self) -> str: ...


def matches(labels: Sequence[Labelled], pool: CandidatePool) -> list[PoolCandidate | None]:
    """For each label the candidate of the pool that it means; None where there is none. One query at most."""
    by_document: dict[str, list[PoolCandidate]] = {}
    for candidate in pool.candidates:
        by_document.setdefault(candidate.document_id, []).append(candidate)
    found = [_of_the_same_text(label, by_document.get(f"d{label.document_id}", [])) for label in labels]
    open_ones = [label for label, same in zip(labels, found, strict=True) if same is None]
    if not open_ones or not pool.candidates:
        return found
    texts = _lines_of(open_ones)
    measured = {name: [(c, candidate_lines(c)) for c in of_it] for name, of_it in by_document.items()}
    return [
        same if same is not None else _nearest(texts, label, measured.get(f"d{label.document_id}", []))
        for label, same in zip(labels, found, strict=True)
    ]


def _of_the_same_text(label: Labelled, candidates: Iterable[PoolCandidate]) -> PoolCandidate | None:
    return next((c for c in candidates if text_hash(c.anchor_text) == label.text_hash), None)


def _nearest(
    texts: Mapping[int, _Placed], label: Labelled, candidates: Iterable[tuple[PoolCandidate, Lines]]
) -> PoolCandidate | None:
    first, last = (label.page_start, label.line_start), (label.page_end, label.line_end)
    of_document = texts.get(label.document_id, ())
    start = bisect_left(of_document, first, key=_place)
    end = bisect_right(of_document, last, key=_place)
    return best_match(dict(of_document[start:end]), candidates)


def _place(line: tuple[tuple[int, int], int]) -> tuple[int, int]:
    return line[0]


def best_match(lines: Lines, candidates: Iterable[tuple[PoolCandidate, Lines]]) -> PoolCandidate | None:
    """Of the candidates that share enough text with a passage the most alike; the first of equals."""
    best, alike = None, 0.0
    for candidate, others in candidates:
        shared = sum(size for place, size in lines.items() if place in others)
        own, other = sum(lines.values()), sum(others.values())
        if not shared or shared < LEAST_SHARED * min(own, other):
            continue
        likeness = 2 * shared / (own + other)
        if likeness > alike:
            best, alike = candidate, likeness
    return best


def candidate_lines(candidate: PoolCandidate) -> Lines:
    """The candidate's own lines. Its record holds line numbers alone: where they start anew, a page begins."""
    lines: dict[tuple[int, int], int] = {}
    page, before = candidate.anchor.page_start, 0
    for number, text in zip(candidate.anchor_lines, candidate.anchor_text.split("\n"), strict=False):
        page += number <= before
        before = number
        lines[page, number] = _size(text)
    return lines


def _lines_of(labels: Iterable[Labelled]) -> dict[int, _Placed]:
    """The lines of the pages that the labels speak of, by document, in their order."""
    pages: dict[int, tuple[int, int]] = {}
    for label in labels:
        first, last = pages.get(label.document_id, (label.page_start, label.page_end))
        pages[label.document_id] = (min(first, label.page_start), max(last, label.page_end))
    wanted = Q()
    for document_id, between in pages.items():
        wanted |= Q(document_id=document_id, page_num__range=between)
    found: dict[int, list[tuple[tuple[int, int], int]]] = {document_id: [] for document_id in pages}
    rows = Line.objects.filter(wanted, is_furniture=False).order_by("document_id", "page_num", "line_num")
    for document_id, page, line, text in rows.values_list("document_id", "page_num", "line_num", "text"):
        found[document_id].append(((page, line), _size(text)))
    return dict(found)


def _size(text: str) -> int:
    return len("".join(text.split()))
