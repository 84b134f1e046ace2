"""What the reranker sees of a candidate: one row of numbers per candidate of a list.

The first fifteen are those of ARF, in its order (engines.md, section 2); the rest came with versions 2 and 3. All
words are compared by stem. A classifier sees one row at a time, so what a measure says beside the other candidates
of the list stands in columns of its own. A measure that no detector took is filled with the least that any candidate
of the list has: a passage outside the best fifty by cosine is at most as close as the last of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import log1p

import numpy as np
import numpy.typing as npt

from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.vocabulary import Ids, vocabulary_of

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.intp]

FEATURE_VERSION = 3

CORE_FEATURES = (
    "semantic_score",
    "bm25_score",
    "alias_match",
    "keyword_match",
    "domain_type",
    "document_length",
    "query_length",
    "section_depth",
    "embedding_cosine_similarity",
    "match_type",
    "score_gap_from_top",
    "query_term_coverage",
    "title_similarity",
    "has_nested_content",
    "bias_adjustment",
)
ADDED_FEATURES = (
    "idf_coverage",
    "list_idf_coverage",
    "content_coverage",
    "bigram_overlap",
    "longest_run",
    "term_density",
    "lexical_score",
    "lexical_in_list",
    "lexical_z",
    "semantic_in_list",
    "semantic_z",
    "reciprocal_rank_lexical",
    "reciprocal_rank_semantic",
    "reciprocal_rank_structure",
    "rrf_in_list",
    "cooccurrence_in_list",
    "named_by_pattern",
    "heading_coverage",
    "text_or_heading_coverage",
    "document_share",
    "section_share",
    "neighbour_lexical",
    "neighbour_semantic",
    "bm25_flat",
    "bm25_steep",
)
#: Measures whose value as a share of the list's best, and whose reciprocal rank in the list, are features too.
COMPARED_FEATURES = (
    "bm25_score",
    "bm25_flat",
    "bm25_steep",
    "document_length",
    "query_term_coverage",
    "title_similarity",
    "idf_coverage",
    "list_idf_coverage",
    "bigram_overlap",
    "longest_run",
    "term_density",
    "heading_coverage",
    "text_or_heading_coverage",
)
LIST_FEATURES = (
    *(f"{name}_in_list" for name in COMPARED_FEATURES),
    *(f"{name}_reciprocal_rank" for name in COMPARED_FEATURES),
)
FEATURE_NAMES = (*CORE_FEATURES, *ADDED_FEATURES, *LIST_FEATURES)
_COMPARED = [FEATURE_NAMES.index(name) for name in COMPARED_FEATURES]

BM25_K1, BM25_B = 1.5, 0.75
#: Okapi parameters (k1, b) that hardly count repetition and length, and that count length almost in full.
BM25_FLAT, BM25_STEEP = (0.9, 0.3), (1.5, 0.9)

#: Codes of ``domain_type``; a type that is not listed is 0, as is an unknown one.
DOMAIN_TYPES = {
    "contract": 1,
    "policy": 2,
    "regulation": 3,
    "statute": 4,
    "filing": 5,
    "report": 6,
    "standard": 7,
    "guidance": 8,
}
MATCH_TYPES = {"none": 0, "partial": 1, "exact": 2}
_STRUCTURE = ("toc", "pattern", "cooccurrence")
_SEPARATOR = " › "


@dataclass(frozen=True, slots=True)
class QuestionFacts:
    """The question's side. ``term_hits`` says in how many of ``lines_searched`` lines of the whole scope a word
    stands, where that was counted; words without a count are weighed by the candidate list."""

    text: str
    language: str = "en"
    term_hits: Mapping[str, int] = field(default_factory=dict)
    lines_searched: int = 0


@dataclass(frozen=True, slots=True)
class FeatureInput:
    """What is known of one candidate; ``None`` where no detector measured it.

    ``semantic`` is the bare cosine, ``semantic_score`` the detector's score (raised where a title matches);
    ``lexical`` is the index's BM25. ``position`` is (page, line) of the anchor's first line.
    """

    text: str
    document_id: str = ""
    position: tuple[int, int] = (1, 1)
    title: str = ""
    breadcrumb: str = ""
    semantic: float | None = None
    semantic_score: float | None = None
    lexical: float | None = None
    cooccurrence: float = 0.0
    pattern: float = 0.0
    ranks: Mapping[str, int] = field(default_factory=dict)
    rrf: float = 0.0
    alias_match: bool = False
    keyword_match: bool = False
    domain_type: int = 0
    section_depth: int = 0
    match_type: int = 0
    title_similarity: float = 0.0
    has_nested_content: bool = False
    bias: float = 0.0


def candidate_features(question: QuestionFacts, candidates: Sequence[FeatureInput]) -> Floats:
    """Feature rows in the order of ``candidates``; shape (n, len(FEATURE_NAMES)), finite."""
    if not candidates:
        return np.zeros((0, len(FEATURE_NAMES)))
    words = _WordTable(question, candidates)
    facts = np.array([_facts(candidate) for candidate in candidates], dtype=np.float64)
    alias, keyword, domain, length, depth, match, title, nested, bias = facts[:, :9].T
    lexical, cooccurrence, pattern, rrf, by_lexical, by_semantic, by_structure = facts[:, 9:].T
    semantic = _filled([c.semantic for c in candidates])
    hybrid = _filled([c.semantic if c.semantic_score is None else c.semantic_score for c in candidates])
    lexical_share, semantic_share = lexical / _top(lexical), _scaled(semantic)
    before, after = _neighbours(candidates)
    columns = (
        hybrid,
        words.bm25(),
        alias,
        keyword,
        domain,
        length,
        np.full(len(candidates), float(len(question.text))),
        depth,
        semantic,
        match,
        hybrid.max() - hybrid,
        words.coverage(),
        title,
        nested,
        bias,
        words.weighted_coverage(words.weights),
        words.weighted_coverage(words.list_weights),
        words.weighted_coverage(words.is_content.astype(np.float64)),
        words.bigram_overlap(),
        words.longest_run(),
        words.density(),
        lexical,
        lexical_share,
        _standardised(lexical),
        semantic_share,
        _standardised(semantic),
        by_lexical,
        by_semantic,
        by_structure,
        rrf / _top(rrf),
        cooccurrence / _top(cooccurrence),
        pattern,
        words.heading_coverage(),
        words.text_or_heading_coverage(),
        _group_share([c.document_id for c in candidates], rrf),
        _group_share([(c.document_id, c.breadcrumb.rpartition(_SEPARATOR)[0]) for c in candidates], rrf),
        _of_neighbours(lexical_share, before, after),
        _of_neighbours(semantic_share, before, after),
        words.bm25(*BM25_FLAT),
        words.bm25(*BM25_STEEP),
    )
    measured = np.stack(columns, axis=1)
    return np.concatenate([measured, *_compared(measured[:, _COMPARED])], axis=1)


def _compared(values: Floats) -> tuple[Floats, Floats]:
    """Of each column (n, m), none negative: shares of its greatest value, and reciprocal ranks; equal values share
    the better rank, a value of 0 has none."""
    greatest = values.max(axis=0)
    ranks = 1 + (values[None, :, :] > values[:, None, :]).sum(axis=1)
    return values / np.where(greatest > 0, greatest, 1.0), np.where(values > 0, 1.0 / ranks, 0.0)


def _facts(candidate: FeatureInput) -> tuple[float, ...]:
    """What is known of a candidate by itself, in the order :func:`candidate_features` unpacks it."""
    ranks = candidate.ranks
    return (
        candidate.alias_match,
        candidate.keyword_match,
        candidate.domain_type,
        log1p(len(candidate.text)),
        candidate.section_depth,
        candidate.match_type,
        candidate.title_similarity,
        candidate.has_nested_content,
        candidate.bias,
        candidate.lexical or 0.0,
        candidate.cooccurrence,
        candidate.pattern,
        candidate.rrf,
        1.0 / ranks["bm25"] if "bm25" in ranks else 0.0,
        1.0 / ranks["embedding"] if "embedding" in ranks else 0.0,
        max([1.0 / ranks[method] for method in _STRUCTURE if method in ranks], default=0.0),
    )


def pool_features(pool: CandidatePool, bias: Mapping[str, float] | None = None) -> Floats:
    """Feature rows of a pool, in the pool's order. ``bias`` maps section titles to adjustments in [-1, 1]."""
    question = QuestionFacts(
        text=pool.question.text,
        language=pool.question.language,
        term_hits=pool.absence.hits,
        lines_searched=pool.absence.lines_searched,
    )
    types = {document.document_id: document.document_type for document in pool.documents}
    return candidate_features(question, [_feature_input(c, types, bias or {}) for c in pool.candidates])


def _feature_input(
    candidate: PoolCandidate, types: Mapping[str, str], bias: Mapping[str, float]
) -> FeatureInput:
    signals = candidate.signals
    title = candidate.section_title or ""
    return FeatureInput(
        text=candidate.anchor_text,
        document_id=candidate.document_id,
        position=(candidate.anchor.page_start, candidate.anchor.line_start),
        title=title,
        breadcrumb=candidate.breadcrumb or title,
        semantic=signals.semantic,
        semantic_score=candidate.scores.get("embedding"),
        lexical=signals.bm25,
        cooccurrence=signals.cooccurrence,
        pattern=signals.pattern,
        ranks=candidate.ranks,
        rrf=candidate.rrf_score,
        alias_match=signals.pattern_kind == "alias",
        keyword_match=signals.keyword_match,
        domain_type=DOMAIN_TYPES.get(types.get(candidate.document_id, "").lower(), 0),
        section_depth=signals.section_depth,
        match_type=MATCH_TYPES[signals.title_match],
        title_similarity=signals.title_similarity,
        has_nested_content=signals.has_nested_content,
        bias=bias.get(title, 0.0),
    )


class _WordTable:
    """Which of the question's stems stand where in the candidates' texts and headings.

    ``counts[c, t]`` is how often stem t stands in candidate c. Stems are numbered in the order they first occur
    in the question.
    """

    def __init__(self, question: QuestionFacts, candidates: Sequence[FeatureInput]) -> None:
        vocabulary = vocabulary_of(question.language)
        asked = vocabulary.ids(question.text)
        crumbs = list(dict.fromkeys(candidate.breadcrumb for candidate in candidates))
        read = vocabulary.ids_of_each([*(candidate.text for candidate in candidates), *crumbs])
        texts, headings = read[: len(candidates)], dict(zip(crumbs, read[len(candidates) :], strict=True))
        self._size = len(candidates)
        self._distinct = asked[np.sort(np.unique(asked, return_index=True)[1])]
        self._stops = vocabulary.stop_table()
        self._number = np.full(len(vocabulary), -1, dtype=np.intp)
        self._number[self._distinct] = np.arange(len(self._distinct))
        self._asked = asked
        self._lengths = np.array([len(ids) for ids in texts], dtype=np.float64)
        self._tokens: Ids = np.concatenate(texts) if texts else np.zeros(0, np.int32)
        self._owner = np.repeat(np.arange(self._size), self._lengths.astype(np.intp))
        self._terms: Integers = self._number[self._tokens]
        self.counts = self._count(self._terms, self._owner, self._size)
        self.is_content = ~self._stops[self._distinct]
        self._question, self._vocabulary = question, vocabulary
        order = {crumb: row for row, crumb in enumerate(headings)}
        self._heading_row = np.array([order[c.breadcrumb] for c in candidates], dtype=np.intp)
        self._heading_present = self._presence_by_row(list(headings.values()))

    def _count(self, terms: Integers, owner: Integers, rows: int) -> Floats:
        width = max(1, len(self._distinct))
        held = terms >= 0
        flat = np.bincount(owner[held] * width + terms[held], minlength=rows * width)
        return flat.reshape(rows, width)[:, : len(self._distinct)].astype(np.float64)

    def _presence_by_row(self, rows: Sequence[Ids]) -> npt.NDArray[np.bool_]:
        owner = np.repeat(np.arange(len(rows)), [len(ids) for ids in rows])
        tokens = np.concatenate(rows) if rows else np.zeros(0, np.int32)
        return self._count(self._number[tokens], owner, len(rows)) > 0

    @cached_property
    def present(self) -> npt.NDArray[np.bool_]:
        """Whether candidate c holds stem t."""
        return self.counts > 0

    @cached_property
    def list_weights(self) -> Floats:
        """Inverse frequency of each stem in the candidate list; 0 for function words."""
        frequency = self.present.sum(axis=0)
        return self._inverse(frequency.astype(np.float64), self._size)

    @cached_property
    def weights(self) -> Floats:
        """Inverse frequency of each stem in the whole scope where counted, else in the list."""
        total = self._question.lines_searched
        if not total:
            return self.list_weights
        counted = self._counted()
        known = counted >= 0
        weights = self._inverse(np.where(known, counted, 0.0), total)
        return np.where(known, weights, self.list_weights)

    def _counted(self) -> Floats:
        """Lines of the scope that hold each stem; -1 where not counted."""
        counted = np.full(len(self._distinct), -1.0)
        for term, hits in self._question.term_hits.items():
            ids = self._vocabulary.ids(term)
            number = self._number[ids[0]] if len(ids) == 1 and ids[0] < len(self._number) else -1
            if number >= 0:
                counted[number] = max(counted[number], hits)
        return counted

    def _inverse(self, frequency: Floats, total: int) -> Floats:
        inverse = np.log1p((max(total, 1) - np.minimum(frequency, total) + 0.5) / (frequency + 0.5))
        return np.where(self.is_content, inverse, 0.0)

    def bm25(self, k1: float = BM25_K1, b: float = BM25_B) -> Floats:
        """Okapi BM25 of the text for the question's content stems; average length over the list."""
        average = self._lengths.mean() or 1.0
        norm = k1 * (1 - b + b * self._lengths / average)
        saturated = self.counts * (k1 + 1) / (self.counts + norm[:, None])
        return np.asarray(saturated @ self.weights)

    def coverage(self) -> Floats:
        """Share of the question's distinct stems, function words included, that the text holds."""
        return np.asarray(self.present.mean(axis=1)) if len(self._distinct) else np.zeros(self._size)

    def weighted_coverage(self, weights: Floats) -> Floats:
        """Share of the summed weights that the text holds, in [0, 1]."""
        return _portion(self.present @ weights, weights)

    def heading_coverage(self) -> Floats:
        """Weighted share of the question's stems in the section's titles, from the top down."""
        return _portion((self._heading_present @ self.weights)[self._heading_row], self.weights)

    def text_or_heading_coverage(self) -> Floats:
        """Weighted share of the question's stems in the text or in the titles above it."""
        either = self.present | self._heading_present[self._heading_row]
        return _portion(either @ self.weights, self.weights)

    def density(self) -> Floats:
        """Share of the text's words that are content words of the question."""
        held = self.counts[:, self.is_content].sum(axis=1)
        return np.asarray(held / np.maximum(self._lengths, 1.0))

    def bigram_overlap(self) -> Floats:
        """Weighted share of the question's pairs of neighbouring content words that are neighbours in the text,
        function words skipped on both sides."""
        asked = self._number[self._asked[~self._stops[self._asked]]]
        width = max(1, len(self._distinct))
        pairs = np.unique(asked[:-1] * width + asked[1:])
        if not len(pairs):
            return np.zeros(self._size)
        weights = self.weights[pairs // width] + self.weights[pairs % width]
        content = ~self._stops[self._tokens]
        terms, owner = self._terms[content], self._owner[content]
        joined = (terms[:-1] >= 0) & (terms[1:] >= 0) & (owner[:-1] == owner[1:])
        found = terms[:-1][joined] * width + terms[1:][joined]
        place = np.minimum(np.searchsorted(pairs, found), len(pairs) - 1)
        is_asked = pairs[place] == found
        held = np.zeros((self._size, len(pairs)), dtype=np.bool_)
        held[owner[:-1][joined][is_asked], place[is_asked]] = True
        return _portion(held @ weights, weights)

    def longest_run(self) -> Floats:
        """Length of the longest run of words the text shares with the question, in order, as a share of the
        question; repeated words of the question count where they first stand."""
        first_place = np.full(len(self._distinct) + 1, -9, dtype=np.intp)
        first_place[: len(self._distinct)] = np.sort(np.unique(self._asked, return_index=True)[1])
        place = first_place[self._terms]  # -1 (no term) reads the sentinel at the end
        longest = np.zeros(self._size)
        if not len(place):
            return longest
        goes_on = np.zeros(len(place), dtype=np.bool_)
        goes_on[1:] = (
            (place[1:] == place[:-1] + 1) & (place[:-1] >= 0) & (self._owner[1:] == self._owner[:-1])
        )
        index = np.arange(len(place))
        start = np.maximum.accumulate(np.where(goes_on, 0, index))
        length = np.where(place >= 0, index - start + 1, 0)
        filled = np.flatnonzero(self._lengths)
        starts = (np.cumsum(self._lengths) - self._lengths).astype(np.intp)[filled]
        longest[filled] = np.maximum.reduceat(length, starts)
        return longest / max(1, len(self._asked))


def _portion(held: npt.ArrayLike, weights: Floats) -> Floats:
    total = weights.sum()
    values = np.asarray(held, dtype=np.float64)
    return values / total if total > 0 else np.zeros_like(values)


def _filled(scores: Sequence[float | None]) -> Floats:
    """Scores with the missing ones set to the least that is known, 0 when none is."""
    least = min((score for score in scores if score is not None), default=0.0)
    return np.array([least if score is None else score for score in scores])


def _top(values: Floats) -> float:
    top = float(values.max())
    return top if top > 0 else 1.0


def _scaled(values: Floats) -> Floats:
    """0 for the least of the list, 1 for the greatest; all 0 when they are equal."""
    spread = float(np.ptp(values))
    return (values - values.min()) / spread if spread > 0 else np.zeros_like(values)


def _standardised(values: Floats) -> Floats:
    """Distance from the list's mean in standard deviations; all 0 when they are equal."""
    deviation = float(values.std())
    return (values - values.mean()) / deviation if deviation > 1e-12 else np.zeros_like(values)


def _group_share(keys: Sequence[object], mass: Floats) -> Floats:
    """Reciprocal-rank mass of the candidate's group without its own, as a share of the heaviest group."""
    numbers: dict[object, int] = {}
    group = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)
    total = np.bincount(group, mass).astype(np.float64)
    return np.asarray((total[group] - mass) / _top(total))


def _neighbours(candidates: Sequence[FeatureInput]) -> tuple[Integers, Integers]:
    """For each candidate those just before and after it, at most a page away; -1 where there is none."""
    order = sorted(range(len(candidates)), key=lambda i: (candidates[i].document_id, candidates[i].position))
    before = np.full(len(candidates), -1, dtype=np.intp)
    after = np.full(len(candidates), -1, dtype=np.intp)
    for left, right in pairwise(order):
        if _are_near(candidates[left], candidates[right]):
            before[right], after[left] = left, right
    return before, after


def _are_near(one: FeatureInput, other: FeatureInput) -> bool:
    """Whether two candidates stand in one document, at most a page apart."""
    return one.document_id == other.document_id and abs(one.position[0] - other.position[0]) <= 1


def _of_neighbours(values: Floats, before: Integers, after: Integers) -> Floats:
    """The greater value of the two neighbours, 0 without any."""
    padded = np.append(values, 0.0)  # index -1 reads the 0
    return np.asarray(np.maximum(padded[before], padded[after]))
