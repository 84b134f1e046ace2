"""What a pair is: two rules on one matter, of which one prevails, and a question that asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["amendment", "version", "exception", "repeal", "clause"]


@dataclass(frozen=True, slots=True)
class Text:
    """A document as it is uploaded: its name, and Markdown or plain text."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Pair:
    """``in_force`` and ``replaced`` quote the two rules, each once in the documents."""

    key: str
    kind: Kind
    question: str
    in_force: str
    replaced: str
    documents: tuple[Text, ...]
