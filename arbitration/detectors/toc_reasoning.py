"""Reasoning over the table of contents (engines.md, section 1e): in a large document a model picks what to read.

The model sees ids, titles, pages and how many lines of each section hold words of the question, and answers with ids.
Ids that do not exist are recorded and ignored; a model that fails leaves the other detectors' findings as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from arbitration.detectors.base import Anchor, DetectorContext, section_span
from arbitration.errors import LLMFailure
from arbitration.prompting import clean_text, fence, load_prompt
from arbitration.protocols import ChatRequest, SectionRow
from arbitration.settings import MethodName

PROMPT = "toc_reasoning"
MOST_SECTIONS_SHOWN = 400
MOST_SECTIONS_PICKED = 8
#: Sections below the picked ones that are read as well.
MOST_SECTIONS_READ = 60
_TITLE_CHARACTERS = 120


class SectionPick(BaseModel):
    """The model's answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reasoning: str
    section_ids: list[str]


class TocReasoningDetector:
    """Whole sections that a model picks from the table of contents."""

    method: MethodName = "toc_reasoning"

    def detect(self, context: DetectorContext) -> list[Anchor]:
        """One anchor per section picked and per section below it, in the order of the picks.

        Raises :class:`LLMFailure` when the model gives no usable answer.
        """
        if context.chat is None:
            raise LLMFailure("not_allowed", "no language model is configured for reasoning over the contents")
        (document,) = context.profile.documents
        shown = shown_sections(context.session.outline(document.document_id, limit=5 * MOST_SECTIONS_SHOWN))
        if not shown:
            return []
        reply = context.chat.complete(_request(context, shown))
        assert isinstance(reply.parsed, SectionPick)
        picked, unknown = _known(reply.parsed.section_ids, shown)
        if unknown:
            context.notes.append(
                f"table of contents: the model named {len(unknown)} sections that do not exist; they were ignored"
            )
        reasoning = " ".join(clean_text(reply.parsed.reasoning).split())[:200]
        return self._anchors(context, picked, document.document_id, reasoning)

    def _anchors(
        self, context: DetectorContext, picked: Sequence[SectionRow], document_id: str, reasoning: str
    ) -> list[Anchor]:
        outline = context.session.outline(document_id, limit=5 * MOST_SECTIONS_SHOWN)
        anchors: dict[str, Anchor] = {}
        for rank, section in enumerate(picked):
            for row in [section, *(other for other in outline if _lies_in(other, section))]:
                if row.section_id in anchors or len(anchors) >= MOST_SECTIONS_READ:
                    continue
                anchors[row.section_id] = Anchor(
                    method=self.method,
                    span=section_span(row),
                    score=1.0 / (1 + rank),
                    why=f"a model picked '{section.title}' from the table of contents: {reasoning}",
                    section_id=row.section_id,
                    section=row,
                )
        return list(anchors.values())


def shown_sections(outline: Sequence[SectionRow]) -> list[SectionRow]:
    """The sections that fit into one prompt: the deepest levels are left out until they do."""
    shown = list(outline)
    while len(shown) > MOST_SECTIONS_SHOWN:
        deepest = max(section.level for section in shown)
        if deepest == min(section.level for section in shown):
            return shown[:MOST_SECTIONS_SHOWN]
        shown = [section for section in shown if section.level < deepest]
    return shown


def _request(context: DetectorContext, shown: Sequence[SectionRow]) -> ChatRequest:
    counts = keyword_counts(context, shown)
    lines = [
        f"{section.section_id} | {'  ' * (section.level - 1)}{section.title[:_TITLE_CHARACTERS]} | "
        f"pages {section.page_start}-{section.page_end} | {counts[section.section_id]} lines"
        for section in shown
    ]
    prompt = load_prompt(PROMPT).render(
        question=fence(context.question.retrieval_text, label="question"),
        keywords=", ".join(context.terms[:20]),
        contents=fence("\n".join(lines), label="contents"),
        most=MOST_SECTIONS_PICKED,
    )
    return prompt.request(
        schema=SectionPick,
        max_output_tokens=context.settings.output_tokens(1024),
        temperature=context.settings.temperature,
        timeout_s=context.settings.timeout_s,
        retries=1,
        stage="detect",
    )


def keyword_counts(context: DetectorContext, shown: Sequence[SectionRow]) -> Counter[str]:
    """Lines with words of the question, per section shown, everything below it counted as well."""
    counts: Counter[str] = Counter()
    if not context.terms:
        return counts
    for line in context.session.lines_with(context.terms, limit=context.settings.line_limit):
        place = (line.page_num, line.line_num)
        for section in shown:
            if (section.page_start, section.line_start) <= place <= (section.page_end, section.line_end):
                counts[section.section_id] += 1
    return counts


def _known(named: Sequence[str], shown: Sequence[SectionRow]) -> tuple[list[SectionRow], list[str]]:
    """The sections named, each once, at most as many as asked for; and the ids that stand for none."""
    by_id = {section.section_id: section for section in shown}
    ids = list(dict.fromkeys(identity.strip() for identity in named))
    known = [by_id[identity] for identity in ids if identity in by_id]
    return known[:MOST_SECTIONS_PICKED], [identity for identity in ids if identity not in by_id]


def _lies_in(inner: SectionRow, outer: SectionRow) -> bool:
    if inner.section_id == outer.section_id:
        return False
    start = (outer.page_start, outer.line_start)
    end = (outer.page_end, outer.line_end)
    return start <= (inner.page_start, inner.line_start) and (inner.page_end, inner.line_end) <= end
