"""The text of a WordprocessingML paragraph, with what was inserted, deleted or hidden kept apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from arbitration.parsing.docx_styles import Look, Style, Styles, paragraph_look, run_look
from arbitration.parsing.safe_xml import Element

State = Literal["kept", "inserted", "deleted"]
_WRITTEN = {"w:tab": "\t", "w:br": "\n", "w:cr": "\n", "w:noBreakHyphen": "-", "w:ptab": "\t"}
_NOTES = frozenset({"w:footnoteReference", "w:endnoteReference"})
_SKIPPED = frozenset(
    {"mc:Fallback", "w:instrText", "w:delInstrText", "w:rPr", "w:pPr", "w:sdtPr", "w:sdtEndPr"}
)
_DRAWINGS = frozenset({"w:drawing", "w:pict", "w:object"})
_MIN_TITLE, _MAX_TITLE = 3, 110  # characters of a title that runs into the text
_TITLE_STOPS = (".", ":", "-", "–", "—", ".”", '."')


@dataclass(slots=True)
class Piece:
    """Text of one look and one state. ``author`` is set for tracked changes."""

    text: str
    look: Look
    state: State = "kept"
    author: str = ""


@dataclass(slots=True)
class Paragraph:
    """A paragraph: its pieces in order, the notes it refers to as (kind, id), and the text boxes anchored in it.
    ``comments`` are the ids of those that are tied to it."""

    style: Style
    look: Look
    pieces: list[Piece] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    boxes: list[Element] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    breaks_page: bool = False

    @property
    def text(self) -> str:
        """What a reader sees when every tracked change is accepted; hidden text left out."""
        return "".join(piece.text for piece in self.visible)

    @property
    def visible(self) -> list[Piece]:
        """The pieces that :attr:`text` is made of."""
        return [piece for piece in self.pieces if piece.state != "deleted" and not piece.look.is_unseen]

    def of(self, state: State) -> str:
        """The text inserted or deleted here."""
        return " ".join("".join(piece.text for piece in self.pieces if piece.state == state).split())

    def changes(self, state: State) -> list[tuple[str, str]]:
        """What each author inserted or deleted here, as (author, words)."""
        words: dict[str, list[str]] = {}
        for piece in self.pieces:
            if piece.state == state:
                words.setdefault(piece.author, []).append(piece.text)
        joined = [(author, " ".join("".join(texts).split())) for author, texts in words.items()]
        return [(author, text) for author, text in joined if text]

    @property
    def hidden(self) -> str:
        """Text that is there but not seen."""
        pieces = [p.text for p in self.pieces if p.state != "deleted" and p.look.is_unseen]
        return " ".join("".join(pieces).split())

    @property
    def is_bold(self) -> bool:
        """Whether all letters are bold."""
        return _all(self.visible, "bold")

    @property
    def is_underlined(self) -> bool:
        """Whether all letters are underlined."""
        return _all(self.visible, "underlined")

    @property
    def size(self) -> float:
        """Type size in points of most letters, 0 where unknown."""
        sizes: dict[float, int] = {}
        for piece in self.visible:
            size = piece.look.size or 0.0
            sizes[size] = sizes.get(size, 0) + len(piece.text.strip())
        return max(sizes, key=lambda size: (sizes[size], size), default=0.0)

    @property
    def run_in_title(self) -> str:
        """The bold or underlined words that the paragraph begins with, when they end like a title and plain text
        follows; else empty."""
        for mark in ("bold", "underlined"):
            title, rest = _leading(self.visible, mark)
            if _MIN_TITLE <= len(title) <= _MAX_TITLE and any(c.isalpha() for c in rest):
                begins = rest.lstrip()[:1]
                if title.endswith(_TITLE_STOPS) or begins in (".", ":", "–", "—"):
                    return title.rstrip(' .:-–—”"').lstrip(' “"')
        return ""


def _all(pieces: Sequence[Piece], mark: str) -> bool:
    lettered = [piece for piece in pieces if any(c.isalpha() for c in piece.text)]
    return bool(lettered) and all(getattr(piece.look, mark) for piece in lettered)


def _leading(pieces: Sequence[Piece], mark: str) -> tuple[str, str]:
    """The words at the start that bear the mark, and the rest."""
    title = ""
    for place, piece in enumerate(pieces):
        has_letters = any(c.isalnum() for c in piece.text)
        if has_letters and not getattr(piece.look, mark):
            return " ".join(title.split()), "".join(rest.text for rest in pieces[place:])
        title += piece.text
    return " ".join(title.split()), ""


class ParagraphReader:
    """Reads ``w:p`` elements in the light of a document's styles."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles

    def read(self, element: Element, *, on_shade: bool = False) -> Paragraph:
        """One paragraph; ``on_shade`` where it stands in a coloured table cell, so that white words show."""
        properties = element.child("w:pPr")
        named = properties.child("w:pStyle") if properties is not None else None
        style = self._styles.paragraph(named.get("w:val") if named is not None else "")
        look = paragraph_look(properties).over(style.look)
        if on_shade:
            look = replace(look, shaded=True)
        paragraph = Paragraph(style, look)
        breaks = properties.child("w:pageBreakBefore") if properties is not None else None
        paragraph.breaks_page = breaks is not None and breaks.get("w:val", "1") not in ("0", "false")
        self._inline(element, paragraph, "kept", "")
        return paragraph

    def _inline(self, parent: Element, paragraph: Paragraph, state: State, author: str) -> None:
        for child in parent.children:
            if child.name in _SKIPPED:
                continue
            if child.name == "w:r":
                self._run(child, paragraph, state, author)
            elif child.name in ("w:ins", "w:moveTo"):
                inner: State = "deleted" if state == "deleted" else "inserted"
                self._inline(child, paragraph, inner, child.get("w:author"))
            elif child.name in ("w:del", "w:moveFrom"):
                self._inline(child, paragraph, "deleted", child.get("w:author"))
            else:
                self._inline(child, paragraph, state, author)

    def _run(self, run: Element, paragraph: Paragraph, state: State, author: str) -> None:
        properties = run.child("w:rPr")
        named = properties.child("w:rStyle") if properties is not None else None
        look = run_look(properties)
        if named is not None:
            look = look.over(self._styles.run(named.get("w:val")))
        look = look.over(paragraph.look)
        text = "".join(self._words(run, paragraph))
        if text:
            if look.caps:
                text = text.upper()
            paragraph.pieces.append(Piece(text, look, state, author))

    def _words(self, run: Element, paragraph: Paragraph) -> Iterator[str]:
        for child in run.children:
            if child.name in ("w:t", "w:delText"):
                yield child.text
            elif child.name == "w:br" and child.get("w:type") == "page":
                paragraph.breaks_page = paragraph.breaks_page or not paragraph.pieces
                yield "\n"
            elif child.name in _WRITTEN:
                yield _WRITTEN[child.name]
            elif child.name in _NOTES:
                kind, number = child.name[2:].removesuffix("Reference"), child.get("w:id")
                paragraph.notes.append((kind, number))
                yield f" [{number}]"
            elif child.name == "w:commentReference":
                paragraph.comments.append(child.get("w:id"))
            elif child.name == "mc:AlternateContent":
                choice = child.child("mc:Choice") or child.child("mc:Fallback")
                paragraph.boxes.extend(text_boxes(choice) if choice is not None else ())
            elif child.name in _DRAWINGS:
                paragraph.boxes.extend(text_boxes(child))


def text_boxes(element: Element) -> Iterator[Element]:
    """The outermost ``w:txbxContent`` elements below an element."""
    if element.name == "w:txbxContent":
        yield element
        return
    for child in element.children:
        if child.name != "mc:Fallback":
            yield from text_boxes(child)
