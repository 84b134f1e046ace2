"""What the reranker sees of a candidate: one row of numbers per candidate of a list.

The first fifteen are those of ARF, in its order (engines.md, section 2); the rest came with versions 2 to 4. All
words are compared by stem. A classifier sees one row at a time, so what a measure says beside the other candidates
of the list stands in columns of its own. A measure that no detector took is filled with the least that any candidate
of the list has: a passage outside the best fifty by cosine is at most as close as the last of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, chain, islice, pairwise
from math import inf, log1p
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from arbitration.evidence import evidence_scores
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.vocabulary import Vocabulary, WordsRead, vocabulary_of

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.intp]

FEATURE_VERSION = 4

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
    "late",
    "late_in_list",
    "late_z",
    "late_plain",
    "late_plain_in_list",
    "reciprocal_rank_late",
    "estimate",
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
    "estimate",
)
LIST_FEATURES = (
    *(f"{name}_in_list" for name in COMPARED_FEATURES),
    *(f"{name}_reciprocal_rank" for name in COMPARED_FEATURES),
)
#: What every installation measures: a model of this version reads at least these.
MEASURED_FEATURES = (*CORE_FEATURES, *ADDED_FEATURES, *LIST_FEATURES)
#: What only some measure, 0 where nobody does. They stand last, so that a model which does not name them is given the
#: columns that it does name, and no new version is needed.
OPTIONAL_FEATURES = ("cross_encoder", "cross_encoder_in_list", "reciprocal_rank_cross_encoder")
FEATURE_NAMES = (*MEASURED_FEATURES, *OPTIONAL_FEATURES)
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
_RANKED = ("bm25", "embedding", *_STRUCTURE)
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
    ``lexical`` is the index's BM25. ``late`` and ``late_plain`` are the best matches of the question's tokens, weighted
    by rarity and not (:mod:`arbitration.late_interaction`); ``estimate`` is the rules' own, in [0, 1]
    (:mod:`arbitration.evidence`). ``position`` is (page, line) of the anchor's first line.
    """

    text: str
    document_id: str = ""
    position: tuple[int, int] = (1, 1)
    title: str = ""
    breadcrumb: str = ""
    semantic: float | None = None
    semantic_score: float | None = None
    lexical: float | None = None
    late: float | None = None
    late_plain: float | None = None
    cross_encoder: float | None = None
    estimate: float = 0.0
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
    alias, keyword, domain, depth, match, title, nested, bias, *measures = _known(candidates)
    cooccurrence, pattern, rrf, estimate, length, lexical, by_lexical, by_semantic, by_structure = measures
    semantic = _filled([c.semantic for c in candidates])
    hybrid = _filled([c.semantic if c.semantic_score is None else c.semantic_score for c in candidates])
    lexical_share, semantic_share = lexical / _top(lexical), _scaled(semantic)
    late = np.array([c.late for c in candidates], dtype=np.float64)  # NaN where unknown, as the next
    by_late, late = _reciprocal_ranks(late), _at_least(late)
    late_plain = _at_least(np.array([c.late_plain for c in candidates], dtype=np.float64))
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
        late,
        _scaled(late),
        _standardised(late),
        late_plain,
        _scaled(late_plain),
        by_late,
        estimate,
    )
    measured = np.stack(columns, axis=1)
    return np.concatenate([measured, *_compared(measured[:, _COMPARED]), _optional(candidates)], axis=1)


def _optional(candidates: Sequence[FeatureInput]) -> Floats:
    """The columns of ``OPTIONAL_FEATURES``: all 0 where nobody measured them."""
    scores = np.array([c.cross_encoder for c in candidates], dtype=np.float64)  # NaN where unknown
    ranks, filled = _reciprocal_ranks(scores), _at_least(scores)
    return np.stack([filled, _scaled(filled), ranks], axis=1)


def _compared(values: Floats) -> tuple[Floats, Floats]:
    """Of each column (n, m), none negative: shares of its greatest value, and reciprocal ranks; equal values share
    the better rank, a value of 0 has none."""
    ordered = np.sort(values, axis=0)
    greatest = ordered[-1]
    not_greater = [
        up.searchsorted(column, side="right") for up, column in zip(ordered.T, values.T, strict=True)
    ]
    ranks = 1 + len(values) - np.stack(not_greater, axis=1)
    return values / np.where(greatest > 0, greatest, 1.0), np.where(values > 0, 1.0 / ranks, 0.0)


#: What is read of a candidate as it is.
_AS_IT_IS = attrgetter(
    *("alias_match", "keyword_match", "domain_type", "section_depth", "match_type", "title_similarity"),
    *("has_nested_content", "bias", "cooccurrence", "pattern", "rrf", "estimate"),
)


def _known(candidates: Sequence[FeatureInput]) -> tuple[Floats, ...]:
    """What is known of each candidate by itself: columns, in the order :func:`candidate_features` unpacks them."""
    as_it_is = np.fromiter(chain.from_iterable(map(_AS_IT_IS, candidates)), np.float64)
    ranks = np.fromiter((c.ranks.get(method, inf) for c in candidates for method in _RANKED), np.float64)
    by_lexical, by_semantic, *by_structure = 1.0 / ranks.reshape(len(candidates), -1).T
    return (
        *as_it_is.reshape(len(candidates), -1).T,
        np.array([log1p(len(candidate.text)) for candidate in candidates]),
        np.array([candidate.lexical or 0.0 for candidate in candidates]),
        by_lexical,
        by_semantic,
        np.maximum.reduce(by_structure),
    )


def pool_features(pool: CandidatePool, bias: Mapping[str, float] | None = None) -> Floats:
    """Feature rows of a pool, in the pool's order. ``bias`` maps section titles to adjustments in [-1, 1]."""
    text, language = pool.question.wording_in({document.language for document in pool.documents})
    question = QuestionFacts(text, language, pool.absence.hits, pool.absence.lines_searched)
    types = {document.document_id: document.document_type for document in pool.documents}
    estimates = evidence_scores(pool)
    inputs = [_feature_input(c, types, bias or {}, estimates[c.candidate_id]) for c in pool.candidates]
    return candidate_features(question, inputs)


def _feature_input(
    candidate: PoolCandidate, types: Mapping[str, str], bias: Mapping[str, float], estimate: float
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
        late=signals.late,
        late_plain=signals.late_plain,
        cross_encoder=signals.cross_encoder,
        estimate=estimate,
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
        crumbs = {crumb: row for row, crumb in enumerate(dict.fromkeys(c.breadcrumb for c in candidates))}
        self._size, self._lines = len(candidates), question.lines_searched
        self._hits = question.term_hits if self._lines else {}
        asked, texts, headings, hits = _read_parts(
            vocabulary, [question.text], [c.text for c in candidates], list(crumbs), list(self._hits)
        )
        self._stops = vocabulary.stop_table()
        self._asked = asked.ids
        self._first = np.sort(np.unique(self._asked, return_index=True)[1])
        self._distinct = self._asked[self._first]
        self.is_content = ~self._stops[self._distinct]
        self._numbers = np.full(len(vocabulary), -1, dtype=np.int32)
        self._numbers[self._distinct] = np.arange(len(self._distinct))
        self._lengths = texts.lengths.astype(np.float64)
        #: Where words of the question stand among the words of all texts, which they are, and in which text.
        self._held, self._terms, self._owner = self._held_in(texts)
        self._among_content = np.cumsum(~self._stops.take(texts.ids), dtype=np.int32)[self._held]
        self.counts = self._count(self._terms, self._owner, self._size)
        self._heading_row = np.array([crumbs[c.breadcrumb] for c in candidates], dtype=np.intp)
        _, terms, owner = self._held_in(headings)
        self._heading_present = (self._count(terms, owner, len(crumbs)) > 0).astype(np.float64)
        self._hit_numbers, self._hit_lengths = self._numbers[hits.ids], hits.lengths

    def _held_in(self, read: WordsRead) -> tuple[Integers, Integers, Integers]:
        """Which of the words read are the question's: their places, their numbers, and their texts."""
        numbers = self._numbers.take(read.ids)
        held = np.flatnonzero(numbers >= 0)
        owner = np.repeat(np.arange(len(read.lengths)), read.lengths)
        return held, numbers[held].astype(np.intp), owner[held]

    def _count(self, terms: Integers, owner: Integers, rows: int) -> Floats:
        width = max(1, len(self._distinct))
        flat = np.bincount(owner * width + terms, minlength=rows * width)
        return flat.reshape(rows, width)[:, : len(self._distinct)].astype(np.float64)

    @cached_property
    def present(self) -> Floats:
        """1 where candidate c holds stem t, else 0."""
        return (self.counts > 0).astype(np.float64)

    @cached_property
    def list_weights(self) -> Floats:
        """Inverse frequency of each stem in the candidate list; 0 for function words."""
        return self._inverse(self.present.sum(axis=0), self._size)

    @cached_property
    def weights(self) -> Floats:
        """Inverse frequency of each stem in the whole scope where counted, else in the list."""
        if not self._lines:
            return self.list_weights
        counted = self._counted()
        known = counted >= 0
        weights = self._inverse(np.where(known, counted, 0.0), self._lines)
        return np.where(known, weights, self.list_weights)

    def _counted(self) -> Floats:
        """Lines of the scope that hold each stem; -1 where not counted."""
        counted = np.full(len(self._distinct), -1.0)
        numbers = iter(self._hit_numbers.tolist())
        for length, hits in zip(self._hit_lengths.tolist(), self._hits.values(), strict=True):
            of_term = list(islice(numbers, length))
            if length == 1 and of_term[0] >= 0:
                counted[of_term[0]] = max(counted[of_term[0]], hits)
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
        either = np.maximum(self.present, self._heading_present[self._heading_row])
        return _portion(either @ self.weights, self.weights)

    def density(self) -> Floats:
        """Share of the text's words that are content words of the question."""
        held = self.counts[:, self.is_content].sum(axis=1)
        return np.asarray(held / np.maximum(self._lengths, 1.0))

    def bigram_overlap(self) -> Floats:
        """Weighted share of the question's pairs of neighbouring content words that are neighbours in the text,
        function words skipped on both sides."""
        asked = self._numbers[self._asked[~self._stops[self._asked]]].astype(np.intp)
        width = max(1, len(self._distinct))
        pairs = np.unique(asked[:-1] * width + asked[1:])
        if not len(pairs):
            return np.zeros(self._size)
        weights = self.weights[pairs // width] + self.weights[pairs % width]
        content = self.is_content[self._terms]
        place, terms, owner = self._among_content[content], self._terms[content], self._owner[content]
        joined = (place[1:] == place[:-1] + 1) & (owner[:-1] == owner[1:])
        found = terms[:-1][joined] * width + terms[1:][joined]
        number = np.minimum(np.searchsorted(pairs, found), len(pairs) - 1)
        is_asked = pairs[number] == found
        held = np.zeros((self._size, len(pairs)), dtype=np.bool_)
        held[owner[:-1][joined][is_asked], number[is_asked]] = True
        return _portion(held @ weights, weights)

    def longest_run(self) -> Floats:
        """Length of the longest run of words the text shares with the question, in order, as a share of the
        question; repeated words of the question count where they first stand."""
        longest = np.zeros(self._size)
        if not len(self._terms):
            return longest
        asked, owner = self._first[self._terms], self._owner
        goes_on = np.zeros(len(asked), dtype=np.bool_)
        goes_on[1:] = (
            (asked[1:] == asked[:-1] + 1)
            & (self._held[1:] == self._held[:-1] + 1)
            & (owner[1:] == owner[:-1])
        )
        index = np.arange(len(asked))
        length = index - np.maximum.accumulate(np.where(goes_on, 0, index)) + 1
        starts = np.flatnonzero(np.diff(owner, prepend=-1))
        longest[owner[starts]] = np.maximum.reduceat(length, starts)
        return longest / max(1, len(self._asked))


def _read_parts(vocabulary: Vocabulary, *parts: Sequence[str]) -> list[WordsRead]:
    """The words of each part's texts, all read in one go."""
    read = vocabulary.read(list(chain.from_iterable(parts)))
    words_before = [0, *np.cumsum(read.lengths).tolist()]
    firsts = accumulate((len(part) for part in parts), initial=0)
    return [
        WordsRead(read.ids[words_before[first] : words_before[last]], read.lengths[first:last])
        for first, last in pairwise(firsts)
    ]


def _portion(held: npt.ArrayLike, weights: Floats) -> Floats:
    total = weights.sum()
    values = np.asarray(held, dtype=np.float64)
    return values / total if total > 0 else np.zeros_like(values)


def _filled(scores: Sequence[float | None]) -> Floats:
    """Scores with the missing ones set to the least that is known, 0 when none is."""
    least = min((score for score in scores if score is not None), default=0.0)
    return np.array([least if score is None else score for score in scores])


def _at_least(values: Floats) -> Floats:
    """Unknown values (NaN) set to the least that is known, 0 when none is."""
    is_unknown = np.isnan(values)
    if is_unknown.all():
        return np.zeros_like(values)
    return np.where(is_unknown, np.nanmin(values), values)


def _reciprocal_ranks(values: Floats) -> Floats:
    """Of each value among those known, the greatest first; equal ones share the better rank, an unknown one (NaN) has
    0."""
    is_known = ~np.isnan(values)
    known = np.sort(values[is_known])
    ranks = 1 + len(known) - known.searchsorted(values, side="right")
    return np.where(is_known, 1.0 / np.maximum(ranks, 1), 0.0)


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
    """For each candidate those just before and after it in its document, at most a page away; -1 where there is
    none."""
    places = [(candidate.document_id, candidate.position) for candidate in candidates]
    before = np.full(len(candidates), -1, dtype=np.intp)
    after = np.full(len(candidates), -1, dtype=np.intp)
    for left, right in pairwise(sorted(range(len(candidates)), key=places.__getitem__)):
        (document, (page, _)), (other, (other_page, _)) = places[left], places[right]
        if document == other and abs(page - other_page) <= 1:
            before[right], after[left] = left, right
    return before, after


def _of_neighbours(values: Floats, before: Integers, after: Integers) -> Floats:
    """The greater value of the two neighbours, 0 without any."""
    padded = np.append(values, 0.0)  # index -1 reads the 0
    return np.asarray(np.maximum(padded[before], padded[after]))
