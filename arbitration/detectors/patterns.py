"""Pattern and alias match: places and code families the question names (engines.md, 1 and 2).

"Article I Section 8" or "clause 7.3(b)" leads to the section itself, without any semantic search. A word in
capitals that the document defines as the head of a family of codes ("GOVERN (GV)") leads to every code of
that family.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from arbitration.detectors.base import Anchor, DetectorContext, Span, section_span, span_of
from arbitration.protocols import LineRow, SectionRow
from arbitration.questions.model import DocumentFact, SectionReference
from arbitration.questions.references import match_address, section_address
from arbitration.settings import MethodName
from arbitration.spans import runs

_REFERENCE_LIMIT = 50
#: A contract and its amendments share their numbers; a number that more documents carry names none of them.
_NAMED_DOCUMENTS = 3
_SMALLEST_FAMILY = 3
_FAMILY_WORDS = 110
_FAMILY_GAP_LINES = 6
_PAGE_LINES = 10_000
_OPENING_LINES = 60
_OPENING_PIECES = 3
#: The first piece that shows the fact asked for, and the other pieces of the opening.
OPENING_SCORES = {"first": 0.9, "other": 0.3}
_MONTHS = (
    r"january|february|march|april|may|june|july|august|september|october|november|december"
    r"|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
)
#: How a piece of an opening shows that it states the fact asked for.
_STATES: dict[DocumentFact, re.Pattern[str]] = {
    "name": re.compile(r"[A-ZÀ-Þ]{4}|(?i:agreement|contract|policy|report|act)"),
    "parties": re.compile(
        r"\b(?:between|among|entre|party|parties|partes)\b|[(\"“](?:the )?[\"“][A-Z]", re.IGNORECASE
    ),
    "date": re.compile(
        rf"\b(?:{_MONTHS})\b.{{0,12}}\d|\d{{1,2}}[/.-]\d{{1,2}}[/.-]\d{{2,4}}|\b(?:19|20)\d\d\b",
        re.IGNORECASE,
    ),
    "authors": re.compile(r"[A-ZÀ-Þ][a-zà-ÿ]+ (?:[A-Z]\.? )*[A-ZÀ-Þ][a-zà-ÿ]+"),
}


class PatternDetector:
    """Sections by reference, pages by number, code families by their head."""

    method: MethodName = "pattern"

    def detect(self, context: DetectorContext) -> list[Anchor]:
        """Anchors of all kinds, the most literal first."""
        return [
            *self._references(context),
            *self._pages(context),
            *self._families(context),
            *self._opening(context),
        ]

    def _references(self, context: DetectorContext) -> list[Anchor]:
        references = context.question.section_references
        if not references:
            return []
        rows = context.session.sections_numbered([r.text for r in references], limit=_REFERENCE_LIMIT)
        addressed = [(row, section_address(row.title, row.breadcrumb)) for row in rows]
        anchors = [anchor for reference in references for anchor in self._named_by(reference, addressed)]
        return sorted(anchors, key=lambda anchor: -anchor.score)

    def _named_by(
        self, reference: SectionReference, addressed: Sequence[tuple[SectionRow, tuple[str, ...]]]
    ) -> Iterator[Anchor]:
        """The sections one reference names; worth the less, the more documents carry that number."""
        scores = [(row, match_address(reference.address, address)) for row, address in addressed]
        documents = len({row.document_id for row, score in scores if score})
        is_shared = not reference.is_alias and documents > _NAMED_DOCUMENTS
        worth = _NAMED_DOCUMENTS / documents if is_shared else 1.0
        said = "the dictionary knows the words as" if reference.is_alias else "the question names"
        also = f", as in {documents} documents" if is_shared else ""
        for row, score in scores:
            if not score:
                continue
            yield Anchor(
                method=self.method,
                span=section_span(row),
                score=score * worth,
                why=f"{said} {reference.text}; this is '{row.title}'{also}",
                section_id=row.section_id,
                section=row,
                pattern_kind="alias" if reference.is_alias else "reference",
            )

    def _pages(self, context: DetectorContext) -> list[Anchor]:
        if len(context.profile.documents) != 1:
            return []
        document = context.profile.documents[0]
        pages = [p for p in context.question.scope_filters.pages if p <= document.page_count]
        spans = [Span(document.document_id, page, 1, page, _PAGE_LINES) for page in pages]
        anchors = []
        for span, lines in zip(spans, context.session.lines_of_spans(spans), strict=True):
            anchors += [
                Anchor(self.method, span_of(part), 0.5, f"the question names page {span.page_start}",
                       section_id=part[0].section_id, pattern_kind="reference")
                for part in _runs_by_words(lines)
            ]  # fmt: skip
        return anchors

    def _opening(self, context: DetectorContext) -> list[Anchor]:
        """The first pieces of a document whose own name, parties, date or authors are asked for."""
        fact = context.question.document_fact
        if fact is None or len(context.profile.documents) != 1:
            return []
        document = context.profile.documents[0]
        span = Span(document.document_id, 1, 1, min(2, document.page_count), _OPENING_LINES)
        pieces = list(_runs_by_words(context.session.lines_of_spans([span])[0]))[:_OPENING_PIECES]
        states = [_STATES[fact].search(" ".join(line.text for line in piece)) is not None for piece in pieces]
        first = states.index(True) if True in states else None
        return [
            Anchor(
                self.method,
                span_of(piece),
                OPENING_SCORES["first"] if index == first else OPENING_SCORES["other"],
                f"the question asks for the document's own {fact}; this is its opening",
                section_id=piece[0].section_id,
                pattern_kind="opening",
            )
            for index, piece in enumerate(pieces)
        ]

    def _families(self, context: DetectorContext) -> list[Anchor]:
        heads = context.question.code_families
        if not heads:
            return []
        defining = context.session.lines_with(heads, limit=context.settings.line_limit)
        families = _family_codes(heads, defining)
        if not families:
            return []
        rows = context.session.lines_with(sorted(families), limit=context.settings.line_limit)
        return [
            anchor
            for family, head in sorted(families.items())
            for anchor in self._family_anchors(context, family, head, rows)
        ]

    def _family_anchors(
        self, context: DetectorContext, family: str, head: str, rows: Sequence[LineRow]
    ) -> list[Anchor]:
        pattern = _member_pattern(family)
        members = [row for row in rows if pattern.search(row.text)]
        codes = {match[0] for row in members for match in pattern.finditer(row.text)}
        if len(codes) < _SMALLEST_FAMILY:
            return []
        why = f"code family {family} of '{head}': {len(codes)} codes" if head != family else (
            f"code family {family}: {len(codes)} codes"
        )  # fmt: skip
        runs = context.session.lines_of_spans(list(_family_spans(members)))
        parts = [part for run in runs for part in _runs_by_words(run, starts=pattern)]
        return [
            Anchor(
                self.method,
                span_of(part),
                1.0,
                why,
                section_id=part[0].section_id,
                matched=tuple(dict.fromkeys(m[0] for row in part for m in pattern.finditer(row.text))),
                pattern_kind="family",
            )
            for part in parts
            if any(pattern.search(row.text) for row in part)
        ]


def _family_codes(heads: Sequence[str], lines: Sequence[LineRow]) -> dict[str, str]:
    """Family code -> the word of the question that heads it, by "GOVERN (GV)" or the code itself."""
    families: dict[str, str] = {}
    for head in heads:
        defined = re.compile(rf"(?<!\w){re.escape(head)}\s*\((?P<code>[A-Z]{{1,5}}(?:\.[A-Z]{{1,4}})*)\)")
        for line in lines:
            match = defined.search(line.text)
            if match:
                families[match["code"]] = head
        if any(_member_pattern(head).search(line.text) for line in lines):
            families[head] = head
    return families


def _member_pattern(family: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.]){re.escape(family)}(?:[.\-][A-Z0-9]+)*[.\-]?\d+(?!\w)")


def _family_spans(members: Sequence[LineRow]) -> Iterator[Span]:
    """Runs of member lines that stand close together, each stretched over its last item's continuation."""
    ordered = sorted(members, key=lambda row: (row.document_id, row.page_num, row.line_num))
    return map(_stretched, runs(ordered, lambda run, row: not _near(run[-1], row)))


def _near(left: LineRow, right: LineRow) -> bool:
    return (left.document_id, left.page_num) == (right.document_id, right.page_num) and (
        right.line_num - left.line_num <= _FAMILY_GAP_LINES
    )


def _stretched(run: Sequence[LineRow]) -> Span:
    first, last = run[0], run[-1]
    return Span(first.document_id, first.page_num, first.line_num, last.page_num, last.line_num + 2)


def _runs_by_words(
    lines: Sequence[LineRow], *, starts: re.Pattern[str] | None = None
) -> Iterator[list[LineRow]]:
    """Pieces of at most about ``_FAMILY_WORDS`` words; with ``starts`` a cut falls before a line that opens an item."""
    part: list[LineRow] = []
    size = 0
    for line in lines:
        length = len(line.text.split())
        opens = starts is None or starts.search(line.text) is not None
        if part and ((opens and size + length > _FAMILY_WORDS - 30) or size + length > _FAMILY_WORDS):
            yield part
            part, size = [], 0
        part.append(line)
        size += length
    if part:
        yield part
