"""Finds words in a document: the lines that contain them, with their neighbours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet

from arbitration.text import highlight_spans, is_stop_word, supported_language, words
from workbench.infra.addresses import words_in

from .models import Document, Line

#: Lines that a search of one document gives, and passages that are read for words that no line holds together.
MOST_HITS, MOST_PASSAGES = 100, 40
_MOST_WORDS = 12

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that contains the words. ``spans`` are offsets into its text. ``before`` and ``after`` are the
    neighbouring lines on its page."""

    page_num: int
    line_num: int
    text: str
    spans: tuple[Span, ...]
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """Hits in reading order. ``has_more`` if the document contains more."""

    hits: tuple[Hit, ...] = ()
    has_more: bool = False


def document_find(*, document: Document, text: str) -> Found:
    """Lines that contain the text as typed; if none does, lines of passages that contain all its words in any form. At
    most three queries."""
    text = words_in(text)
    if not text:
        return Found()
    lines = Line.objects.filter(document=document, is_furniture=False).order_by("page_num", "line_num")
    rows = list(lines.filter(text__icontains=text)[: MOST_HITS + 1])
    asked = _telling(text, document.language)
    if not rows and len(asked) > 1:
        rows = _of_passages(document, lines, asked)
    spans = {row.pk: _spans(row.text, text, asked, document.language) for row in rows[:MOST_HITS]}
    beside = _beside(document, rows[:MOST_HITS])
    return Found(
        tuple(
            Hit(
                row.page_num,
                row.line_num,
                row.text,
                spans[row.pk],
                before=beside.get((row.page_num, row.line_num - 1), ""),
                after=beside.get((row.page_num, row.line_num + 1), ""),
            )
            for row in rows[:MOST_HITS]
            if spans[row.pk]
        ),
        has_more=len(rows) > MOST_HITS,
    )


def _telling(text: str, language: str) -> list[str]:
    """The words of a query without function words, unless there are no others."""
    every = list(dict.fromkeys(words(text)))[:_MOST_WORDS]
    telling = [word for word in every if not is_stop_word(word, supported_language(language))]
    return telling or every


def _of_passages(document: Document, lines: QuerySet[Line], asked: Sequence[str]) -> list[Line]:
    """Lines with one of the words, of passages that hold them all."""
    every = Q()
    for word in asked:
        every &= Q(text__icontains=word)
    spans = document.passages.filter(every).values_list("page_start", "line_start", "page_end", "line_end")
    inside, any_word = Q(pk=None), Q()
    for page_start, line_start, page_end, line_end in spans[:MOST_PASSAGES]:
        begun = Q(page_num=page_start, line_num__gte=line_start) | Q(page_num__gt=page_start)
        inside |= begun & (Q(page_num=page_end, line_num__lte=line_end) | Q(page_num__lt=page_end))
    for word in asked:
        any_word |= Q(text__icontains=word)
    return list(lines.filter(inside & any_word)[: MOST_HITS + 1])


def _spans(line: str, text: str, asked: Sequence[str], language: str) -> tuple[Span, ...]:
    exact = [match.span() for match in re.finditer(re.escape(text), line, re.IGNORECASE)]
    if exact:
        return tuple(exact)
    found = highlight_spans(line, asked, supported_language(language))
    return tuple(found) or ((0, len(line)),)


def _beside(document: Document, rows: Sequence[Line]) -> dict[tuple[int, int], str]:
    if not rows:
        return {}
    near = Line.objects.filter(
        document=document,
        page_num__in={row.page_num for row in rows},
        line_num__in={row.line_num + step for row in rows for step in (-1, 1)},
        is_furniture=False,
    )
    return {(page, line): text for page, line, text in near.values_list("page_num", "line_num", "text")}


def pieces(text: str, spans: Sequence[Span], **mark: Any) -> list[dict[str, Any]]:
    """The text in parts, marked and not, in order; ``mark`` is what a marked part bears beside its text."""
    parts: list[dict[str, Any]] = []
    at = 0
    for start, end in spans:
        marked = mark or {"matched": True}
        parts += [{"text": text[at:start], "matched": False}, {"text": text[start:end]} | marked]
        at = end
    return [part for part in [*parts, {"text": text[at:], "matched": False}] if part["text"]]
