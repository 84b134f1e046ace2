"""What a readable record consists of: a few kinds of block, shown alike in HTML, PDF and DOCX.

Text is plain text everywhere; every renderer escapes it.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from itertools import zip_longest


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A label and what stands beside it; ``is_code`` for hashes and ids."""

    label: str
    value: str
    is_code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Labels and values, one pair a line."""

    rows: tuple[Row, ...]
    kind: str = "facts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A paragraph; ``tone`` is plain, lead (the answer) or note."""

    text: str
    tone: str = "plain"
    kind: str = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A candidate: its role, where it stands, its words, what was said and decided about it.

    ``figure`` is the anchor of the page image that shows it, ``figure_word`` the link's text.
    """

    anchor: str
    role: str
    role_word: str
    title: str
    place: str
    evidence: str
    rows: tuple[Row, ...]
    figure: str = ""
    figure_word: str = ""
    kind: str = "card"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A page image with the evidence boxed; ``image`` is a JPEG. ``is_clip``: only the lines around the evidence."""

    anchor: str
    is_clip: bool = False
    image: bytes = field(repr=False)
    caption: str
    kind: str = "figure"

    @property
    def address(self) -> str:
        """The image as an address that needs no other file."""
        return "data:image/jpeg;base64," + base64.b64encode(self.image).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells; ``links`` gives a file beside this one for a row's first cell, or nothing."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    links: tuple[str, ...] = ()
    kind: str = "table"

    @property
    def linked_rows(self) -> list[tuple[tuple[str, ...], str]]:
        return list(zip_longest(self.rows, self.links, fillvalue=""))


Block = Facts | Text | Card | Figure | Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A whole record, in the language it was made in. ``annex``, on pages of its own, holds what stands behind it."""

    kicker: str
    title: str
    language: str
    facts: Facts
    sections: tuple[Section, ...]
    footer: str
    annex_title: str = ""
    annex: tuple[Section, ...] = ()
