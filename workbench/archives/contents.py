"""What an archive of a collection holds, and how much of it is believed.

    manifest.json        what it is, the collection and its settings, every other entry with its size and SHA-256
    documents/SHA256     the originals, as they were uploaded
    dictionary.jsonl     the vocabulary in use, one entry a line
    question_sets.jsonl  the question sets, one a line
    labels.jsonl         judgments, one a line; they name passages by place and hash and hold no text of documents
    guidelines.jsonl     what annotators were asked to go by, the newest version

An archive comes from elsewhere: every field is bounded here, unknown fields are refused, and nothing in it names a
path, a person, an address that text may be sent to, or a secret.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from arbitration.contracts import Role
from arbitration.triage import GateProfile
from training.labels import LabelSource
from workbench.infra.storable import storable

FORMAT: Final = "arbiter-workbench-collection"
VERSION: Final = 1
MANIFEST = "manifest.json"
DOCUMENTS = "documents/"
#: The parts that are tables, each of JSON lines.
DICTIONARY, QUESTION_SETS, LABELS, GUIDELINES = TABLES = (
    "dictionary.jsonl",
    "question_sets.jsonl",
    "labels.jsonl",
    "guidelines.jsonl",
)
MOST_DOCUMENTS = 100_000
#: Rows of each table. People write the vocabulary, the sets and the guidelines, of which an export holds the newest;
#: models judge by the hundred thousand.
MOST_ROWS: Final = {DICTIONARY: 100_000, QUESTION_SETS: 10_000, LABELS: 1_000_000, GUIDELINES: 100}

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, le=2**53)]
Place = Annotated[int, Field(ge=1, le=10_000_000)]
Slug = Annotated[str, StringConstraints(pattern=r"^[-a-zA-Z0-9_]{1,80}$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=160), AfterValidator(storable)]
Words = Annotated[str, StringConstraints(max_length=20_000), AfterValidator(storable)]
Question = Annotated[str, StringConstraints(min_length=1, max_length=4000), AfterValidator(storable)]
Term = Annotated[str, StringConstraints(min_length=1, max_length=120), AfterValidator(storable)]
Property = Annotated[str, StringConstraints(max_length=160), AfterValidator(storable)]
FieldName = Annotated[str, StringConstraints(min_length=1, max_length=60), AfterValidator(storable)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DocumentEntry(_Part):
    """A document: its bytes stand under its hash. It is read anew where it arrives."""

    sha256: Sha256
    size: Annotated[int, Field(ge=1, le=2**40)]
    name: Annotated[str, StringConstraints(min_length=1, max_length=255), AfterValidator(storable)]
    document_type: Annotated[str, StringConstraints(max_length=80), AfterValidator(storable)] = ""
    issuer: Property = ""
    jurisdiction: Annotated[str, StringConstraints(max_length=80), AfterValidator(storable)] = ""
    effective_date: dt.date | None = None
    tags: Annotated[list[Annotated[str, StringConstraints(max_length=80)]], Field(max_length=100)] = []
    #: As people set them; what the machine read is read anew.
    parties: Annotated[list[Property], Field(max_length=20)] = []
    fields: Annotated[dict[FieldName, Property], Field(max_length=20)] = {}
    #: The document that this one is the next version of; it stands before this one.
    version_of: Sha256 | None = None
    version_number: Annotated[int, Field(ge=1, le=100_000)] = 1
    #: Only some members might see it. Where it arrives, its admins alone do until they name others.
    is_restricted: bool = False

    @property
    def entry(self) -> str:
        """Its name in the archive."""
        return DOCUMENTS + self.sha256


class Gates(_Part):
    """Thresholds in use, with what calibration had said of them. They arrive as a proposal."""

    profile: GateProfile
    questions: Count = 0
    evidence: Count = 0
    rejected_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    accepted_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    accepted_precision: Annotated[float, Field(ge=0, le=1)] | None = None


class Settings(_Part):
    """A collection's settings, without the addresses that its text may go to: those are set where it arrives."""

    slug: Slug
    name: Name
    description: Words = ""
    default_strategy: Annotated[str, StringConstraints(max_length=40)] = ""
    criteria_weights: dict[str, Annotated[float, Field(ge=0, le=1)]] = {}
    legal_hold: bool = False
    retention_days: Annotated[int, Field(ge=1, le=100_000)] | None = None
    erasure_delay_days: Annotated[int, Field(ge=0, le=3650)] = 7
    contributes_to_training: bool = True
    gates: Annotated[list[Gates], Field(max_length=20)] = []
    #: The fields that its documents have beside those that all have, and what each holds.
    fields: Annotated[dict[FieldName, Literal["text", "date"]], Field(max_length=20)] = {}


class Table(_Part):
    """A part of JSON lines."""

    size: Annotated[int, Field(ge=0, le=2**31)]
    sha256: Sha256
    rows: Count


class Manifest(_Part):
    """What the archive says of itself; everything else is checked against it."""

    format: Literal["arbiter-workbench-collection"] = FORMAT
    version: Literal[1] = VERSION
    made_at: dt.datetime
    collection: Settings
    documents: Annotated[list[DocumentEntry], Field(max_length=MOST_DOCUMENTS)]
    tables: dict[str, Table]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if set(self.tables) != set(TABLES):
            raise ValueError(f"tables are {', '.join(TABLES)}")
        before: set[str] = set()
        replaced: set[str] = set()
        for document in self.documents:
            if document.sha256 in before:
                raise ValueError(f"document {document.sha256[:12]} is there twice")
            if document.version_of is not None:
                if document.version_of not in before or document.version_of in replaced:
                    raise ValueError(f"document {document.sha256[:12]} is no next version of one before it")
                replaced.add(document.version_of)
            before.add(document.sha256)
        return self

    @property
    def document_bytes(self) -> int:
        """Bytes of all originals together."""
        return sum(document.size for document in self.documents)


class DictionaryRow(_Part):
    """A pair of the vocabulary that is in use."""

    term: Term
    variant: Term
    kind: Annotated[str, StringConstraints(max_length=12)]
    language: Annotated[str, StringConstraints(max_length=8)]


class QuestionSetRow(_Part):
    """A question set with the questions that it asks now."""

    name: Name
    description: Words = ""
    questions: Annotated[list[Question], Field(min_length=1, max_length=200)]


class LabelRow(_Part):
    """A judgment. ``judge`` is a name for a person that means nothing outside the archive, or a model's name."""

    question: Question
    document: Sha256
    page_start: Place
    line_start: Place
    page_end: Place
    line_end: Place
    text_hash: Sha256
    role: Role
    source: LabelSource
    judge: Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(storable)]
    blind: bool = False
    blind_chance: Annotated[float, Field(gt=0, le=1)] | None = None
    seconds: Annotated[float, Field(ge=0, le=10_000_000)] | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if (self.page_end, self.line_end) < (self.page_start, self.line_start):
            raise ValueError("the passage ends before it begins")
        return self


class GuidelineRow(_Part):
    """Guidelines for annotators."""

    body: Annotated[str, StringConstraints(min_length=1, max_length=100_000), AfterValidator(storable)]
