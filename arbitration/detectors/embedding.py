"""Embeddings: passage cosine, hybrid with section titles (engines.md, 1d)."""

from __future__ import annotations

from arbitration.detectors.base import Anchor, DetectorContext, Span
from arbitration.detectors.titles import matching_sections
from arbitration.errors import ArbitrationError
from arbitration.protocols import PassageRow
from arbitration.settings import MethodName


class EmbeddingDetector:
    """The best passages by cosine. Several wordings take the MAX similarity; a passage whose section title
    matches counts ``hybrid_bonus`` times its cosine."""

    method: MethodName = "embedding"

    def detect(self, context: DetectorContext) -> list[Anchor]:
        """Passages, best first. Raises :class:`ArbitrationError` when no embedder is configured."""
        if context.embedder is None:
            raise ArbitrationError("No embedder is configured; choose one or leave embeddings out.")
        wordings = [context.question.retrieval_text, *context.question.rewrites]
        vectors = list(context.embedder.embed(wordings))
        rows = context.session.vector(vectors, limit=context.settings.top_k)
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
