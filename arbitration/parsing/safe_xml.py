"""XML from strangers: no DTD, no entities, no network, bounded depth and size.

The DTD is what external entities (XXE) and entity bombs are made of, and Office files never hold one: ECMA-376
part 2 forbids it. So a document type declaration ends the parse.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from arbitration.errors import ParseFailure

MAX_DEPTH = 256
MAX_ELEMENTS = 3_000_000
_SEPARATOR = "\x1f"
_PREFIXES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships": "r",
    "http://purl.oclc.org/ooxml/officeDocument/relationships": "r",
    "http://schemas.openxmlformats.org/package/2006/relationships": "rel",
    "http://schemas.openxmlformats.org/package/2006/metadata/core-properties": "cp",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://www.w3.org/XML/1998/namespace": "xml",
}


@dataclass(slots=True)
class Element:
    """An element with its name as ``w:p``: the prefix is ours, ``x`` for name spaces that we do not know."""

    name: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def child(self, name: str) -> Element | None:
        """The first child of that name."""
        return next((child for child in self.children if child.name == name), None)

    def get(self, name: str, default: str = "") -> str:
        """An attribute."""
        return self.attributes.get(name, default)


class _TreeBuilder:
    def __init__(self) -> None:
        self.root: Element | None = None
        self._open: list[Element] = []
        self._count = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if len(self._open) >= MAX_DEPTH or self._count > MAX_ELEMENTS:
            raise ParseFailure(
                "too_large", "The document is nested too deeply or has too many parts to be read."
            )
        element = Element(_named(name), {_named(key): value for key, value in attributes.items()})
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def end(self, _name: str) -> None:
        self._open.pop()

    def data(self, text: str) -> None:
        self._open[-1].text += text


def parse_xml(data: bytes) -> Element:
    """The root element.

    Raises :class:`ParseFailure`: ``forbidden_content`` for a document type declaration, ``too_large`` beyond the
    limits, ``corrupt`` for what is not well-formed.
    """
    builder = _TreeBuilder()
    parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = _refuse
    parser.EntityDeclHandler = _refuse
    parser.ExternalEntityRefHandler = _refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ParseFailure(
            "corrupt",
            "The document is damaged: a part of it is no valid XML. Open it in its program and save it again.",
        ) from error
    if builder.root is None:
        raise ParseFailure("corrupt", "The document is damaged: a part of it is empty. Save it again.")
    return builder.root


class _Begun(Exception):
    """The first element begins: a document type declaration would have stood before it."""


def refuse_doctype(data: bytes) -> None:
    """Raises :class:`ParseFailure` (``forbidden_content``) where an XML part begins with a document type declaration.
    Whether the rest is well-formed is for its reader to find out."""
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = _refuse
    parser.StartElementHandler = _begun
    with contextlib.suppress(_Begun, expat.ExpatError):
        parser.Parse(data, True)


def _begun(*_details: object) -> NoReturn:
    raise _Begun


def _refuse(*_details: object) -> NoReturn:
    raise ParseFailure(
        "forbidden_content",
        "The document declares XML entities, which office documents never do and attacks on readers do. "
        "Open it in a word processor and save it as a new file.",
    )


def _named(name: str) -> str:
    space, separator, local = name.partition(_SEPARATOR)
    if not separator:
        return name
    return f"{_PREFIXES.get(space, 'x')}:{local}"
