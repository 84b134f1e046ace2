"""Passages that the caller brings, judged: each gets a role, a reason and a probability.

Each passage is a document of its own to the engine: none is merged with another, and words are weighed over all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arbitration.contracts import DecidedBy, Role
from arbitration.documents import Line, Page, ParsedDocument, Passage
from arbitration.library import Arbiter, EmbedderChoice
from arbitration.memory import StoredDocument
from arbitration.parsing.language import guess_language
from arbitration.results import Candidate, Finding, Result
from arbitration.settings import EngineSettings

#: More are better searched first; the engine looks at so many candidates.
MOST_PASSAGES = 200
_NOT_FOUND = DecidedBy(kind="rule", name="no detector found it")
_NO_WORDS = "Shares neither words nor meaning with the question."


class JudgedPassage(Result):
    """A passage by its ``index`` among those given. ``probability`` is that of being evidence, 0 to 1."""

    index: int
    role: Role | None
    reason: str
    probability: float
    decided_by: DecidedBy
    needs_review: bool


class Reranker:
    """Judges passages from anywhere, such as another search engine's hits."""

    def __init__(
        self,
        *,
        strategy: str = "offline",
        embedder: EmbedderChoice = "shipped",
        settings: EngineSettings | None = None,
        **options: Any,
    ) -> None:
        """``strategy``, ``embedder`` and ``options`` are those of :class:`~arbitration.library.Arbiter`."""
        self._strategy = strategy
        self._embedder = embedder
        self._settings = settings or EngineSettings(precedence=False)
        self._options = options

    def rank(
        self, question: str, passages: Sequence[str], *, options: Mapping[str, object] | None = None
    ) -> list[JudgedPassage]:
        """Every passage once, the best first. Raises ``ValueError`` for more than 200."""
        if len(passages) > MOST_PASSAGES:
            raise ValueError(f"{len(passages)} passages are too many; give {MOST_PASSAGES} at most.")
        documents = [
            StoredDocument(f"d{index}", f"passage {index + 1}", as_document(text))
            for index, text in enumerate(passages)
            if text.strip()
        ]
        if not documents:
            return [_unfound(index) for index in range(len(passages))]
        room = {name: max(getattr(self._settings, name), len(documents)) for name in ("top_k", "pool_size")}
        settings = self._settings.model_copy(update=room)
        with Arbiter.from_documents(
            documents, embedder=self._embedder, settings=settings, **self._options
        ) as arbiter:
            finding = arbiter.ask(question, strategy=self._strategy, options=options)
        judged = list(_judged(finding))
        found = {passage.index for passage in judged}
        return judged + [_unfound(index) for index in range(len(passages)) if index not in found]


def as_document(text: str) -> ParsedDocument:
    """A text as a document of one page and one passage, a line for each of its lines."""
    rows = [row for row in text.splitlines() if row.strip()]
    lines = tuple(
        Line(page_num=1, line_num=number, text=row, character_count=len(row), parsing_method="text")
        for number, row in enumerate(rows, start=1)
    )
    whole = Passage(
        ordinal=0, page_start=1, line_start=1, page_end=1, line_end=len(rows), text="\n".join(rows)
    )
    return ParsedDocument(
        kind="text",
        language=guess_language([text]),
        pages=(Page(page_num=1, text="\n".join(rows)),),
        lines=lines,
        passages=(whole,),
    )


def _judged(finding: Finding) -> Iterator[JudgedPassage]:
    """The best candidate of each passage, in the decision's order."""
    seen: set[int] = set()
    for candidate in finding.candidates:
        index = int(candidate.document_id.removeprefix("d"))
        if index not in seen:
            seen.add(index)
            yield _of_candidate(index, candidate)


def _of_candidate(index: int, candidate: Candidate) -> JudgedPassage:
    return JudgedPassage(
        index=index,
        role=candidate.role,
        reason=candidate.reason,
        probability=candidate.probability or 0.0,
        decided_by=candidate.decided_by,
        needs_review=candidate.needs_review,
    )


def _unfound(index: int) -> JudgedPassage:
    return JudgedPassage(
        index=index,
        role=Role.DISCARDED,
        reason=_NO_WORDS,
        probability=0.0,
        decided_by=_NOT_FOUND,
        needs_review=False,
    )
