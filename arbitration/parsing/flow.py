"""Lines on virtual pages for formats that flow: documents of word processors, web pages, messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from arbitration.errors import ParseFailure
from arbitration.parsing.drafts import DraftLine, DraftPage, Mark, Method, TocEntry
from arbitration.parsing.offsets import PAGE_LINES, wrap

_PAGE_SLACK = 8  # lines by which a page may be shorter, to end with a paragraph
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff\ud800-\udfff]")
_INVISIBLE = re.compile(r"[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\U000e0000-\U000e007f]")
MAX_TITLE = 160  # characters
MAX_AUTHOR = 120


@dataclass(slots=True)
class Flow:
    """Collects blocks of text as lines of at most 160 characters, on pages of about ``page_lines`` lines.

    ``max_characters`` bounds the text; more is a :class:`ParseFailure` (``too_large``).
    """

    method: Method
    max_characters: int
    page_lines: int = PAGE_LINES
    lines: list[DraftLine] = field(default_factory=list)
    toc: list[TocEntry] = field(default_factory=list)
    characters: int = 0
    invisible_characters: int = 0
    _page: int = 1
    _number: int = 0
    _started: int = 0

    def add(
        self,
        text: str,
        *,
        level: int | None = None,
        title: str | None = None,
        hidden: bool = False,
        furniture: bool = False,
        size: float = 0.0,
        bold: bool = False,
        mark: Mark = "",
        author: str = "",
    ) -> DraftLine | None:
        """One block; ``\\n`` in it breaks lines. Returns its first line, None when it holds nothing readable.

        With ``level`` the block is a heading and enters the table of contents, under ``title`` or its own words.
        """
        first: DraftLine | None = None
        for row in text.split("\n"):
            for line in self._wrapped(self._clean(row), starts=first is None):
                line.is_hidden, line.is_furniture = hidden, furniture
                line.size, line.bold = size, bold
                line.mark, line.author = mark, author
                first = first or line
        if first is not None and level is not None:
            heading = self._clean((title or text).replace("\n", " "))[:MAX_TITLE]
            self.toc.append(TocEntry(heading, level, first.page_num, line_num=first.line_num))
        return first

    def add_row(self, cells: Iterable[str], *, hidden: bool = False) -> None:
        """A table row: its cells on one line, two spaces between them; empty cells leave nothing."""
        words = [cell for cell in (self._clean(cell) for cell in cells) if cell]
        for line in self._wrapped("  ".join(words), starts=True):
            line.cells, line.is_hidden = max(len(words), 1), hidden

    def add_note(self, text: str, *, mark: Mark, author: str, hidden: bool = False) -> DraftLine | None:
        """Words that are no part of the text, such as a comment: shown with their author, never searched."""
        author = " ".join(_NOT_TEXT.sub("", author).split())[:MAX_AUTHOR]
        return self.add(text, mark=mark, author=author, hidden=hidden, furniture=not hidden)

    def page_break(self) -> None:
        """What comes next begins a page."""
        if self._number:
            self._page, self._number = self._page + 1, 0

    def start_page(self, number: int) -> None:
        """What comes next stands on that page, also where pages before it are empty."""
        self._page, self._number, self._started = number, 0, number

    @property
    def pages(self) -> list[DraftPage]:
        """The virtual pages."""
        written = self.lines[-1].page_num if self.lines else 0
        return [DraftPage(number) for number in range(1, max(written, self._started) + 1)]

    def _clean(self, text: str) -> str:
        text = _NOT_TEXT.sub("", text)
        if not text.isascii():
            text, found = _INVISIBLE.subn("", text)
            self.invisible_characters += found
        self.characters += len(text)
        if self.characters > self.max_characters:
            raise ParseFailure(
                "too_large",
                f"The document holds more than {self.max_characters:,} characters of text. Split it.",
            )
        return " ".join(text.split())

    def _wrapped(self, text: str, *, starts: bool) -> list[DraftLine]:
        pieces = [text[start:end] for start, end in wrap(text, 0, len(text))]
        return [self._line(piece, starts=starts and place == 0) for place, piece in enumerate(pieces)]

    def _line(self, text: str, *, starts: bool) -> DraftLine:
        full = self._number >= self.page_lines or (self._number >= self.page_lines - _PAGE_SLACK and starts)
        if full:
            self.page_break()
        self._number += 1
        line = DraftLine(self._page, text, self._number, parsing_method=self.method, starts_block=starts)
        self.lines.append(line)
        return line
