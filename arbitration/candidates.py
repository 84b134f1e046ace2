"""From units to pool candidates: ids, ranks, signals and briefs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from arbitration.aggregation import Unit
from arbitration.briefs import build_brief, snippet_of
from arbitration.contracts import CandidateScope, candidate_id
from arbitration.detectors.base import Anchor, DetectorContext, Span
from arbitration.detectors.titles import NO_TITLE_MATCH, TitleMatch, title_matches
from arbitration.fusion import ranks_of, rrf_score
from arbitration.pool import CandidateSignals, PoolCandidate
from arbitration.settings import METHODS
from arbitration.wording import Wording, wordings

_NEIGHBOUR_LINES = 4


def build_candidates(units: Sequence[Unit], context: DetectorContext) -> list[PoolCandidate]:
    """One candidate per unit, ordered by reciprocal rank fusion."""
    context.match(line for unit in units for line in unit.lines)
    sections = {(u.section.document_id, u.section.section_id): u.section for u in units if u.section}
    titles = title_matches(sections.values(), context)
    builder = _CandidateBuilder(context, _ranks_by_method(units), _wordings(units, context), titles)
    drafts = _with_neighbours([builder.draft(index, unit) for index, unit in enumerate(units)])
    ordered = sorted(
        drafts, key=lambda c: (-c.rrf_score, c.document_id, c.anchor.page_start, c.anchor.line_start)
    )
    return [c.model_copy(update={"rrf_rank": rank}) for rank, c in enumerate(ordered, start=1)]


def _with_neighbours(drafts: Sequence[PoolCandidate]) -> list[PoolCandidate]:
    """Each candidate with the best cosine of those that stand directly before and after it."""
    ordered = sorted(drafts, key=lambda c: (c.document_id, c.anchor.page_start, c.anchor.line_start))
    best: dict[str, float] = {}
    for left, right in pairwise(ordered):
        if not _beside(left, right):
            continue
        for candidate, other in ((left, right), (right, left)):
            cosine = other.signals.semantic
            if cosine is not None:
                best[candidate.candidate_id] = max(best.get(candidate.candidate_id, cosine), cosine)
    return [_with_neighbour(candidate, best.get(candidate.candidate_id)) for candidate in drafts]


def _beside(left: PoolCandidate, right: PoolCandidate) -> bool:
    same_page = (left.document_id, left.anchor.page_end) == (right.document_id, right.anchor.page_start)
    return same_page and right.anchor.line_start - left.anchor.line_end <= _NEIGHBOUR_LINES


def _with_neighbour(candidate: PoolCandidate, cosine: float | None) -> PoolCandidate:
    if cosine is None:
        return candidate
    signals = candidate.signals.model_copy(update={"neighbour_semantic": cosine})
    return candidate.model_copy(update={"signals": signals})


def scope_of(span: Span, section_id: str | None) -> CandidateScope:
    """A span in the form of the audit format."""
    return CandidateScope(
        page_start=span.page_start,
        page_end=span.page_end,
        line_start=span.line_start,
        line_end=span.line_end,
        section_id=section_id,
    )


def _wordings(units: Sequence[Unit], context: DetectorContext) -> list[Wording]:
    """What of the question's wording stands in each unit."""
    languages = context.languages
    return wordings(
        context.question.retrieval_text,
        language=context.question.language,
        passages=[
            (unit.text, languages.get(unit.span.document_id, context.profile_language)) for unit in units
        ],
    )


_WORD = re.compile(r"[^\W\d_]+")


def _is_heading(unit: Unit) -> bool:
    """Whether the unit's words are all words of its section's title."""
    if unit.section is None:
        return False
    title = {word.casefold() for word in _WORD.findall(unit.section.title)}
    return all(word[0].casefold() in title for word in _WORD.finditer(unit.text))


def _ranks_by_method(units: Sequence[Unit]) -> dict[str, dict[int, int]]:
    by_method: dict[str, dict[int, float]] = {}
    for index, unit in enumerate(units):
        for method, score in unit.scores().items():
            by_method.setdefault(method, {})[index] = score
    return {method: ranks_of(scores) for method, scores in by_method.items()}


class _CandidateBuilder:
    def __init__(
        self,
        context: DetectorContext,
        ranks: Mapping[str, Mapping[int, int]],
        wordings: Sequence[Wording],
        titles: Mapping[tuple[str, str], TitleMatch],
    ) -> None:
        self._context = context
        self._ranks = ranks
        self._wordings = wordings
        self._titles = titles
        singles = [k for k in context.question.keywords if not k.is_phrase]
        self._weights = {k.term: k.weight for k in singles}
        self._total = sum(self._weights.values()) or 1.0
        self._total_rarity = sum(context.rarity.values()) or 1.0

    def draft(self, index: int, unit: Unit) -> PoolCandidate:
        """The candidate of one unit; its RRF rank is set once all are known."""
        context = self._context
        scores = unit.scores()
        methods: list[str] = [method for method in METHODS if method in scores]
        ranks = {method: self._ranks[method][index] for method in methods}
        best = {method: _best(unit.anchors, method) for method in methods}
        span, document_id = unit.span, unit.span.document_id
        anchor = scope_of(span, unit.section_id)
        identity = candidate_id(anchor, document_id if context.profile.is_collection else None)
        matched = context.matched_in(unit.lines)
        snippet = snippet_of(unit.lines, unit.context, context)
        signals = self._signals(unit, best, matched, self._wordings[index])
        breadcrumb = unit.section.breadcrumb or unit.section.title if unit.section else None
        return PoolCandidate(
            candidate_id=identity,
            document_id=document_id,
            anchor=anchor,
            context=scope_of(_span_of_context(unit), unit.section_id),
            anchor_text=unit.text,
            anchor_lines=tuple(line.line_num for line in unit.lines),
            context_text="\n".join(line.text for line in unit.context),
            section_title=unit.section.title if unit.section else None,
            breadcrumb=breadcrumb,
            matched_keywords=matched,
            ranks=ranks,
            scores={method: scores[method] for method in methods},
            why={method: best[method].why for method in methods},
            rrf_score=rrf_score(list(ranks.values()), context.settings.rrf_k),
            rrf_rank=1,
            signals=signals,
            brief=build_brief(
                candidate_id=identity,
                methods=methods,
                breadcrumb=breadcrumb,
                matched_keywords=matched,
                snippet=snippet,
                two_term_rule=signals.two_term_rule,
            ),
        )

    def _signals(
        self, unit: Unit, best: Mapping[str, Anchor], matched: Sequence[str], wording: Wording
    ) -> CandidateSignals:
        covered = sum(self._weights.get(term, 0.0) for term in matched)
        title, rarity = self._title(unit), self._context.rarity
        meeting, pattern = best.get("cooccurrence"), best.get("pattern")
        semantic = max((a.raw or 0.0 for a in unit.anchors if a.method == "embedding"), default=None)
        bm25 = max((a.raw or 0.0 for a in unit.anchors if a.method == "bm25"), default=None)
        return CandidateSignals(
            semantic=semantic,
            bm25=bm25,
            cooccurrence=meeting.score if meeting else 0.0,
            met_groups=meeting.met_groups if meeting else False,
            met_terms=meeting.met_terms if meeting else (),
            two_term_rule=bool(meeting) and self._context.question.two_distinct_terms,
            title_match=title.kind,
            title_similarity=title.similarity,
            heading_only=_is_heading(unit),
            pattern=pattern.score if pattern else 0.0,
            pattern_kind=pattern.pattern_kind if pattern else "none",
            keyword_match=bool(matched),
            coverage=min(1.0, covered / self._total),
            idf_coverage=min(1.0, sum(rarity.get(term, 0.0) for term in matched) / self._total_rarity),
            word_coverage=wording.coverage,
            phrase_overlap=wording.phrase,
            section_depth=unit.section.level if unit.section else 0,
            has_nested_content=unit.section.has_children if unit.section else False,
        )

    def _title(self, unit: Unit) -> TitleMatch:
        if unit.section is None:
            return NO_TITLE_MATCH
        return self._titles[unit.section.document_id, unit.section.section_id]


def _best(anchors: Sequence[Anchor], method: str) -> Anchor:
    return max((a for a in anchors if a.method == method), key=lambda a: a.score)


def _span_of_context(unit: Unit) -> Span:
    first, last = unit.context[0], unit.context[-1]
    return Span(first.document_id, first.page_num, first.line_num, last.page_num, last.line_num)
