"""DOCX to lines and headings, read from WordprocessingML itself: text as it stands with every tracked change accepted.

What was deleted or hidden is kept as flagged lines, so that people see it and nothing trusts it. Macros, embedded
objects, linked templates and pictures are not opened.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from arbitration.errors import ParseFailure
from arbitration.parsing.archive import Archive
from arbitration.parsing.docx_styles import Numbering, Styles, cell_fills
from arbitration.parsing.docx_text import Paragraph, ParagraphReader
from arbitration.parsing.drafts import Draft, DraftLine
from arbitration.parsing.flow import Flow
from arbitration.parsing.flow_headings import Candidate, kind_of, usable_headings
from arbitration.parsing.levels import Look as HeadingLook
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.numbering import is_upper_case
from arbitration.parsing.package import opened_package
from arbitration.parsing.safe_xml import Element, parse_xml

_LONG_CELL = 300  # characters; a table with longer cells of several paragraphs is a layout, not rows
_MAX_HEADING = 140  # characters of a paragraph that is a heading as a whole
_MAX_LISTED = 12
_MAX_QUOTED = 60  # characters of a tracked change that a warning quotes
_CONTENTS_STYLE = re.compile(r"^(?:toc|tdc|table of figures)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"^(.{4,100}?)[.:](?=\s)")
_CONTAINERS = frozenset({"w:sdt", "w:sdtContent", "w:customXml", "w:ins", "w:moveTo", "w:smartTag"})


def draft_of_docx(data: bytes, *, limits: ParseLimits, password: str | None = None) -> Draft:
    """Lines, virtual pages and headings.

    Raises :class:`PasswordRequired`, and :class:`ParseFailure` (``corrupt``, ``too_large``, ``forbidden_content``,
    ``unsupported_type``).
    """
    archive = Archive(opened_package(data, password=password, extension=".docx"))
    main = archive.read("word/document.xml") or archive.read(_main_part(archive))
    if main is None:
        raise ParseFailure("type_mismatch", "The name says DOCX, but the file holds no Word document.")
    return _Reader(archive, limits).read(parse_xml(main))


def _main_part(archive: Archive) -> str:
    """Where the package says its document is (ECMA-376 part 2, 9.3); a missing name finds nothing."""
    relations = archive.read("_rels/.rels")
    for relation in parse_xml(relations).children if relations else ():
        if relation.get("Type").endswith("/officeDocument") and relation.get("TargetMode") != "External":
            return relation.get("Target")
    return ""


@dataclass(slots=True)
class _Changes:
    """Tracked changes: where they are, in words that a person can check."""

    inserted: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    authors: Counter[str] = field(default_factory=Counter)

    def note(self, paragraph: Paragraph, line: DraftLine | None) -> None:
        """Take the changes of a paragraph in; ``line`` is where it stands."""
        where = f"page {line.page_num}, line {line.line_num}" if line is not None else "here"
        inserted, deleted = paragraph.of("inserted"), paragraph.of("deleted")
        if inserted:
            self.inserted.append(f"{where}: {_quoted(inserted)}")
        if deleted:
            self.deleted.append(f"{where}: {_quoted(deleted)}")
        self.authors.update(piece.author for piece in paragraph.pieces if piece.author)

    def warnings(self) -> Iterator[str]:
        """What people are told."""
        if not self.inserted and not self.deleted:
            return
        by = ", ".join(name for name, _ in self.authors.most_common(3)) or "an unnamed author"
        yield (
            f"tracked changes by {by}: {len(self.inserted)} insertions and {len(self.deleted)} deletions. "
            "The text is read as if all were accepted; deleted words are flagged and not searched"
        )
        for word, places in (("inserted", self.inserted), ("deleted", self.deleted)):
            yield from (f"{word} on {place}" for place in places[:_MAX_LISTED])


def _quoted(words: str) -> str:
    return f"“{words[:_MAX_QUOTED].rstrip()}…”" if len(words) > _MAX_QUOTED else f"“{words}”"


class _Reader:
    """One document's way from parts to a draft."""

    def __init__(self, archive: Archive, limits: ParseLimits) -> None:
        self._archive = archive
        self._flow = Flow("docx", limits.max_characters)
        self._styles = Styles(self._part("word/styles.xml"))
        self._paragraphs = ParagraphReader(self._styles)
        self._numbering = Numbering.read(self._part("word/numbering.xml"))
        self._notes = {kind: self._notes_of(kind) for kind in ("footnote", "endnote")}
        self._comments = self._notes_of("comment")
        self._commented = 0
        self._changes = _Changes()
        self._candidates: list[Candidate] = []
        self._title: str | None = None
        self._hidden = 0

    def _part(self, name: str) -> Element | None:
        """A part that the document can do without: a damaged one is as good as none."""
        try:
            data = self._archive.read(name)
            return parse_xml(data) if data else None
        except ParseFailure as failure:
            if failure.code == "corrupt":
                return None
            raise

    def _notes_of(self, kind: str) -> dict[str, Element]:
        root = self._part(f"word/{kind}s.xml")
        return {note.get("w:id"): note for note in root.children if note.name == f"w:{kind}"} if root else {}

    def read(self, root: Element) -> Draft:
        """The draft of the document part."""
        body = root.child("w:body")
        if body is None:
            raise ParseFailure("corrupt", "The document is damaged: it has no body. Save it again.")
        self._furniture("header")
        for other in root.children:
            if other.name == "w:body":  # a second body is shown by no word processor, but it is there
                self._blocks(other)
        for comment in list(self._comments.values()):  # tied to no paragraph, but there
            self._comment(comment)
        self._furniture("footer")
        toc, source = usable_headings(self._flow, self._candidates)
        title = self._title or self._core_title()
        return Draft("docx", self._flow.pages, self._flow.lines, toc, source, title, list(self._warnings()))

    def _core_title(self) -> str | None:
        core = self._part("docProps/core.xml")
        title = core.child("dc:title") if core is not None else None
        return title.text.strip() or None if title is not None else None

    def _furniture(self, kind: str) -> None:
        """Headers and footers, each wording once: shown, never searched."""
        seen: set[str] = set()
        for name in sorted(self._archive.names):
            if not re.fullmatch(rf"word/{kind}\d*\.xml", name):
                continue
            root = self._part(name)
            for paragraph in _paragraphs_below(root) if root is not None else ():
                words = " ".join(self._paragraphs.read(paragraph).text.split())
                if words and words not in seen:
                    seen.add(words)
                    self._flow.add(words, furniture=True)

    def _blocks(self, parent: Element, *, on_shade: bool = False) -> None:
        for child in parent.children:
            if child.name == "w:p":
                self._paragraph(child, on_shade=on_shade)
            elif child.name == "w:tbl":
                self._table(child, on_shade=on_shade)
            elif child.name == "mc:AlternateContent":
                choice = child.child("mc:Choice")
                if choice is not None:
                    self._blocks(choice, on_shade=on_shade)
            elif child.name in _CONTAINERS:
                self._blocks(child, on_shade=on_shade)

    def _paragraph(self, element: Element, *, on_shade: bool = False) -> None:
        paragraph = self._paragraphs.read(element, on_shade=on_shade)
        label = self._numbering.label(paragraph.look) if paragraph.text.strip() else ""
        if paragraph.breaks_page:
            self._flow.page_break()
        text = f"{label} {paragraph.text.lstrip()}" if label else paragraph.text
        level, title = self._heading(paragraph, label)
        before = len(self._flow.lines)
        line = self._flow.add(
            text,
            level=level,
            title=title,
            furniture=bool(_CONTENTS_STYLE.match(paragraph.style.name)),
            size=paragraph.size,
            bold=paragraph.is_bold,
        )
        if line is not None:
            if paragraph.style.is_title and self._title is None:
                self._title = " ".join(paragraph.text.split())
            self._consider(paragraph, label, line)
        self._set_aside(paragraph, before)
        for box in paragraph.boxes:
            self._blocks(box)
        for kind, number in paragraph.notes:
            self._note(kind, number)

    def _heading(self, paragraph: Paragraph, label: str) -> tuple[int | None, str | None]:
        """Level and title by style; a whole paragraph of text in a heading style gives its first words, or nothing."""
        words = " ".join(paragraph.text.split())
        if not paragraph.look.level or not any(c.isalpha() for c in words):
            return None, None
        title = paragraph.run_in_title
        if not title and len(words) <= _MAX_HEADING:
            title = words
        if not title:
            sentence = _SENTENCE.match(words)
            title = sentence.group(1) if sentence is not None else ""
        return (paragraph.look.level, f"{label} {title}".strip()) if title else (None, None)

    def _consider(self, paragraph: Paragraph, label: str, line: DraftLine) -> None:
        """Remember what might be a heading, should styles name none."""
        words = f"{label} {' '.join(paragraph.text.split())}".strip()
        run_in = paragraph.run_in_title
        title = f"{label} {run_in}".strip() if run_in else words
        is_numbered = bool(label) and label != "•"
        kind = ("decimal", (paragraph.look.num_level or 0) + 1) if is_numbered else kind_of(title)
        look = HeadingLook(
            paragraph.size, paragraph.is_bold or paragraph.is_underlined, is_upper_case(title), kind
        )
        self._candidates.append(Candidate(line, title, look, is_whole=not run_in, is_bullet=label == "•"))

    def _set_aside(self, paragraph: Paragraph, before: int) -> None:
        """Changed, hidden and noted words as flagged lines below their paragraph, whose lines begin at ``before``."""
        lines = self._flow.lines[before:]
        self._changes.note(paragraph, lines[0] if lines else None)
        inserted, deleted = paragraph.changes("inserted"), paragraph.changes("deleted")
        if inserted or deleted:
            for line in lines:
                line.mark = "changed"
        for author, words in inserted:
            self._flow.add_note(words, mark="insertion", author=author)
        for author, words in deleted:
            self._flow.add_note(words, mark="deletion", author=author, hidden=True)
        if paragraph.hidden:
            self._flow.add(paragraph.hidden, hidden=True)
            self._hidden += 1
        for number in paragraph.comments:
            self._comment(self._comments.pop(number, None))

    def _comment(self, comment: Element | None) -> None:
        """A comment in the margin, once, however often it is referred to."""
        if comment is None:
            return
        words = " ".join(self._paragraphs.read(paragraph).text for paragraph in _paragraphs_below(comment))
        if self._flow.add_note(words, mark="comment", author=comment.get("w:author")) is not None:
            self._commented += 1

    def _note(self, kind: str, number: str) -> None:
        note = self._notes[kind].pop(number, None)  # once, however often it is referred to
        if note is None:
            return
        words = [self._paragraphs.read(paragraph).text for paragraph in _paragraphs_below(note)]
        self._flow.add(f"[{number}] " + " ".join(words))

    def _table(self, table: Element, *, on_shade: bool) -> None:
        properties = table.child("w:tblPr")
        style = properties.child("w:tblStyle") if properties is not None else None
        on_shade = on_shade or (style is not None and self._styles.fills_tables(style.get("w:val")))
        rows = [_cells(row) for row in _rows(table)]
        is_layout = _is_layout(rows)
        for cells in rows:
            if is_layout or len(cells) == 1:
                for cell in cells:
                    self._blocks(cell, on_shade=on_shade or cell_fills(cell))
            else:
                self._row(cells, on_shade=on_shade)

    def _row(self, cells: Sequence[Element], *, on_shade: bool) -> None:
        """A row on one line; what is set apart from its text follows below."""
        read = [
            [
                self._paragraphs.read(paragraph, on_shade=on_shade or cell_fills(cell))
                for paragraph in _paragraphs_below(cell)
            ]
            for cell in cells
        ]
        texts = [" ".join(filter(None, map(self._labelled, paragraphs))) for paragraphs in read]
        before = len(self._flow.lines)
        self._flow.add_row(texts)
        line = self._flow.lines[before] if len(self._flow.lines) > before else None
        if line is not None:
            self._consider_row(read, texts, line)
        for paragraph in (paragraph for paragraphs in read for paragraph in paragraphs):
            self._set_aside(paragraph, before)
            before = len(self._flow.lines)
            for kind, number in paragraph.notes:
                self._note(kind, number)

    def _consider_row(
        self, read: Sequence[Sequence[Paragraph]], texts: Sequence[str], line: DraftLine
    ) -> None:
        """Term and meaning side by side: the bold term on the left is the heading of its row."""
        if len(texts) != 2 or not all(texts):
            return
        terms = [paragraph for paragraph in read[0] if paragraph.text.strip()]
        if terms[0].is_bold and not all(p.is_bold for p in read[1] if p.text.strip()):
            look = HeadingLook(terms[0].size, True, False, ("none", 0))
            title = self._labelled(terms[0])
            self._candidates.append(Candidate(line, title, look, is_whole=False))

    def _labelled(self, paragraph: Paragraph) -> str:
        words = " ".join(paragraph.text.split())
        label = self._numbering.label(paragraph.look) if words else ""
        return f"{label} {words}".strip()

    def _warnings(self) -> Iterator[str]:
        yield from self._changes.warnings()
        if self._hidden:
            yield f"{self._hidden} paragraphs hold text that a reader does not see; it is flagged and not searched"
        if self._flow.invisible_characters:
            yield f"{self._flow.invisible_characters} invisible characters were left out"
        if self._commented:
            yield f"{self._commented} comments in the margin are shown with their authors and not searched"
        if any(name.startswith("word/embeddings/") for name in self._archive.names):
            yield "embedded files were not opened"
        if "word/vbaproject.bin" in self._archive.names:
            yield "the document holds macros; they were not run"
        if self._archive.has_twins:
            yield "the container holds two parts of one name; the first was read"


def _paragraphs_below(element: Element) -> Iterator[Element]:
    """Paragraphs in document order, those of nested tables included."""
    for child in element.children:
        if child.name == "w:p":
            yield child
        elif child.name not in ("mc:Fallback", "w:pPr", "w:tcPr"):
            yield from _paragraphs_below(child)


def _rows(table: Element) -> Iterator[Element]:
    for child in table.children:
        if child.name == "w:tr":
            yield child
        elif child.name in _CONTAINERS:
            yield from _rows(child)


def _cells(row: Element) -> list[Element]:
    cells: list[Element] = []
    for child in row.children:
        if child.name == "w:tc":
            cells.append(child)
        elif child.name in _CONTAINERS:
            cells.extend(_cells(child))
    return cells


def _is_layout(rows: Sequence[Sequence[Element]]) -> bool:
    """Whether a table only places blocks of text: one column, tables inside, or cells of many paragraphs."""
    if all(len(cells) <= 1 for cells in rows):
        return True
    for cell in (cell for cells in rows for cell in cells):
        if any(child.name == "w:tbl" for child in cell.children):
            return True
        paragraphs = [paragraph for paragraph in _paragraphs_below(cell) if _length(paragraph)]
        if len(paragraphs) > 2 and sum(map(_length, paragraphs)) > _LONG_CELL:
            return True
    return False


def _length(element: Element) -> int:
    own = len(element.text.strip()) if element.name == "w:t" else 0
    return own + sum(_length(child) for child in element.children)
