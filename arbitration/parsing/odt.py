"""ODT to lines and headings, read with lxml: text with every tracked change accepted.

What was deleted, inserted or noted in the margin stands below its paragraph, with its author. Macros, pictures and
embedded objects are not opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from arbitration.errors import ParseFailure
from arbitration.parsing.archive import Archive
from arbitration.parsing.drafts import Draft, Mark
from arbitration.parsing.flow import Flow
from arbitration.parsing.flow_headings import Candidate, candidate_of, usable_headings
from arbitration.parsing.limits import ParseLimits
from arbitration.parsing.package import checked_package

_SPACES = {
    "urn:oasis:names:tc:opendocument:xmlns:office:1.0": "office",
    "urn:oasis:names:tc:opendocument:xmlns:text:1.0": "text",
    "urn:oasis:names:tc:opendocument:xmlns:table:1.0": "table",
    "urn:oasis:names:tc:opendocument:xmlns:style:1.0": "style",
    "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0": "draw",
    "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0": "manifest",
    "http://purl.org/dc/elements/1.1/": "dc",
}
_MAX_REPEATED = 200  # spaces that one element stands for
_INDEXES = frozenset({"text:table-of-content", "text:illustration-index", "text:alphabetical-index"})
_DROPPED = frozenset({"text:tracked-changes", "text:sequence-decls", "office:forms", "text:variable-decls"})


def draft_of_odt(data: bytes, *, limits: ParseLimits) -> Draft:
    """Lines, virtual pages and headings. Raises :class:`ParseFailure` (``corrupt``, ``too_large``,
    ``forbidden_content``, ``type_mismatch``, ``unsupported_type`` for an encrypted document)."""
    archive = checked_package(data)
    content = archive.read("content.xml")
    kind = (archive.read("mimetype") or b"").strip()
    if content is None or (kind and not kind.startswith(b"application/vnd.oasis.opendocument.text")):
        raise ParseFailure("type_mismatch", "The name says ODT, but the file holds no OpenDocument text.")
    if b"encryption-data" in (archive.read("META-INF/manifest.xml") or b""):
        raise ParseFailure(
            "unsupported_type",
            "The document is encrypted in a way that cannot be read. Save it without a password and upload it again.",
        )
    return _Reader(archive, limits).read(_parsed(content))


def _parsed(data: bytes) -> Any:
    """The root element: no entities, no network, bounded depth."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        if "depth" in str(error).casefold():
            raise ParseFailure("too_large", "The document is nested too deeply to be read.") from error
        raise ParseFailure(
            "corrupt",
            "The document is damaged: a part of it is no valid XML. Open it in its program and save it again.",
        ) from error


def _name(element: Any) -> str:
    """``text:p``: the prefix is ours. Comments and processing instructions have none."""
    if not isinstance(element.tag, str):
        return ""
    space, _, local = element.tag.rpartition("}")
    return f"{_SPACES.get(space[1:], 'x')}:{local}"


def _get(element: Any, name: str) -> str:
    prefix, local = name.split(":")
    space = next(space for space, known in _SPACES.items() if known == prefix)
    return str(element.get(f"{{{space}}}{local}") or "")


@dataclass(slots=True)
class _Change:
    """A tracked change of the document's list: who made it, and the words it took away."""

    author: str
    deleted: str


@dataclass(slots=True)
class _Paragraph:
    """A paragraph's words by what they are; notes in the order in which they stand."""

    shown: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    notes: list[tuple[Mark, str, str]] = field(default_factory=list)  # mark, words, author
    feet: list[str] = field(default_factory=list)
    boxes: list[Any] = field(default_factory=list)


class _Reader:
    """One document's way from parts to a draft."""

    def __init__(self, archive: Archive, limits: ParseLimits) -> None:
        self._archive = archive
        self._flow = Flow("odt", limits.max_characters)
        self._candidates: list[Candidate] = []
        self._changes: dict[str, _Change] = {}
        self._hidden_styles: set[str] = set()
        self._insertion = ""  # the id of the tracked insertion that is open
        self._counts: dict[Mark, int] = {"insertion": 0, "deletion": 0, "comment": 0}
        self._hidden = 0

    def read(self, root: Any) -> Draft:
        """The draft of ``content.xml``."""
        self._styles(root)
        body = next((e for e in root.iter() if _name(e) == "office:text"), None)
        if body is None:
            raise ParseFailure("corrupt", "The document is damaged: it has no text body. Save it again.")
        self._headers()
        for change in body.iter():
            if _name(change) == "text:changed-region":
                self._changed_region(change)
        self._blocks(body)
        toc, source = usable_headings(self._flow, self._candidates)
        return Draft(
            "odt", self._flow.pages, self._flow.lines, toc, source, self._title(), list(self._warnings())
        )

    def _styles(self, root: Any) -> None:
        for style in root.iter():
            if _name(style) == "style:style" and any(
                _name(child) == "style:text-properties" and _get(child, "text:display") == "none"
                for child in style
            ):
                self._hidden_styles.add(_get(style, "style:name"))

    def _headers(self) -> None:
        """Headers and footers of the page styles, each wording once: shown, never searched."""
        styles = self._archive.read("styles.xml")
        seen: set[str] = set()
        for element in _parsed(styles).iter() if styles else ():
            if _name(element) in ("style:header", "style:footer"):
                words = _words_below(element)
                if words and words not in seen:
                    seen.add(words)
                    self._flow.add(words, furniture=True)

    def _title(self) -> str | None:
        meta = self._archive.read("meta.xml")
        for element in _parsed(meta).iter() if meta else ():
            if _name(element) == "dc:title":
                return (element.text or "").strip() or None
        return None

    def _changed_region(self, region: Any) -> None:
        number = _get(region, "text:id") or str(region.get("{http://www.w3.org/XML/1998/namespace}id") or "")
        author = next((e.text or "" for e in region.iter() if _name(e) == "dc:creator"), "")
        deletions = [e for e in region if _name(e) == "text:deletion"]
        words = [_words_below(e) for d in deletions for e in d if _name(e) != "office:change-info"]
        deleted = " ".join(filter(None, words))
        self._changes[number] = _Change(author, deleted)

    def _blocks(self, parent: Any, *, hidden: bool = False, furniture: bool = False) -> None:
        for element in parent:
            name = _name(element)
            if name in ("text:p", "text:h"):
                self._paragraph(element, hidden=hidden, furniture=furniture)
            elif name == "table:table":
                self._table(element, hidden=hidden)
            elif name in _INDEXES:
                self._blocks(element, hidden=hidden, furniture=True)
            elif name == "text:section":
                shut = _get(element, "text:display") in ("none", "condition")
                self._blocks(element, hidden=hidden or shut, furniture=furniture)
            elif name in ("text:change", "text:change-start", "text:change-end"):
                self._change(element, None)
            elif name and name not in _DROPPED:
                self._blocks(element, hidden=hidden, furniture=furniture)

    def _paragraph(self, element: Any, *, hidden: bool, furniture: bool = False) -> None:
        paragraph = self._inline(element)
        text = "".join(paragraph.shown)
        level = int(_get(element, "text:outline-level") or 1) if _name(element) == "text:h" else None
        before = len(self._flow.lines)
        line = self._flow.add(
            text, level=None if hidden or furniture else level, hidden=hidden, furniture=furniture
        )
        if line is not None and level is None and not (hidden or furniture):
            self._candidates.append(candidate_of(line, text))
        self._set_aside(paragraph, before)
        for box in paragraph.boxes:
            self._blocks(box, hidden=hidden)

    def _set_aside(self, paragraph: _Paragraph, before: int) -> None:
        """What was changed, hidden or noted, as flagged lines below its paragraph."""
        if any(mark != "comment" for mark, _, _ in paragraph.notes):
            for line in self._flow.lines[before:]:
                line.mark = "changed"
        for mark, words, author in paragraph.notes:
            if self._flow.add_note(words, mark=mark, author=author, hidden=mark == "deletion") is not None:
                self._counts[mark] += 1
        if self._flow.add("".join(paragraph.hidden), hidden=True) is not None:
            self._hidden += 1
        for foot in paragraph.feet:
            self._flow.add(foot)

    def _inline(self, element: Any) -> _Paragraph:
        paragraph = _Paragraph()
        self._walk(element, paragraph, is_hidden=_get(element, "text:style-name") in self._hidden_styles)
        if self._insertion:
            self._note_insertion(paragraph)
        return paragraph

    def _walk(self, element: Any, paragraph: _Paragraph, *, is_hidden: bool) -> None:
        self._say(element.text, paragraph, is_hidden=is_hidden)
        for child in element:
            self._child(child, paragraph, is_hidden=is_hidden)
            self._say(child.tail, paragraph, is_hidden=is_hidden)

    def _child(self, child: Any, paragraph: _Paragraph, *, is_hidden: bool) -> None:
        name = _name(child)
        if name in ("text:change", "text:change-start", "text:change-end"):
            self._change(child, paragraph)
        elif name == "office:annotation":
            author = next((e.text or "" for e in child if _name(e) == "dc:creator"), "")
            words = " ".join(_words_below(e) for e in child if _name(e) in ("text:p", "text:list"))
            paragraph.notes.append(("comment", words, author))
        elif name == "text:note":
            self._foot(child, paragraph)
        elif name == "text:s":
            self._say(
                " " * min(int(_get(child, "text:c") or 1), _MAX_REPEATED), paragraph, is_hidden=is_hidden
            )
        elif name == "text:tab":
            self._say("\t", paragraph, is_hidden=is_hidden)
        elif name == "text:line-break":
            self._say("\n", paragraph, is_hidden=is_hidden)
        elif name == "draw:text-box":
            paragraph.boxes.append(child)
        elif name == "text:hidden-text":
            self._say(_get(child, "text:string-value"), paragraph, is_hidden=True)
        elif name:
            inside = is_hidden or _get(child, "text:style-name") in self._hidden_styles
            self._walk(child, paragraph, is_hidden=inside)

    def _say(self, text: str | None, paragraph: _Paragraph, *, is_hidden: bool) -> None:
        if not text:
            return
        (paragraph.hidden if is_hidden else paragraph.shown).append(text)
        if self._insertion and not is_hidden:
            paragraph.notes.append(("insertion", text, self._insertion))

    def _change(self, element: Any, paragraph: _Paragraph | None) -> None:
        number = _get(element, "text:change-id")
        change = self._changes.get(number, _Change("", ""))
        name = _name(element)
        if name == "text:change-start":
            self._insertion = number
        elif name == "text:change-end":
            if paragraph is not None:
                self._note_insertion(paragraph)
            self._insertion = ""
        elif paragraph is not None:
            paragraph.notes.append(("deletion", change.deleted, change.author))
        elif self._flow.add_note(change.deleted, mark="deletion", author=change.author, hidden=True):
            self._counts["deletion"] += 1

    def _note_insertion(self, paragraph: _Paragraph) -> None:
        """The pieces of the insertion that is open, as one note."""
        is_open = [note for note in paragraph.notes if note[0] == "insertion" and note[2] == self._insertion]
        if is_open:
            paragraph.notes = [note for note in paragraph.notes if note not in is_open]
            author = self._changes.get(self._insertion, _Change("", "")).author
            paragraph.notes.append(("insertion", "".join(words for _, words, _ in is_open), author))

    def _foot(self, note: Any, paragraph: _Paragraph) -> None:
        label = next((_words_below(e) for e in note if _name(e) == "text:note-citation"), "")
        words = " ".join(_words_below(e) for e in note if _name(e) == "text:note-body")
        paragraph.shown.append(f" [{label}]")
        paragraph.feet.append(f"[{label}] {words}")

    def _table(self, table: Any, *, hidden: bool) -> None:
        """A row is a line; what is set apart from its text follows below."""
        for row in table.iter():
            if _name(row) != "table:table-row":
                continue
            cells = [
                [self._inline(p) for p in cell.iter() if _name(p) in ("text:p", "text:h")]
                for cell in row
                if _name(cell) == "table:table-cell"
            ]
            before = len(self._flow.lines)
            self._flow.add_row((" ".join("".join(p.shown) for p in cell) for cell in cells), hidden=hidden)
            for paragraph in (p for cell in cells for p in cell):
                self._set_aside(paragraph, before)
                before = len(self._flow.lines)

    def _warnings(self) -> Iterator[str]:
        if self._counts["insertion"] or self._counts["deletion"]:
            yield (
                f"tracked changes: {self._counts['insertion']} insertions and {self._counts['deletion']} deletions. "
                "The text is read as if all were accepted; deleted words are flagged and not searched"
            )
        if self._counts["comment"]:
            yield f"{self._counts['comment']} comments in the margin are shown with their authors and not searched"
        if self._hidden:
            yield f"{self._hidden} paragraphs hold text that a reader does not see; it is flagged and not searched"
        if self._flow.invisible_characters:
            yield f"{self._flow.invisible_characters} invisible characters were left out"
        if any(name.startswith(("pictures/", "object ")) for name in self._archive.names):
            yield "pictures and embedded objects were not read"


def _words_below(element: Any) -> str:
    """All words below an element."""
    return " ".join(" ".join(element.itertext()).split())
