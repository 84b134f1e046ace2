"""Embeddings: passage cosine, hybrid with section titles (engines.md, 1d)."""

from __future__ import annotations

from dataclasses import dataclass

from arbitration.detectors.base import Anchor, DetectorContext, Span, StoreSession
from arbitration.detectors.titles import matching_sections
from arbitration.errors import ArbitrationError
from arbitration.late_interaction import gives_tokens
from arbitration.protocols import Embedder, PassageRow, TokenVectors, Vector
from arbitration.questions.model import ParsedQuestion
from arbitration.settings import EngineSettings, MethodName


def nearest_passages(
    question: ParsedQuestion, session: StoreSession, embedder: Embedder, settings: EngineSettings
) -> list[PassageRow]:
    """The best passages by cosine for all wordings of a question, found by whoever asks first: embedding needs nothing
    but the question, so it may begin before it is known what else there is."""
    return session.once(
        ("nearest passages",),
        lambda: session.vector(
            list(question_vectors(question, session, embedder).vectors), limit=settings.top_k
        ),
    )


@dataclass(frozen=True, slots=True)
class QuestionVectors:
    """All wordings of a question: ``vectors`` (n, width), and the tokens of each where the encoder gives them."""

    texts: tuple[str, ...]
    vectors: Vector
    tokens: tuple[TokenVectors, ...] = ()


def question_vectors(question: ParsedQuestion, session: StoreSession, embedder: Embedder) -> QuestionVectors:
    """The question's vectors, found by whoever asks first."""
    return session.once(("question vectors",), lambda: _embedded(question, embedder))


def _embedded(question: ParsedQuestion, embedder: Embedder) -> QuestionVectors:
    wordings = (question.retrieval_text, *question.rewrites)
    if not gives_tokens(embedder):
        return QuestionVectors(wordings, embedder.embed(wordings))
    vectors, tokens = embedder.embed_tokens(wordings)
    return QuestionVectors(wordings, vectors, tuple(tokens))


class EmbeddingDetector:
    """The best passages by cosine. Several wordings take the MAX similarity; a passage whose section title
    matches counts ``hybrid_bonus`` times its cosine."""

    method: MethodName = "embedding"

    def detect(self, context: DetectorContext) -> list[Anchor]:
        """Passages, best first. Raises :class:`ArbitrationError` when no embedder is configured."""
        if context.embedder is None:
            raise ArbitrationError("No embedder is configured; choose one or leave embeddings out.")
        rows = nearest_passages(context.question, context.session, context.embedder, context.settings)
        titles = {
            (section.document_id, section.section_id): section.title
            for section, _ in matching_sections(context)
        }
        anchors = [self._anchor(row, context, titles) for row in rows]
        return sorted(anchors, key=lambda anchor: -anchor.score)

    def _anchor(
        self, row: PassageRow, context: DetectorContext, titles: dict[tuple[str, str], str]
    ) -> Anchor:
        title = titles.get((row.document_id, row.section_id or ""))
        bonus = context.settings.hybrid_bonus if title is not None else 1.0
        hybrid = f" x {bonus:g}, title '{title}' matches" if title is not None else ""
        return Anchor(
            method=self.method,
            span=Span(row.document_id, row.page_start, row.line_start, row.page_end, row.line_end),
            score=row.score * bonus,
            raw=row.score,
            why=f"meaning is near, cosine {row.score:.2f}{hybrid}",
            section_id=row.section_id,
            passage_id=row.passage_id,
            text=row.text,
        )
