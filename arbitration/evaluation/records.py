"""What a labelled set is made of: documents, questions and the evidence that answers them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from arbitration.errors import ArbitrationError


class DatasetError(ArbitrationError):
    """A labelled set that cannot be used; the message says which file or row and what to do."""


@dataclass(frozen=True, slots=True)
class PassageEvidence:
    """A whole passage or section, named by its id in the source."""

    document_id: str
    unit_id: str
    relevance: int = 1


@dataclass(frozen=True, slots=True)
class PageEvidence:
    """One page, or a range of pages; 1-based, both ends inclusive."""

    document_id: str
    page_from: int
    page_to: int
    relevance: int = 1


@dataclass(frozen=True, slots=True)
class SpanEvidence:
    """Characters ``start`` to ``end`` (exclusive) of a text file, or of one unit of a document."""

    document_id: str
    start: int
    end: int
    unit_id: str = ""
    relevance: int = 1


@dataclass(frozen=True, slots=True)
class TextEvidence:
    """Words that the document says: found by a candidate whose own text holds their beginning."""

    document_id: str
    text: str
    relevance: int = 1


EvidenceUnit = PassageEvidence | PageEvidence | SpanEvidence | TextEvidence


@dataclass(frozen=True, slots=True)
class StructuredUnit:
    """One section of a document that comes as data: its id in the source, its title and its text.

    ``level`` is 1 for the top. ``has_heading_line`` says that the title is printed above the text, as in
    the original document; otherwise the title is known to the table of contents alone.
    """

    unit_id: str
    title: str
    text: str
    level: int = 1
    has_heading_line: bool = False


@dataclass(frozen=True, slots=True)
class DatasetDocument:
    """A document of the set: either a file to be parsed (``path``) or sections given as data (``units``).

    ``collection`` separates documents that are never searched together, such as the two languages of a
    bilingual set. ``whole_passages`` asks that each unit stay one passage, whatever its length.
    """

    document_id: str
    name: str
    path: Path | None = None
    units: tuple[StructuredUnit, ...] = ()
    collection: str = "main"
    lang: str = "en"
    whole_passages: bool = False

    @property
    def is_structured(self) -> bool:
        """Whether the document comes as data instead of a file."""
        return self.path is None

    def content_hash(self) -> str:
        """Hash of what it says, whatever set or name it comes under: 16 hexadecimal digits. Raises ``OSError``
        for a file that cannot be read."""
        if self.path is not None:
            content = self.path.read_bytes()
        else:
            content = "\n".join(f"{unit.title}\n{unit.text}" for unit in self.units).encode()
        return hashlib.sha256(content).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class EvalQuestion:
    """One question with its evidence. ``document_id`` is set when the question is scoped to one document;
    otherwise it is asked over the whole ``collection``. ``variant`` is empty, or question language - document
    language (``es-en``)."""

    qid: str
    text: str
    answerable: bool
    evidence: tuple[EvidenceUnit, ...] = ()
    lang: str = "en"
    collection: str = "main"
    document_id: str | None = None
    answer: str | None = None
    variant: str = ""
    category: str = ""
    kind: str = ""

    @property
    def key(self) -> str:
        """Unique in the set: the question's id and, where it is asked several ways, the variant."""
        return f"{self.qid}:{self.variant}" if self.variant else self.qid

    @property
    def is_ranked(self) -> bool:
        """Whether ranking metrics can judge it: answerable, and with evidence on record."""
        return self.answerable and bool(self.evidence)


@dataclass(frozen=True)
class LabelledSet:
    """Documents and questions of one folder. Frozen; order is the order of the labels."""

    name: str
    documents: tuple[DatasetDocument, ...]
    questions: tuple[EvalQuestion, ...]

    @property
    def collections(self) -> tuple[str, ...]:
        """Names of the separate collections, in order."""
        return tuple(dict.fromkeys(document.collection for document in self.documents))

    @property
    def question_count(self) -> int:
        """Distinct questions; the variants of one question count once."""
        return len({question.qid for question in self.questions})

    @property
    def answerable_count(self) -> int:
        """Distinct questions whose label says that the documents hold the answer."""
        return len({question.qid for question in self.questions if question.answerable})

    def limited(self, limit: int | None) -> LabelledSet:
        """The first ``limit`` questions, with all their variants, and the documents they are asked of."""
        if limit is None or limit >= self.question_count:
            return self
        kept = set(list(dict.fromkeys(question.qid for question in self.questions))[:limit])
        questions = tuple(question for question in self.questions if question.qid in kept)
        return LabelledSet(self.name, documents_asked(self.documents, questions), questions)


def documents_asked(
    documents: Iterable[DatasetDocument], questions: Iterable[EvalQuestion]
) -> tuple[DatasetDocument, ...]:
    """The documents that some of the questions are asked of, alone or with their whole collection."""
    scopes = {(question.collection, question.document_id) for question in questions}
    return tuple(
        document
        for document in documents
        if (document.collection, None) in scopes or (document.collection, document.document_id) in scopes
    )


class RankedAnchor(NamedTuple):
    """Where a ranked candidate stands: lines of one document, 1-based, both ends inclusive.

    ``word_count`` lets the judge accept a short anchor that crosses a page; documents whose text the judge
    knows are counted from the text instead. ``text`` is the anchor's own text, for evidence that is quoted.
    ``is_kept`` says that it was not discarded, ``asks_person`` that a person is asked about it.
    """

    document_id: str
    page_start: int
    line_start: int
    page_end: int
    line_end: int
    word_count: int | None = None
    text: str = ""
    is_kept: bool = True
    asks_person: bool = False
