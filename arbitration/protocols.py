"""The small doors through which the engine reaches the world.

Adapters implement them: ``workbench`` with PostgreSQL, pgvector and a derived lexical index; tests with
plain lists. Every method of :class:`CandidateStore` is already limited to one scope (one document or one
collection that the asker may see); no method hands over a whole collection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class DocumentProfile:
    """What dispatcher and briefs need to know of one document without reading it."""

    document_id: str  # readable, used as prefix of candidate ids: "d42"
    name: str
    page_count: int
    has_usable_toc: bool  # native outline of >= 4 entries, or headings
    language: str = "en"
    document_type: str = ""
    character_count: int = 0
    effective_date: str | None = None
    issuer: str = ""
    line_count: int = 0  # body lines, as the proof of absence states them
    section_count: int = 0  # titles likewise
    title: str = ""  # as a person or the document itself gives it; empty: the name alone
    version_number: int = 1
    is_superseded: bool = False  # a later version can be asked


@dataclass(frozen=True)
class ScopeProfile:
    """The documents a question runs over. ``doc_id`` names the document, or the collection.

    It outlives the question: what follows from thousands of documents is worked out once, not for each question.
    """

    doc_id: str
    documents: tuple[DocumentProfile, ...]
    is_collection: bool = False

    @property
    def has_usable_toc(self) -> bool:
        """True when any document in scope has a table of contents worth reading."""
        return any(document.has_usable_toc for document in self.documents)

    @cached_property
    def line_count(self) -> int:
        """Number of body lines in scope."""
        return sum(document.line_count for document in self.documents)

    @cached_property
    def section_count(self) -> int:
        """Number of titles in scope."""
        return sum(document.section_count for document in self.documents)

    @cached_property
    def languages(self) -> dict[str, str]:
        """Language of each document, by its id."""
        return {document.document_id: document.language for document in self.documents}

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {document.document_id: position for position, document in enumerate(self.documents)}

    def chosen(self, document_ids: Iterable[str]) -> list[DocumentProfile]:
        """The documents with these ids, in their order here; ids of others are passed over."""
        places = {self._positions[name] for name in document_ids if name in self._positions}
        return [self.documents[place] for place in sorted(places)]


@dataclass(frozen=True, slots=True)
class SectionRow:
    """A section with its extent in lines (inclusive), as the store knows it."""

    document_id: str
    section_id: str
    level: int
    parent_id: str | None
    title: str
    breadcrumb: str
    page_start: int
    line_start: int
    page_end: int
    line_end: int  # end of the whole subtree
    own_page_end: int
    own_line_end: int  # end of the section's own lines, before its first child
    has_children: bool = False


class LineRow(NamedTuple):
    """One body line with its section. A tuple, because a question reads more than a thousand of them."""

    document_id: str
    page_num: int
    line_num: int
    text: str
    section_id: str | None = None


@dataclass(frozen=True, slots=True)
class PassageRow:
    """One passage with the score a search gave it (BM25, or cosine in [-1, 1])."""

    document_id: str
    passage_id: int
    page_start: int
    line_start: int
    page_end: int
    line_end: int
    section_id: str | None
    text: str
    score: float


class CandidateStore(Protocol):
    """Read access to the documents of one scope, by query only."""

    def profile(self) -> ScopeProfile:
        """The documents in scope."""

    def title_hits(self, terms: Sequence[str], *, limit: int = 200) -> list[SectionRow]:
        """Sections whose title holds any of the terms (case-insensitive, whole words, stemmed,
        letter-spaced headings joined)."""

    def sections_numbered(self, references: Sequence[str], *, limit: int = 50) -> list[SectionRow]:
        """Sections whose title or number matches a reference such as ``4.2(b)``, ``Article I Section 8``."""

    def sections_by_id(self, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], SectionRow]:
        """Sections by (document_id, section_id)."""

    def outline(self, document_id: str, *, limit: int = 2000) -> list[SectionRow]:
        """The sections of one document in reading order: its table of contents."""

    def lines_with(self, terms: Sequence[str], *, limit: int = 2000) -> list[LineRow]:
        """Body lines that hold any of the terms (same matching as ``title_hits``)."""

    def count_hits(self, terms: Sequence[str]) -> dict[str, int]:
        """For each term, the number of lines and titles that hold it: the proof of absence."""

    def substring_pages(self, terms: Sequence[str], *, limit: int = 200) -> list[tuple[str, int]]:
        """(document_id, page_num) of pages whose text holds any term as a case-insensitive substring."""

    def lexical(self, query: str, *, exact: Sequence[str] = (), limit: int = 50) -> list[PassageRow]:
        """Top passages by BM25 (k1 1.2-1.5, b .75; stemmed by document language); ``exact`` holds codes
        that must be matched as whole strings."""

    def vector(self, vectors: Sequence[Vector], *, limit: int = 50) -> list[PassageRow]:
        """Top passages by cosine; with several query vectors a passage's score is the MAX."""

    def tokens_of_scopes(self, scopes: Sequence[tuple[str, int, int, int, int]]) -> list[list[bytes]]:
        """For each span (as of ``lines_of_scopes``) the tokens of the passages that share a line with it, packed
        (:class:`~arbitration.late_interaction.PassageTokens`), in reading order; empty where none are kept."""

    def lines_between(
        self, document_id: str, page_start: int, line_start: int, page_end: int, line_end: int
    ) -> list[LineRow]:
        """The body lines of a span, in reading order; used for snippets and context."""

    def lines_of_scopes(self, scopes: Sequence[tuple[str, int, int, int, int]]) -> list[list[LineRow]]:
        """``lines_between`` for many spans (document_id, page_start, line_start, page_end, line_end) in one query."""


class Embedder(Protocol):
    """Turns texts into unit vectors of one embedding space."""

    @property
    def space(self) -> str:
        """Name of the embedding space: model, revision, width."""

    @property
    def width(self) -> int:
        """Length of a vector."""

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Unit vectors, shape (len(texts), width)."""


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """What an encoder says of each token of a text, special tokens aside.

    ``ids`` (n,) are the vocabulary's numbers, ``vectors`` (n, width) of length 1, ``offsets`` (n, 2) the characters
    of the text from the first to one past the last.
    """

    ids: npt.NDArray[np.int32]
    vectors: Vector
    offsets: npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One model call. ``schema`` asks for JSON of that shape; the caller validates always."""

    prompt_name: str
    prompt_version: str
    prompt_hash: str
    system: str
    user: str
    schema: type[BaseModel] | None = None
    max_output_tokens: int = 4096
    temperature: float = 0.0
    timeout_s: float = 60.0
    retries: int = 2
    want_logprobs: bool = False
    stage: str = "arbitrate"


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A model's answer with what it cost. ``text`` is the raw text; ``parsed`` is set when the request's
    schema validated."""

    text: str
    parsed: BaseModel | None
    model: str
    endpoint: str
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    latency_ms: float = 0.0
    cost: float = 0.0
    finish_reason: str = "stop"
    top_logprobs: tuple[Mapping[str, float], ...] = ()  # per output token: token -> log-probability
    from_cache: bool = False


class ChatModel(Protocol):
    """A language model behind an endpoint. Raises :class:`arbitration.errors.LLMFailure`."""

    @property
    def name(self) -> str:
        """Model name, as recorded with each verdict."""

    @property
    def supports_logprobs(self) -> bool:
        """Whether the endpoint returns log-probabilities (the ``consensus`` strategy needs them)."""

    def complete(self, request: ChatRequest) -> ChatReply:
        """One call. Thread-safe: strategies call it concurrently."""


class CrossEncoder(Protocol):
    """A model that reads question and passage together. Raises :class:`arbitration.errors.LLMFailure`."""

    @property
    def name(self) -> str:
        """Model name, as recorded with each verdict."""

    def scores(self, question: str, passages: Sequence[str]) -> Sequence[float]:
        """How well each passage answers the question, 0 to 1."""


class Scorer(Protocol):
    """A calibrated model over feature rows (the reranker)."""

    @property
    def version(self) -> str:
        """Model version, as recorded with each verdict."""

    @property
    def feature_version(self) -> int:
        """The FEATURE_VERSION it was trained on."""

    @property
    def threshold(self) -> float:
        """Decision threshold chosen on validation data."""

    def probabilities(self, features: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Calibrated probability of being evidence; shape (n,) for features of shape (n, n_features)."""


class Clock(Protocol):
    """Time, passed in so that rules stay pure and tests stay deterministic."""

    def now(self) -> datetime:
        """Aware UTC time."""

    def monotonic(self) -> float:
        """Seconds of a clock that never jumps."""


ProgressStage = Literal["parse", "dispatch", "detect", "aggregate", "triage", "arbitrate", "check", "answer"]
Progress = Callable[[ProgressStage, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class NullProgress:
    """Ignores progress; the default of library use and tests."""

    seen: list[str] = field(default_factory=list)

    def __call__(self, stage: ProgressStage, detail: Mapping[str, Any]) -> None:
        """Remember the stage's name only."""
        self.seen.append(stage)
