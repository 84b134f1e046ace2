"""Comments of workbooks and presentations: whose they are, and where. Both programs have an older and a newer form."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from arbitration.errors import ParseFailure
from arbitration.parsing.archive import Archive
from arbitration.parsing.safe_xml import Element, parse_xml

#: More of one sheet or slide are not read.
MOST_COMMENTS = 2_000


@dataclass(frozen=True, slots=True)
class Comment:
    """Words and their author; ``place`` is the cell in a sheet, empty on a slide."""

    author: str
    words: str
    place: str = ""


def sheet_comments(archive: Archive, part: str) -> list[Comment]:
    """The comments of a sheet, in the order of the file. Where a cell has a thread, the older form holds a copy of it
    for old programs, which is left out."""
    people = {
        person.get("id"): person.get("displayName")
        for root in _roots(archive, [name for name in archive.names if name.startswith("xl/persons/")])
        for person in _below(root, "person")
    }
    threads = [
        Comment(people.get(one.get("personId"), ""), _words(one, "text"), one.get("ref"))
        for root in _roots(archive, _related(archive, part, "threadedComment"))
        for one in _below(root, "threadedComment")
    ]
    threaded = {comment.place for comment in threads}
    notes = [
        note
        for root in _roots(archive, _related(archive, part, "comments"))
        for note in _notes(root)
        if note.place not in threaded
    ]
    return [*threads, *notes][:MOST_COMMENTS]


def _notes(root: Element) -> Iterator[Comment]:
    authors = [author.text for author in _below(root, "author")]
    for one in _below(root, "comment"):
        number = one.get("authorId")
        known = number.isdecimal() and int(number) < len(authors)
        yield Comment(authors[int(number)] if known else "", _words(one, "t"), one.get("ref"))


def slide_comments(archive: Archive, part: str) -> list[Comment]:
    """The comments of a slide with their replies, in the order of the file."""
    people = {
        person.get("id"): person.get("name")
        for root in _roots(archive, ["ppt/commentauthors.xml", "ppt/authors.xml"])
        for name in ("cmAuthor", "author")
        for person in _below(root, name)
    }
    return [
        Comment(people.get(one.get("authorId"), ""), words)
        for root in _roots(archive, _related(archive, part, "comments"))
        for one in _comments_of(root)
        if (words := _own_words(one))
    ][:MOST_COMMENTS]


def _comments_of(root: Element) -> Iterator[Element]:
    for child in root.children:
        if _local(child) in ("cm", "reply"):
            yield child
        yield from _comments_of(child)


def _own_words(comment: Element) -> str:
    """Those of the comment itself, without its replies: ``text`` in the older form, ``t`` of its body in the newer."""
    own = [child for child in comment.children if _local(child) in ("text", "txBody")]
    pieces = (piece.text for child in own for piece in [child, *_below(child, "t")])
    return " ".join("".join(pieces).split())


def _related(archive: Archive, part: str, kind: str) -> list[str]:
    """The parts of a kind that a part names."""
    folder, name = posixpath.split(part.lstrip("/"))
    found = []
    for root in _roots(archive, [f"{folder}/_rels/{name}.rels"]):
        for relation in _below(root, "Relationship"):
            if relation.get("Type").rpartition("/")[2] == kind and relation.get("TargetMode") != "External":
                target = relation.get("Target")
                found.append(
                    target if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
                )
    return found


def _roots(archive: Archive, names: list[str]) -> Iterator[Element]:
    """Of those that are there and can be read: a damaged comment costs no document."""
    for name in names:
        if (content := archive.read(name)) is not None:
            try:
                yield parse_xml(content)
            except ParseFailure as failure:
                if failure.code != "corrupt":
                    raise


def _below(element: Element, name: str) -> Iterator[Element]:
    for child in element.children:
        if _local(child) == name:
            yield child
        yield from _below(child, name)


def _words(element: Element, name: str) -> str:
    pieces = (piece.text for piece in _below(element, name))
    return " ".join("".join(pieces).split())


def _local(element: Element) -> str:
    return element.name.rpartition(":")[2]
