"""Everything that changes what the engine does with a question, in one frozen and hashable record."""

from __future__ import annotations

import hashlib
from typing import Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field

MethodName = Literal["toc", "cooccurrence", "bm25", "pattern", "embedding", "toc_reasoning", "references"]
METHODS: tuple[MethodName, ...] = get_args(MethodName)


class Bars(NamedTuple):
    """Accepted at or above ``accept``, rejected at or below ``reject``, uncertain between them. An accepted candidate
    is primary from ``named`` on where the question names its place (rule 1), and from ``primary`` on where keywords
    meet (rule 2)."""

    accept: float
    reject: float
    primary: float
    named: float


class EngineSettings(BaseModel):
    """Limits, thresholds and choices of one run. Anything here is part of every cache key.

    Words and lines are counted as a reader counts them; cosines are in [-1, 1], probabilities in [0, 1].
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    # dispatch
    forced_methods: tuple[MethodName, ...] = ()
    second_opinions: tuple[MethodName, ...] = ("bm25", "embedding")
    concurrent: bool = True
    toc_reasoning: bool = True
    toc_reasoning_sections: int = Field(default=40, ge=1)  # a document with fewer is read by its titles alone
    follow_references: bool = False

    # what lawyers do; each can be switched off to see what it is worth
    precedence: bool = True
    definitions: bool = True
    references: bool = True

    # detection
    top_k: int = Field(default=40, ge=1, le=500)
    title_limit: int = Field(default=40, ge=1)
    line_limit: int = Field(default=2000, ge=1)
    cooccurrence_unit: Literal["line", "sentence", "paragraph"] = "sentence"
    title_bonus: float = Field(default=1.5, ge=1.0)
    hybrid_bonus: float = Field(default=1.3, ge=1.0)

    # aggregation
    anchor_words: int = Field(default=120, ge=20)
    context_words: int = Field(default=400, ge=40)
    context_margin_lines: int = Field(default=6, ge=0)
    section_chunks: int = Field(default=12, ge=1)
    pool_size: int = Field(default=200, ge=1)
    rrf_k: int = Field(default=60, ge=1)
    prefilter: int = Field(default=200, ge=1)

    # judging: the bars for a deployed model whose threshold is one half (``bars``), and those for the rules' own,
    # humbler estimate
    accept: float = Field(default=0.60, ge=0.0, le=1.0)
    reject: float = Field(default=0.40, ge=0.0, le=1.0)
    #: For a model that learned from other people's documents: what it doubts goes to people sooner.
    borrowed_reject: float = Field(default=0.20, ge=0.0, le=1.0)
    rules_accept: float = Field(default=0.25, ge=0.0, le=1.0)
    rules_reject: float = Field(default=0.08, ge=0.0, le=1.0)
    rules_primary: float = Field(default=0.45, ge=0.0, le=1.0)
    rules_named: float = Field(default=0.40, ge=0.0, le=1.0)

    #: What late interaction puts near the question is discarded by no bar: so many of the first, and up to the limit
    #: those whose estimate is this share of the best. As a mean over the sets at most one question in ten loses its
    #: evidence unseen with these (docs/evaluation.md).
    nearest_kept: int = Field(default=3, ge=0)
    near_share: float = Field(default=0.2, ge=0.0, le=1.0)
    near_limit: int = Field(default=12, ge=0)

    # language models
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    timeout_s: float = Field(default=60.0, gt=0.0)
    max_output_tokens: int = Field(default=8192, ge=64)  # the most that any call may write

    # answers
    answer_sentences: int = Field(default=4, ge=1)

    def bars(self, *, threshold: float | None, is_borrowed: bool = False) -> Bars:
        """The bars for a deployed model's probability, or (``None``) for the rules' estimate.

        ``threshold`` in (0, 1) is where validation drew the model's line between evidence and the rest. Evidence is
        rare among candidates, so a calibrated model's line lies well below one half; the bars keep their distance
        from it in odds (Elkan 2001, "The foundations of cost-sensitive learning", theorem 2), and are themselves at
        one half. A borrowed model, which learned from none of the installation's own labels, rejects less by itself.
        """
        if threshold is None:
            return Bars(self.rules_accept, self.rules_reject, self.rules_primary, self.rules_named)
        reject = min(self.reject, self.borrowed_reject) if is_borrowed else self.reject
        return Bars(_moved(self.accept, threshold), _moved(reject, threshold), primary=0.0, named=0.0)

    def output_tokens(self, wanted: int) -> int:
        """The tokens that a call which needs ``wanted`` may write."""
        return min(wanted, self.max_output_tokens)

    def digest(self) -> str:
        """SHA-256 over all values, for cache keys."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


def _moved(bar: float, threshold: float) -> float:
    """The bar whose odds are ``bar``'s times the threshold's."""
    line = min(max(threshold, 1e-6), 1 - 1e-6)
    return bar * line / (bar * line + (1 - bar) * (1 - line))
