"""What detection hands to arbitration: the candidates of one question with all that is known of them.

A pool is plain data and survives a round trip through JSON, so that detection and arbitration may run in
different processes.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from arbitration.contracts import CandidateBrief, CandidateScope
from arbitration.questions.model import ParsedQuestion
from arbitration.settings import EngineSettings

MatchType = Literal["none", "partial", "exact"]
PatternKind = Literal["none", "reference", "alias", "family", "opening"]
PrecedenceKind = Literal["replaced", "version", "amended", "exception", "overridden", "ended"]


class PoolRecord(BaseModel):
    """Base of the pool's parts."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PoolDocument(PoolRecord):
    """A document that a candidate stands in. ``is_superseded``: a later version of it can be asked."""

    document_id: str
    name: str
    page_count: int
    language: str = "en"
    document_type: str = ""
    effective_date: str | None = None
    issuer: str = ""
    title: str = ""
    version_number: int = 1
    is_superseded: bool = False


class DispatchPlan(PoolRecord):
    """Which detectors run and which do not, each with its reason."""

    methods_run: tuple[str, ...]
    methods_skipped: tuple[str, ...]
    reasons: dict[str, str]

    @property
    def skipped_reasons(self) -> dict[str, str]:
        """The reasons of the skipped methods only."""
        return {method: self.reasons[method] for method in self.methods_skipped}


class DetectorOutcome(PoolRecord):
    """How one detector's run went; a failure is recorded here and stops nothing else."""

    method: str
    status: Literal["ran", "failed"]
    anchors: int = 0
    latency_ms: float = 0.0
    error: str | None = None


class AbsenceProof(PoolRecord):
    """The search of the exhaustive keyword set in titles and lines. ``by_words``: nothing was hit; ``proved``: and no
    candidate comes near by meaning either. ``nearest`` is the best cosine of a passage, where one was measured.
    """

    terms: tuple[str, ...]
    hits: dict[str, int] = Field(default_factory=dict)
    titles_hit: int = 0
    titles_searched: int = 0
    lines_searched: int = 0
    by_words: bool = False
    nearest: float | None = None
    proved: bool = False
    statement: str | None = None


class WordMatch(PoolRecord):
    """A word of the question and the word of the candidate that is nearest to it in meaning: the same word or
    another. ``cosine`` in [-1, 1]; ``weight`` is the word's share of the score, 0 to 1."""

    asked: str
    met: str
    cosine: float
    weight: float


class CandidateSignals(PoolRecord):
    """What the detectors measured about a candidate; ``None`` = that detector did not see it.

    ``semantic`` is a cosine; ``bm25`` unbounded above 0; ``cooccurrence`` the best line's score;
    ``coverage`` the weighted share of the question's keywords in the anchor, ``idf_coverage`` the same with each
    keyword weighing as much as it is rare in the documents, ``word_coverage`` that of all content words of the
    question by their rarity in the pool and ``phrase_overlap`` the share of a short question's word pairs, all 0
    to 1 (:mod:`arbitration.wording`); ``neighbour_semantic`` the best cosine of the candidates beside it;
    ``title_similarity`` the Jaccard index of question and title stems. ``heading_only``: the anchor holds nothing
    beside its section's title, so that a matching title says where to look and nothing more. ``late`` is the
    idf-weighted best match of the question's tokens and ``late_plain`` the mean of the best matches
    (:mod:`arbitration.late_interaction`), both cosines. ``expected_value``: the share of the question's words in the
    sentence that holds a value of the kind asked for, such as a duration (:mod:`arbitration.expected_values`), 0 to 1;
    ``None`` also where no value is asked for. ``cross_encoder`` is the score of a model that reads question and passage
    together, 0 to 1, where one is configured (:mod:`arbitration.cross_encoding`).
    """

    semantic: float | None = None
    bm25: float | None = None
    cooccurrence: float = 0.0
    met_groups: bool = False
    met_terms: tuple[str, ...] = ()
    two_term_rule: bool = False
    title_match: MatchType = "none"
    title_similarity: float = 0.0
    heading_only: bool = False
    pattern: float = 0.0
    pattern_kind: PatternKind = "none"
    keyword_match: bool = False
    coverage: float = 0.0
    idf_coverage: float = 0.0
    word_coverage: float = 0.0
    phrase_overlap: float = 0.0
    neighbour_semantic: float | None = None
    late: float | None = None
    late_plain: float | None = None
    cross_encoder: float | None = None
    expected_value: float | None = None
    section_depth: int = 0
    has_nested_content: bool = False


class PoolCandidate(PoolRecord):
    """One candidate: where it stands, what it says, and who found it why. ``sentence_matches`` are the idf-weighted
    best matches of its sentences (:func:`arbitration.sentences.sentences_of`), empty without vectors of tokens."""

    candidate_id: str
    document_id: str
    anchor: CandidateScope
    context: CandidateScope
    anchor_text: str  # one line per line
    anchor_lines: tuple[int, ...]  # line numbers of those lines
    context_text: str
    section_title: str | None = None
    breadcrumb: str | None = None
    matched_keywords: tuple[str, ...] = ()
    matched_words: tuple[WordMatch, ...] = ()
    sentence_matches: tuple[float, ...] = ()
    ranks: dict[str, int]
    scores: dict[str, float]
    why: dict[str, str]
    rrf_score: float
    rrf_rank: int
    signals: CandidateSignals
    brief: CandidateBrief

    @property
    def methods(self) -> list[str]:
        """The detectors that found it, in the order they are run."""
        return list(self.ranks)


class Precedence(PoolRecord):
    """Of two candidates on one matter the one that prevails, and why: a text in force over the one that it replaces,
    an exception over its rule. ``in_force_id`` is ``None`` where a text is over and nothing in the pool follows it.
    The reasons are for people, in the question's language. The names are the titles of the two documents, or of their
    sections where one document is asked; ``since`` is the day from which the text in force applies, as it is written,
    and empty where nothing says it."""

    in_force_id: str | None
    replaced_id: str
    kind: PrecedenceKind
    reason: str
    in_force_reason: str = ""
    in_force_name: str = ""
    replaced_name: str = ""
    since: str = ""


class CandidatePool(PoolRecord):
    """Everything one question's detection found."""

    doc_id: str
    is_collection: bool
    documents: tuple[PoolDocument, ...]
    question: ParsedQuestion
    plan: DispatchPlan
    outcomes: tuple[DetectorOutcome, ...]
    absence: AbsenceProof
    candidates: tuple[PoolCandidate, ...]
    settings: EngineSettings
    embedding_space: str | None = None
    cross_encoder: str | None = None  # the model that scored candidates, where one did
    precedence: tuple[Precedence, ...] = ()
    notes: tuple[str, ...] = ()
    latency_ms: float = 0.0

    def document(self, document_id: str) -> PoolDocument | None:
        """The document of a candidate."""
        return self._document_by_id.get(document_id)

    def candidate(self, candidate_id: str) -> PoolCandidate | None:
        """The candidate with this id."""
        return self._by_id.get(candidate_id)

    @cached_property
    def _document_by_id(self) -> dict[str, PoolDocument]:
        """The first of each id: a question of a collection may name a hundred, and each of its candidates asks."""
        return {document.document_id: document for document in reversed(self.documents)}

    @cached_property
    def _by_id(self) -> dict[str, PoolCandidate]:
        """The first of each id, as there are pools of tens of candidates that are asked for each."""
        return {candidate.candidate_id: candidate for candidate in reversed(self.candidates)}
