"""Small documents, stores and models for the engine's tests, made by hand."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ValidationError

from arbitration.documents import Line, Page, ParsedDocument, Passage, Section
from arbitration.errors import LLMFailure
from arbitration.memory import InMemoryStore, StoredDocument
from arbitration.protocols import ChatReply, ChatRequest
from arbitration.text import content_stems


@dataclass(frozen=True)
class SectionText:
    """A section of a made document: its title, its lines, how deep it lies."""

    title: str
    lines: tuple[str, ...]
    level: int = 1
    page: int = 1


def make_document(*sections: SectionText, language: str = "en", heading_lines: bool = True) -> ParsedDocument:
    """A document of sections in reading order; each section is one passage, its heading printed."""
    lines: list[Line] = []
    rows: list[Section] = []
    passages: list[Passage] = []
    counts: dict[int, int] = {}
    parents: list[tuple[int, str, str]] = []
    for number, section in enumerate(sections, start=1):
        section_id = f"s{number}"
        while parents and parents[-1][0] >= section.level:
            parents.pop()
        texts = ((section.title,) if heading_lines else ()) + section.lines
        start = counts.get(section.page, 0) + 1
        for offset, text in enumerate(texts):
            lines.append(_line(section.page, start + offset, text, section_id))
        counts[section.page] = start + len(texts) - 1
        breadcrumb = " > ".join([*(title for _, _, title in parents), section.title])
        rows.append(
            Section(
                section_id=section_id,
                level=section.level,
                parent_id=parents[-1][1] if parents else None,
                title=section.title,
                breadcrumb=breadcrumb,
                start_page=section.page,
                end_page=section.page,
                start_line=start,
            )
        )
        parents.append((section.level, section_id, section.title))
        passages.append(
            Passage(
                ordinal=number - 1,
                page_start=section.page,
                line_start=start,
                page_end=section.page,
                line_end=start + len(texts) - 1,
                section_id=section_id,
                text=" ".join(texts),
            )
        )
    pages = tuple(
        Page(page_num=page, text="\n".join(line.text for line in lines if line.page_num == page))
        for page in sorted(counts)
    )
    return ParsedDocument(
        kind="text",
        language=language,
        toc_source="headings",
        pages=pages,
        lines=tuple(lines),
        sections=tuple(rows),
        passages=tuple(passages),
    )


def _line(page: int, number: int, text: str, section_id: str) -> Line:
    return Line(
        page_num=page,
        line_num=number,
        text=text,
        character_count=len(text),
        section_id=section_id,
        parsing_method="text",
    )


RETENTION_POLICY = make_document(
    SectionText("1 Purpose", ("This policy tells staff how records are kept.",)),
    SectionText(
        "2 Retention periods",
        (
            "Audit records are kept for seven years after the audit has closed.",
            "Payroll records are kept for ten years.",
        ),
    ),
    SectionText(
        "3 Destruction",
        ("Records past their period are destroyed under the supervision of the archivist.",),
        page=2,
    ),
    SectionText(
        "4 Visitors",
        ("Visitors sign the book at the front desk and wear a badge.", "The garden is open at noon."),
        page=2,
    ),
)


def make_store(
    *documents: ParsedDocument, embedder: HashEmbedder | None = None, ids: Sequence[str] = ()
) -> InMemoryStore:
    """A store over documents named ``d1``, ``d2`` ..."""
    names = ids or [f"d{number}" for number in range(1, len(documents) + 1)]
    stored = [
        StoredDocument(name, f"{name}.txt", parsed) for name, parsed in zip(names, documents, strict=True)
    ]
    return InMemoryStore(stored, embedder=embedder)


class HashEmbedder:
    """Unit vectors from hashed stems: texts that share words are near, deterministic, no model."""

    space = "hash-1024"
    width = 1024

    def __init__(self) -> None:
        self.calls = 0

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Unit vectors, shape (len(texts), 1024)."""
        self.calls += 1
        return (
            np.stack([self._vector(text) for text in texts])
            if texts
            else np.zeros((0, self.width), np.float32)
        )

    def _vector(self, text: str) -> npt.NDArray[np.float32]:
        vector = np.full(self.width, 1e-6, dtype=np.float32)
        for part in content_stems(text):
            vector[int.from_bytes(hashlib.sha256(part.encode()).digest()[:2], "big") % self.width] += 1.0
        return (vector / np.linalg.norm(vector)).astype(np.float32)


Script = Callable[[ChatRequest], str | LLMFailure]


@dataclass
class FakeChat:
    """A chat model that answers from a script and remembers what it was asked."""

    script: Script
    name: str = "fake-model"
    supports_logprobs: bool = False
    requests: list[ChatRequest] = field(default_factory=list)
    logprobs: Callable[[ChatRequest], tuple[dict[str, float], ...]] = lambda request: ()

    def complete(self, request: ChatRequest) -> ChatReply:
        """The script's answer, validated as the real adapters do; failures are raised."""
        self.requests.append(request)
        answer = self.script(request)
        if isinstance(answer, LLMFailure):
            raise answer
        return ChatReply(
            text=answer,
            parsed=_parsed(request.schema, answer),
            model=self.name,
            endpoint="fake",
            input_tokens=len(request.system.split()) + len(request.user.split()),
            output_tokens=len(answer.split()),
            cost=0.001,
            top_logprobs=self.logprobs(request),
        )


def _parsed(schema: type[BaseModel] | None, answer: str) -> BaseModel | None:
    if schema is None:
        return None
    try:
        return schema.model_validate_json(answer)
    except ValidationError as error:
        raise LLMFailure("wrong_schema", "the answer has another shape than asked for") from error
