"""From units to pool candidates: ids, ranks, signals and briefs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from arbitration.aggregation import Unit
from arbitration.briefs import build_brief, snippet_of
from arbitration.contracts import CandidateScope, candidate_id
from arbitration.detectors.base import Anchor, DetectorContext, Span, span_of
from arbitration.detectors.titles import NO_TITLE_MATCH, TitleMatch, title_matches
from arbitration.expected_values import ExpectedValues
from arbitration.fusion import ranks_of, rrf_score
from arbitration.interaction import LateSignals, late_signals
from arbitration.pool import CandidateSignals, PoolCandidate
from arbitration.settings import METHODS
from arbitration.wording import Wording, wordings

_NEIGHBOUR_LINES = 4


def build_candidates(units: Sequence[Unit], context: DetectorContext) -> list[PoolCandidate]:
    """One candidate per unit, ordered by reciprocal rank fusion."""
    context.match(line for unit in units for line in unit.lines)
    sections = {(u.section.document_id, u.section.section_id): u.section for u in units if u.section}
    titles = title_matches(sections.values(), context)
    builder = _CandidateBuilder(
        context,
        _ranks_by_method(units),
        _wordings(units, context),
        titles,
        late_signals(units, context),
    )
    drafts = [builder.draft(index, unit) for index, unit in enumerate(units)]
    beside = _cosines_beside(drafts)
    ordered = sorted(drafts, key=lambda d: (-d.rrf_score, d.span.document_id, *d.span.start))
    return [
        builder.candidate(draft, rank=rank, beside=beside.get(draft.candidate_id))
        for rank, draft in enumerate(ordered, start=1)
    ]


@dataclass(frozen=True, slots=True)
class _Draft:
    """What the order of the candidates, and what stands beside each of them, follow from."""

    index: int
    unit: Unit
    span: Span
    anchor: CandidateScope
    candidate_id: str
    scores: Mapping[str, float]
    ranks: dict[str, int]
    rrf_score: float
    semantic: float | None


def _cosines_beside(drafts: Sequence[_Draft]) -> dict[str, float]:
    """For each candidate the best cosine of those that stand directly before and after it, where they have one."""
    ordered = sorted(drafts, key=lambda d: (d.span.document_id, *d.span.start))
    best: dict[str, float] = {}
    for left, right in pairwise(ordered):
        if not _beside(left.span, right.span):
            continue
        for draft, other in ((left, right), (right, left)):
            if other.semantic is not None:
                best[draft.candidate_id] = max(best.get(draft.candidate_id, other.semantic), other.semantic)
    return best


def _beside(left: Span, right: Span) -> bool:
    same_page = (left.document_id, left.page_end) == (right.document_id, right.page_start)
    return same_page and right.line_start - left.line_end <= _NEIGHBOUR_LINES


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
    """What of the question's wording stands in each unit; of several wordings the best."""
    languages = context.languages
    passages = [(unit.text, languages.get(unit.span.document_id, context.profile_language)) for unit in units]
    read = [
        wordings(text, language=language, passages=passages) for text, language in context.question.wordings
    ]
    return [
        Wording(coverage=max(w.coverage for w in each), phrase=max(w.phrase for w in each))
        for each in zip(*read, strict=True)
    ]


_WORD = re.compile(r"[^\W\d_]+")


def _is_heading(unit: Unit) -> bool:
    """Whether the unit's words are all words of its section's title."""
    if unit.section is None:
        return False
    title = _words_of_title(unit.section.title)
    return all(word[0].casefold() in title for word in _WORD.finditer(unit.text))


@lru_cache(maxsize=1024)
def _words_of_title(title: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(title))


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
        late: Sequence[LateSignals],
    ) -> None:
        self._context = context
        self._ranks = ranks
        self._wordings = wordings
        self._titles = titles
        self._late = late
        self._values = ExpectedValues.of(context.question)
        singles = [k for k in context.question.keywords if not k.is_phrase]
        self._weights = {k.term: k.weight for k in singles}
        self._total = sum(self._weights.values()) or 1.0
        self._total_rarity = sum(context.rarity.values()) or 1.0

    def draft(self, index: int, unit: Unit) -> _Draft:
        """One unit with its ranks."""
        scores, span = unit.scores(), unit.span
        ranks: dict[str, int] = {m: self._ranks[m][index] for m in METHODS if m in scores}
        anchor = scope_of(span, unit.section_id)
        return _Draft(
            index=index,
            unit=unit,
            span=span,
            anchor=anchor,
            candidate_id=candidate_id(
                anchor, span.document_id if self._context.profile.is_collection else None
            ),
            scores=scores,
            ranks=ranks,
            rrf_score=rrf_score(list(ranks.values()), self._context.settings.rrf_k),
            semantic=max((a.raw or 0.0 for a in unit.anchors if a.method == "embedding"), default=None),
        )

    def candidate(self, draft: _Draft, *, rank: int, beside: float | None) -> PoolCandidate:
        """The candidate of a draft, once the order of all is known."""
        context, unit = self._context, draft.unit
        methods = list(draft.ranks)
        best = {method: _best(unit.anchors, method) for method in methods}
        matched = context.matched_in(unit.lines)
        signals = self._signals(draft, best, matched, beside)
        breadcrumb = unit.section.breadcrumb or unit.section.title if unit.section else None
        return PoolCandidate(
            candidate_id=draft.candidate_id,
            document_id=draft.span.document_id,
            anchor=draft.anchor,
            context=scope_of(span_of(unit.context), unit.section_id),
            anchor_text=unit.text,
            anchor_lines=tuple([line.line_num for line in unit.lines]),
            context_text="\n".join([line.text for line in unit.context]),
            section_title=unit.section.title if unit.section else None,
            breadcrumb=breadcrumb,
            matched_keywords=matched,
            matched_words=self._late[draft.index].words,
            sentence_matches=self._late[draft.index].sentences,
            ranks=draft.ranks,
            scores={method: draft.scores[method] for method in methods},
            why={method: best[method].why for method in methods},
            rrf_score=draft.rrf_score,
            rrf_rank=rank,
            signals=signals,
            brief=build_brief(
                candidate_id=draft.candidate_id,
                methods=methods,
                breadcrumb=breadcrumb,
                matched_keywords=matched,
                snippet=snippet_of(unit.lines, unit.context, context),
                two_term_rule=signals.two_term_rule,
            ),
        )

    def _signals(
        self, draft: _Draft, best: Mapping[str, Anchor], matched: Sequence[str], beside: float | None
    ) -> CandidateSignals:
        unit, wording = draft.unit, self._wordings[draft.index]
        covered = sum([self._weights.get(term, 0.0) for term in matched])
        title, rarity = self._title(unit), self._context.rarity
        meeting, pattern = best.get("cooccurrence"), best.get("pattern")
        bm25 = max((a.raw or 0.0 for a in unit.anchors if a.method == "bm25"), default=None)
        return CandidateSignals(
            semantic=draft.semantic,
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
            idf_coverage=min(1.0, sum([rarity.get(term, 0.0) for term in matched]) / self._total_rarity),
            word_coverage=wording.coverage,
            phrase_overlap=wording.phrase,
            neighbour_semantic=beside,
            late=self._late[draft.index].weighted,
            late_plain=self._late[draft.index].plain,
            expected_value=self._values.signal([line.text for line in unit.lines], self._language(unit)),
            section_depth=unit.section.level if unit.section else 0,
            has_nested_content=unit.section.has_children if unit.section else False,
        )

    def _language(self, unit: Unit) -> str:
        return self._context.languages.get(unit.span.document_id, self._context.profile_language)

    def _title(self, unit: Unit) -> TitleMatch:
        if unit.section is None:
            return NO_TITLE_MATCH
        return self._titles[unit.section.document_id, unit.section.section_id]


def _best(anchors: Sequence[Anchor], method: str) -> Anchor:
    return max((a for a in anchors if a.method == method), key=lambda a: a.score)
