"""The reranker's features in words, for receipts."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

_WORDS = {
    "semantic_score": gettext_lazy("Closeness in meaning, section title included"),
    "bm25_score": gettext_lazy("Word match (BM25)"),
    "alias_match": gettext_lazy("Match of a known alias"),
    "keyword_match": gettext_lazy("Holds a keyword"),
    "domain_type": gettext_lazy("Type of the document"),
    "document_length": gettext_lazy("Length of the passage"),
    "query_length": gettext_lazy("Length of the question"),
    "section_depth": gettext_lazy("Depth of the section"),
    "embedding_cosine_similarity": gettext_lazy("Closeness in meaning"),
    "match_type": gettext_lazy("Match of the section title"),
    "score_gap_from_top": gettext_lazy("Distance from the best passage"),
    "query_term_coverage": gettext_lazy("Share of the question's words"),
    "title_similarity": gettext_lazy("Similarity of title and question"),
    "has_nested_content": gettext_lazy("Section has subsections"),
    "bias_adjustment": gettext_lazy("Adjustment for the section"),
    "idf_coverage": gettext_lazy("Share of the question's rare words"),
    "list_idf_coverage": gettext_lazy("Share of words that are rare among these passages"),
    "content_coverage": gettext_lazy("Share of the question's content words"),
    "bigram_overlap": gettext_lazy("Shared word pairs"),
    "longest_run": gettext_lazy("Longest shared phrase"),
    "term_density": gettext_lazy("Density of the question's words"),
    "lexical_score": gettext_lazy("Word match of the search index"),
    "lexical_in_list": gettext_lazy("Word match as a share of the best"),
    "lexical_z": gettext_lazy("Word match against the average"),
    "semantic_in_list": gettext_lazy("Closeness in meaning as a share of the best"),
    "semantic_z": gettext_lazy("Closeness in meaning against the average"),
    "reciprocal_rank_lexical": gettext_lazy("Rank by word match"),
    "reciprocal_rank_semantic": gettext_lazy("Rank by meaning"),
    "reciprocal_rank_structure": gettext_lazy("Rank by title, pattern and keywords that meet"),
    "rrf_in_list": gettext_lazy("Fused rank as a share of the best"),
    "cooccurrence_in_list": gettext_lazy("Keywords that meet, as a share of the best"),
    "named_by_pattern": gettext_lazy("Named by the question"),
    "heading_coverage": gettext_lazy("Question words in the headings"),
    "text_or_heading_coverage": gettext_lazy("Question words in text or headings"),
    "document_share": gettext_lazy("Share of the passages from this document"),
    "section_share": gettext_lazy("Share of the passages from this section"),
    "neighbour_lexical": gettext_lazy("Word match of the passages beside it"),
    "neighbour_semantic": gettext_lazy("Closeness in meaning of the passages beside it"),
    "bm25_flat": gettext_lazy("Word match, length ignored"),
    "bm25_steep": gettext_lazy("Word match, length counted in full"),
    "late": gettext_lazy("Match word by word, rare words first"),
    "late_in_list": gettext_lazy("Match word by word as a share of the best"),
    "late_z": gettext_lazy("Match word by word against the average"),
    "late_plain": gettext_lazy("Match word by word, all words alike"),
    "late_plain_in_list": gettext_lazy("Match word by word, all words alike, as a share of the best"),
    "reciprocal_rank_late": gettext_lazy("Rank by match word by word"),
    "estimate": gettext_lazy("Estimate of the rules"),
    "cross_encoder": gettext_lazy("Score of the cross-encoder"),
    "cross_encoder_in_list": gettext_lazy("Score of the cross-encoder as a share of the best"),
    "reciprocal_rank_cross_encoder": gettext_lazy("Rank by the cross-encoder"),
}
_SHARE, _RANK = "_in_list", "_reciprocal_rank"


def feature_words(name: str) -> str:
    """A feature in words, or its own name."""
    if name in _WORDS:
        return str(_WORDS[name])
    if name.endswith(_SHARE) and (base := name.removesuffix(_SHARE)) in _WORDS:
        return _("%(feature)s: share of the best") % {"feature": _WORDS[base]}
    if name.endswith(_RANK) and (base := name.removesuffix(_RANK)) in _WORDS:
        return _("%(feature)s: rank, 1 for the first") % {"feature": _WORDS[base]}
    return name


def features_in_words(features: Mapping[str, float] | None) -> list[tuple[str, float]]:
    """Every feature with its value, in the order of the model."""
    return [(feature_words(name), value) for name, value in _ordered(features or {})]


def _ordered(features: Mapping[str, float]) -> list[tuple[str, float]]:
    """Features in the order above, because the database has no order."""
    places = {name: place for place, name in enumerate(_WORDS)}
    return sorted(features.items(), key=lambda pair: (places.get(pair[0], len(places)), pair[0]))
