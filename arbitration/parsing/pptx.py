"""PPTX to lines, read with python-pptx: a slide is a page and a section, its notes stand below it, and its
comments with their author, which are not searched.

Pictures, charts, animations, embedded files and linked media are not opened.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from arbitration.errors import ParseFailure
from arbitration.parsing.archive import Archive
from arbitration.parsing.drafts import Draft
from arbitration.parsing.flow import Flow
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.office_comments import slide_comments
from arbitration.parsing.package import checked_package, damage_reported, opened_package
from arbitration.parsing.table_rows import is_header, named_cells

_SLIDE_LINES = 10_000  # a slide is one page, however much it says
_MAX_DEPTH = 50  # groups inside groups
_MAX_LISTED = 20


@dataclass(slots=True)
class _Findings:
    """Slides (1-based) of which people are told something."""

    hidden: list[int] = field(default_factory=list)
    wordless: list[int] = field(default_factory=list)
    pictured: list[int] = field(default_factory=list)
    comments: int = 0

    def warnings(self) -> Iterator[str]:
        for numbers, said in (
            (self.hidden, "hidden in the presentation; flagged and not searched"),
            (self.wordless, "shows no text"),
            (self.pictured, "holds pictures or charts, which were not read"),
        ):
            if numbers:
                listed = ", ".join(map(str, numbers[:_MAX_LISTED]))
                more = f" and {len(numbers) - _MAX_LISTED} more" if len(numbers) > _MAX_LISTED else ""
                yield f"slide{'s' if len(numbers) > 1 else ''} {listed}{more}: {said}"
        if self.comments:
            yield f"{self.comments} comments on slides are shown with their author; they are not searched"


def draft_of_pptx(data: bytes, *, limits: ParseLimits, password: str | None = None) -> Draft:
    """Slides as pages.

    Raises :class:`PasswordRequired`, and :class:`ParseFailure` (``corrupt``, ``too_large``, ``too_many_pages``,
    ``forbidden_content``, ``type_mismatch``).
    """
    data = opened_package(data, password=password, extension=".pptx")
    archive = checked_package(data)
    if "ppt/presentation.xml" not in archive.names:
        raise ParseFailure("type_mismatch", "The name says PPTX, but the file holds no presentation.")
    flow, found = Flow("pptx", limits.max_characters, page_lines=_SLIDE_LINES), _Findings()
    with damage_reported("a presentation program"):
        title = _read(data, archive, flow, found, limits)
    warnings = [*found.warnings(), *_warnings(archive, flow)]
    return Draft("pptx", flow.pages, flow.lines, flow.toc, "markup", title, warnings)


def _read(data: bytes, archive: Archive, flow: Flow, found: _Findings, limits: ParseLimits) -> str | None:
    from pptx import Presentation

    presentation = Presentation(io.BytesIO(data))
    if len(presentation.slides) > limits.max_pages:
        raise ParseFailure(
            "too_many_pages",
            f"The file has {len(presentation.slides)} slides; at most {limits.max_pages} are read. Split it.",
        )
    for number, slide in enumerate(presentation.slides, start=1):
        flow.start_page(number)
        hidden = slide._element.get("show") in ("0", "false")
        before = len(flow.lines)
        if _Slide(flow, hidden=hidden).write(slide):
            found.pictured.append(number)
        for comment in slide_comments(archive, str(slide.part.partname)):
            line = flow.add_note(comment.words, mark="comment", author=comment.author, hidden=hidden)
            found.comments += line is not None
        if hidden:
            found.hidden.append(number)
        if len(flow.lines) == before:
            found.wordless.append(number)
    return presentation.core_properties.title or None


class _Slide:
    """Writes one slide; tells whether there is something on it that was not read."""

    def __init__(self, flow: Flow, *, hidden: bool) -> None:
        self._flow = flow
        self._hidden = hidden
        self._has_pictures = False

    def write(self, slide: Any) -> bool:
        title = slide.shapes.title
        if title is not None and title.has_text_frame and title.text_frame.text.strip():
            words = " ".join(title.text_frame.text.split())
            self._flow.add(words, level=None if self._hidden else 1, hidden=self._hidden, bold=True)
        rest = [shape for shape in slide.shapes if title is None or shape.shape_id != title.shape_id]
        self._shapes(rest, depth=0)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = slide.notes_slide.notes_text_frame.text
            if notes.strip():
                self._add(f"Notes: {notes}")
        return self._has_pictures

    def _shapes(self, shapes: Iterable[Any], *, depth: int) -> None:
        """From top to bottom, then from left to right; what has no place of its own keeps its turn."""
        if depth > _MAX_DEPTH:
            raise ParseFailure("too_large", "A slide's groups are nested too deeply to be read.")
        for shape in sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0)):
            if hasattr(shape, "shapes"):
                self._shapes(shape.shapes, depth=depth + 1)
            elif getattr(shape, "has_table", False):
                self._table(shape.table)
            elif shape.has_text_frame:
                for paragraph in shape.text_frame.paragraphs:
                    self._add("".join(run.text for run in paragraph.runs) or paragraph.text)
            else:
                self._has_pictures = True

    def _table(self, table: Any) -> None:
        """Rows as lines that name their columns."""
        rows = [
            {
                place: words
                for place, cell in enumerate(row.cells)
                if (words := " ".join(cell.text_frame.text.split()))
            }
            for row in table.rows
        ]
        header = rows[0] if rows and len(rows[0]) > 1 and (table.first_row or is_header(rows[0])) else {}
        for number, cells in enumerate(rows):
            self._flow.add_row(named_cells(header if number else {}, cells), hidden=self._hidden)

    def _add(self, text: str) -> None:
        self._flow.add(text.replace("\v", "\n"), hidden=self._hidden)


def _warnings(archive: Archive, flow: Flow) -> Iterator[str]:
    names = archive.names
    if any(name.startswith("ppt/embeddings/") for name in names):
        yield "embedded files were not opened"
    if "ppt/vbaproject.bin" in names:
        yield "the file holds macros; they were not run"
    if flow.invisible_characters:
        yield f"{flow.invisible_characters} invisible characters were left out"
