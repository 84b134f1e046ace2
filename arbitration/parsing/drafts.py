"""The working form of a document while it is being parsed.

Mutable and plain, so that the isolated child needs no pydantic. :func:`to_wire` writes the JSON that
:class:`arbitration.documents.ParsedDocument` validates on the other side; field names are the same there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

Kind = Literal[
    "pdf", "markdown", "text", "html", "docx", "email", "msg", "xlsx", "pptx", "odt", "rtf", "image"
]  # fmt: skip
Method = Literal["native", "ocr", "markdown", "text", "html", "docx", "email", "xlsx", "pptx", "odt", "rtf"]
Mark = Literal["", "changed", "insertion", "deletion", "comment"]
TocSource = Literal["outline", "headings", "markup", "none"]


@dataclass(slots=True)
class DraftLine:
    """A line of :class:`arbitration.documents.Line` with the style that structure is read from.

    ``size`` is the font size in points of most of its characters, 0 where unknown; ``bold`` and ``italic`` hold for
    most of its characters. ``starts_block`` marks the first line of a paragraph, list item, table row or heading:
    a place where a passage may begin. ``mark`` and ``author`` are those of :class:`arbitration.documents.Line`.
    """

    page_num: int
    text: str
    line_num: int = 0
    x0: float | None = None
    y0: float | None = None
    x1: float | None = None
    y1: float | None = None
    column_position: int = 0
    section_id: str | None = None
    parsing_method: Method = "native"
    is_furniture: bool = False
    is_hidden: bool = False
    confidence: float | None = None
    size: float = 0.0
    bold: bool = False
    italic: bool = False
    is_upright: bool = True
    cells: int = 1
    starts_block: bool = False
    mark: Mark = ""
    author: str = ""

    @property
    def is_body(self) -> bool:
        """Whether the line is searched: neither furniture nor hidden."""
        return not (self.is_furniture or self.is_hidden)


@dataclass(slots=True)
class DraftPage:
    """A page of :class:`arbitration.documents.Page`; ``n_columns`` counts the reading columns."""

    page_num: int
    n_columns: int = 1
    width: float | None = None
    height: float | None = None


@dataclass(slots=True)
class TocEntry:
    """One heading before it is tied to a line.

    ``level`` is 1 for the top. ``page_num`` is None where the source names no page. ``x`` and ``y`` are in points
    from the top left of the page. ``line_num`` is set when the heading's line is already known.
    """

    title: str
    level: int
    page_num: int | None
    y: float | None = None
    x: float | None = None
    line_num: int | None = None


@dataclass(slots=True)
class DraftSection:
    """A section of :class:`arbitration.documents.Section`."""

    section_id: str
    level: int
    parent_id: str | None
    title: str
    breadcrumb: str
    start_page: int
    end_page: int
    start_y: float | None
    start_line: int | None


@dataclass(slots=True)
class DraftPassage:
    """A passage of :class:`arbitration.documents.Passage`."""

    ordinal: int
    page_start: int
    line_start: int
    page_end: int
    line_end: int
    section_id: str | None
    text: str


@dataclass(slots=True)
class Draft:
    """What a parser makes of one file: lines in reading order and the headings it knows of.

    ``title`` is the parser's own word on the title (metadata, front matter), if any. ``unread`` holds the pages that
    show something but give no text: text recognition may.
    """

    kind: Kind
    pages: list[DraftPage]
    lines: list[DraftLine]
    toc: list[TocEntry] = field(default_factory=list)
    toc_source: TocSource = "none"
    title: str | None = None
    warnings: list[str] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)


@dataclass(slots=True)
class FinishedDraft:
    """A draft with sections, passages, language and title: ready to cross the border."""

    draft: Draft
    title: str | None
    language: str
    sections: list[DraftSection]
    passages: list[DraftPassage]


#: What only the parsers look at.
_STYLE = frozenset({"size", "bold", "italic", "is_upright", "cells", "starts_block"})
#: Hundredths of a point are enough to box a line, and keep the JSON short.
_POINTS = frozenset({"x0", "y0", "x1", "y1", "width", "height", "start_y"})


def _rows(items: Sequence[DraftLine | DraftPage | DraftSection | DraftPassage]) -> list[dict[str, object]]:
    names = [item.name for item in fields(items[0]) if item.name not in _STYLE] if items else []
    return [{name: _written(name, getattr(item, name)) for name in names} for item in items]


def _written(name: str, value: object) -> object:
    return round(value, 2) if name in _POINTS and isinstance(value, float) else value


def to_wire(finished: FinishedDraft) -> bytes:
    """The finished draft as UTF-8 JSON that ``ParsedDocument.model_validate_json`` accepts."""
    texts: dict[int, list[str]] = {}
    lines = _rows(finished.draft.lines)
    for line, row in zip(finished.draft.lines, lines, strict=True):
        texts.setdefault(line.page_num, []).append(line.text)
        row["character_count"] = len(line.text)
    pages = _rows(finished.draft.pages)
    for page, row in zip(finished.draft.pages, pages, strict=True):
        row["text"] = "\n".join(texts.get(page.page_num, []))
    document = {
        "kind": finished.draft.kind,
        "title": finished.title,
        "language": finished.language,
        "toc_source": finished.draft.toc_source if finished.sections else "none",
        "pages": pages,
        "lines": lines,
        "sections": _rows(finished.sections),
        "passages": _rows(finished.passages),
        "warnings": finished.draft.warnings,
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
