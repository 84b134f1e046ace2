"""The parsed form of a document: lines, pages, sections and passages.

These are the tables the literature calls line_df, page_df and toc_df. Coordinates are in PDF points
(1/72 inch) from the top left corner of the page; formats without pages leave them ``None``.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

ParsingMethod = Literal[
    "native", "ocr", "markdown", "text", "html", "docx", "email", "xlsx", "pptx", "odt", "rtf"
]  # fmt: skip
LineMark = Literal["", "changed", "insertion", "deletion", "comment"]


class Record(BaseModel):
    """A frozen row that crosses the border between the isolated parser and the product."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Line(Record):
    """One line of text. ``line_num`` is 1-based in its page and follows the reading order."""

    page_num: int = Field(ge=1)
    line_num: int = Field(ge=1)
    text: str
    x0: float | None = None
    y0: float | None = None
    x1: float | None = None
    y1: float | None = None
    character_count: int = Field(ge=0)
    column_position: int = Field(default=0, ge=0)  # 0 = spans the page or single column, 1.. = column
    section_id: str | None = None
    parsing_method: ParsingMethod = "native"
    is_furniture: bool = False  # running header, footer or page number: shown, never searched
    is_hidden: bool = False  # invisible or covered text: flagged to people, never trusted
    confidence: float | None = Field(default=None, ge=0.0, le=1.0)  # OCR only
    # "changed": holds a tracked change. The others are lines of their own, never searched: the words inserted or
    # deleted, or a comment in the margin, with their author.
    mark: LineMark = ""
    author: str = ""


class Page(Record):
    """One page. Formats without pages are cut into virtual pages so that anchors stay readable."""

    page_num: int = Field(ge=1)
    text: str
    n_columns: int = Field(default=1, ge=1)
    width: float | None = None
    height: float | None = None


class Section(Record):
    """One entry of the table of contents. ``level`` is 1 for the top; ids are ``s1``, ``s2``, ..."""

    section_id: str
    level: int = Field(ge=1)
    parent_id: str | None = None
    title: str
    breadcrumb: str
    start_page: int = Field(ge=1)
    end_page: int = Field(ge=1)
    start_y: float | None = None
    start_line: int | None = Field(default=None, ge=1)


class Passage(Record):
    """The unit of embedding and lexical search: consecutive body lines of one section."""

    ordinal: int = Field(ge=0)
    page_start: int = Field(ge=1)
    line_start: int = Field(ge=1)
    page_end: int = Field(ge=1)
    line_end: int = Field(ge=1)
    section_id: str | None = None
    text: str


TocSource = Literal["outline", "headings", "markup", "none"]


class ParsedDocument(Record):
    """Everything a parser says about one file."""

    kind: Literal["pdf", "markdown", "text", "html", "docx", "email", "xlsx", "pptx", "odt", "rtf", "image"]
    title: str | None = None
    language: str = "en"
    toc_source: TocSource = "none"
    pages: tuple[Page, ...]
    lines: tuple[Line, ...]
    sections: tuple[Section, ...] = ()
    passages: tuple[Passage, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def section_depth(self) -> int:
        """Number of levels of the table of contents; 0 when there is none."""
        return max((section.level for section in self.sections), default=0)
