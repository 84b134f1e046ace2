"""What a source is to the product: a list of what is there, and the bytes of each (docs/sources.md).

A reader is made for one look and closed after it. It knows no table: what was taken before is the product's to know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Protocol

from django.utils.functional import Promise

#: What a reader remembers from one look to the next; JSON, written with the rows of what it listed.
Cursor = Mapping[str, Any]
Values = Mapping[str, str]


def packed(size: int) -> int:
    """Bytes that a file of this size may take on its way: base64 takes a third more."""
    return int(size * 1.4)


class SourceDown(Exception):
    """The source as a whole cannot be read now; the message says why, in words. The next look begins again here."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A thing in a source. The same ``key`` with another ``fingerprint`` is a new state of it, and comes in again."""

    key: str
    fingerprint: str
    name: str
    #: False where somebody may still be writing it: it is taken once a later look finds the same fingerprint.
    is_settled: bool = True


@dataclass(frozen=True, slots=True)
class Listing:
    """Some of what is there, and the cursor once these are taken. ``is_last``: there is no more for now."""

    entries: Sequence[Entry]
    cursor: Cursor
    is_last: bool = True


@dataclass(frozen=True, slots=True)
class Piece:
    """A file that an entry holds: the entry itself (``part`` 0), or one of several, such as an attachment.

    ``facts`` are words about it that its bytes do not say, such as a mail's subject.
    """

    name: str
    stream: IO[bytes]
    part: int = 0
    facts: Values = field(default_factory=dict)


class Reader(Protocol):
    """One look at a source. Raises :class:`SourceDown` where the source is at fault, ``WorkbenchError`` where one file
    is."""

    def list(self, cursor: Cursor) -> Listing:
        """What is there from the cursor on; the empty cursor is the beginning. Entries may come again."""

    def fetch(self, entry: Entry, *, most_bytes: int) -> Iterator[Piece]:
        """The bytes of an entry. Refuses what is larger than ``most_bytes`` before it is read, where it can tell."""

    def close(self) -> None:
        """Lets go of what it holds."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a kind of source, as the form and the API take it."""

    name: str
    label: str | Promise
    help: str | Promise = ""
    is_required: bool = True
    initial: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of source. ``check`` gives the settings as they are stored, or raises ``WorkbenchError``; ``open`` makes a
    reader from them and the secret, which is "" for a kind without one (``secret`` is its label). ``shares`` says
    whether two sources read some of the same; needed where the worker's own rights open a place, as those of a
    folder do."""

    name: str
    label: str | Promise
    settings: tuple[Setting, ...]
    check: Callable[[Values], dict[str, str]]
    open: Callable[[Values, str], Reader]
    secret: str | Promise = ""
    shares: Callable[[Values, Values], bool] | None = None

    def overlaps(self, one: Values, other: Values) -> bool:
        """Whether sources of two collections with these settings would read some of the same. Whoever gives a secret
        shows by it that they may read; without one, the same settings are the same place."""
        if self.shares is not None:
            return self.shares(one, other)
        return not self.secret and dict(one) == dict(other)
