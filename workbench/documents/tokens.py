"""The vectors of passages and of their tokens, from one pass of the encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arbitration.late_interaction import Place, gives_tokens, passage_tokens
from arbitration.protocols import Embedder

from .models import Document


@dataclass(frozen=True, slots=True)
class PlacedPassage:
    """A passage with the lines its text was joined from and the headings above it."""

    pk: int
    text: str
    heading: str
    lines: tuple[tuple[Place, str], ...]


def placed_passages(document: Document) -> list[PlacedPassage]:
    """The passages of a document in reading order. Three queries."""
    lines = iter(
        document.lines.filter(is_furniture=False, is_hidden=False)
        .order_by("page_num", "line_num")
        .values_list("page_num", "line_num", "text")
    )
    line = next(lines, None)
    headings = dict(document.sections.values_list("section_id", "breadcrumb"))
    placed = []
    for pk, text, section, *span in document.passages.order_by("ordinal").values_list(
        "pk", "text", "section_id", "page_start", "line_start", "page_end", "line_end"
    ):
        first, last = tuple(span[:2]), tuple(span[2:])
        own: list[tuple[Place, str]] = []
        while line is not None and line[:2] <= last:
            if line[:2] >= first and line[2].strip():
                own.append(((line[0], line[1]), line[2]))
            line = next(lines, None)
        placed.append(PlacedPassage(pk, text, headings.get(section, ""), tuple(own)))
    return placed


def passages_embed(
    passages: Sequence[PlacedPassage], *, embedder: Embedder
) -> tuple[npt.NDArray[np.float32], list[tuple[int, bytes]]]:
    """Vectors of shape (n, width), and the packed tokens by passage: none where the encoder gives none."""
    texts = [passage.text for passage in passages]
    if not gives_tokens(embedder):
        return embedder.embed(texts), []
    vectors, tokens = embedder.embed_tokens(texts)
    names = list(dict.fromkeys(passage.heading for passage in passages if passage.heading))
    headings = dict(zip(names, embedder.embed_tokens(names)[1], strict=True))
    packed = [
        passage_tokens(
            of_text,
            text=passage.text,
            lines=passage.lines,
            heading=headings.get(passage.heading),
        ).packed()
        for passage, of_text in zip(passages, tokens, strict=True)
    ]
    return vectors, [(passage.pk, data) for passage, data in zip(passages, packed, strict=True)]
