"""Stage one: parse, dispatch, detect, aggregate. A question in, a pool of candidates out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import islice

from arbitration.absence import exhaustive_terms, prove_absence
from arbitration.aggregation import aggregate
from arbitration.candidates import build_candidates
from arbitration.clock import SystemClock
from arbitration.cross_encoding import with_cross_scores
from arbitration.definitions import definitions_of
from arbitration.detectors.base import Anchor, Detector, DetectorContext, StoreSession
from arbitration.detectors.cooccurrence import CooccurrenceDetector
from arbitration.detectors.embedding import EmbeddingDetector, nearest_passages
from arbitration.detectors.lexical import LexicalDetector
from arbitration.detectors.patterns import PatternDetector
from arbitration.detectors.titles import TitleDetector
from arbitration.detectors.toc_reasoning import TocReasoningDetector
from arbitration.dispatcher import DispatchFacts, decide
from arbitration.following import METHOD as FOLLOWING
from arbitration.following import followed_references, operative_references
from arbitration.pool import (
    AbsenceProof,
    CandidatePool,
    DetectorOutcome,
    PoolCandidate,
    PoolDocument,
    Precedence,
)
from arbitration.precedence.search import find_precedence
from arbitration.protocols import (
    CandidateStore,
    ChatModel,
    Clock,
    CrossEncoder,
    Embedder,
    NullProgress,
    Progress,
    ScopeProfile,
)
from arbitration.questions.dictionary import Dictionary
from arbitration.questions.model import ParsedQuestion
from arbitration.questions.parser import parse_question
from arbitration.settings import EngineSettings, MethodName

DETECTORS: tuple[Detector, ...] = (
    TitleDetector(),
    CooccurrenceDetector(),
    LexicalDetector(),
    PatternDetector(),
    EmbeddingDetector(),
    TocReasoningDetector(),
)
#: One place in so many of a pool that is cut is reserved for documents that would have none.
RESERVED = 10


@cache
def _shared_executor() -> Executor:
    """Long-lived threads, so that a store's connections per thread are made once."""
    return ThreadPoolExecutor(max_workers=len(DETECTORS), thread_name_prefix="detector")


def end_threads() -> None:
    """Ends the threads that detectors share, and with them what their stores hold per thread, such as connections.
    The next question starts new ones."""
    if _shared_executor.cache_info().currsize:
        _shared_executor().shutdown()
        _shared_executor.cache_clear()


@dataclass(frozen=True, slots=True)
class _Run:
    outcome: DetectorOutcome
    anchors: tuple[Anchor, ...] = ()


def detect(
    *,
    question: str | ParsedQuestion,
    store: CandidateStore,
    embedder: Embedder | None = None,
    settings: EngineSettings | None = None,
    dictionary: Dictionary | None = None,
    progress: Progress | None = None,
    clock: Clock | None = None,
    executor: Executor | None = None,
    detectors: Sequence[Detector] = DETECTORS,
    chat: ChatModel | None = None,
    cross_encoder: CrossEncoder | None = None,
) -> CandidatePool:
    """Find every candidate for a question. ``chat`` may reason over the table of contents of a large document;
    ``cross_encoder`` scores the best candidates.

    A detector that fails is recorded in ``outcomes`` and stops no other. Raises ``ValueError`` for an empty
    question; failures of the store before any detector runs are the caller's.
    """
    settings, progress, clock = (
        settings or EngineSettings(),
        progress or NullProgress(),
        clock or SystemClock(),
    )
    started = clock.monotonic()
    session, profile = StoreSession(store), store.profile()
    parsed = (
        question
        if isinstance(question, ParsedQuestion)
        else parse_question(
            question, dictionary=dictionary, document_languages=set(profile.languages.values())
        )
    )
    if embedder is not None and _embeds_always(settings):
        (executor or _shared_executor()).submit(nearest_passages, parsed, session, embedder, settings)
    hits = session.count_hits(exhaustive_terms(parsed)) if parsed.keywords else {}
    parsed = parsed.model_copy(update={"vocabulary_diverges": vocabulary_diverges(parsed, hits)})
    progress("parse", {"keywords": len(parsed.keywords), "intent": parsed.intent})
    facts = _facts(parsed, profile, settings, has_embedder=embedder is not None, has_chat=chat is not None)
    plan = decide(facts, forced=settings.forced_methods, second_opinions=settings.second_opinions)
    progress("dispatch", {"methods_run": list(plan.methods_run), "reasons": dict(plan.reasons)})
    context = DetectorContext(parsed, session, profile, settings, embedder, hits, chat)
    chosen = [detector for detector in detectors if detector.method in plan.methods_run]
    runs = _run_all(chosen, context, clock, executor)
    progress("detect", {run.outcome.method: run.outcome.anchors for run in runs})
    candidates, notes = _candidates(runs, context)
    if FOLLOWING in plan.methods_run:
        runs.append(_run_one(_Following(candidates), context, clock))
        if runs[-1].anchors:
            candidates, notes = _candidates(runs, context)
    if cross_encoder is not None and candidates:
        candidates, failed = with_cross_scores(candidates, parsed.text, cross_encoder)
        notes = (*notes, failed) if failed else notes
    progress("aggregate", {"candidates": len(candidates)})
    documents = _documents(profile, candidates)
    return CandidatePool(
        doc_id=profile.doc_id,
        is_collection=profile.is_collection,
        documents=documents,
        question=parsed,
        plan=plan,
        outcomes=tuple(run.outcome for run in runs),
        absence=_absence(context, hits, runs, candidates),
        candidates=tuple(candidates),
        settings=settings,
        embedding_space=embedder.space if embedder is not None else None,
        cross_encoder=cross_encoder.name
        if cross_encoder and any(c.signals.cross_encoder is not None for c in candidates)
        else None,
        precedence=_precedence(candidates, documents, context),
        notes=(*notes, *context.notes),
        latency_ms=1000 * (clock.monotonic() - started),
    )


def _precedence(
    candidates: Sequence[PoolCandidate], documents: Sequence[PoolDocument], context: DetectorContext
) -> tuple[Precedence, ...]:
    """Which candidates prevail over which; a failure is put on record and costs no findings."""
    try:
        return find_precedence(candidates, documents, context)
    except Exception as error:
        context.notes.append(f"precedence was not read: {type(error).__name__}: {error}")
        return ()


def _embeds_always(settings: EngineSettings) -> bool:
    """Whether the question is embedded whatever is found, so that it can begin at once."""
    return settings.concurrent and "embedding" in (settings.forced_methods or settings.second_opinions)


def _facts(
    question: ParsedQuestion,
    profile: ScopeProfile,
    settings: EngineSettings,
    *,
    has_embedder: bool,
    has_chat: bool,
) -> DispatchFacts:
    refused = _toc_reasoning_refused(profile, settings, has_chat=has_chat)
    return DispatchFacts(
        question,
        has_usable_toc=profile.has_usable_toc,
        has_embedder=has_embedder,
        may_reason_over_toc=refused is None,
        toc_reasoning_refused=refused or "",
        follow_references=settings.follow_references,
        reads_along=settings.references or settings.definitions,
    )


def _toc_reasoning_refused(profile: ScopeProfile, settings: EngineSettings, *, has_chat: bool) -> str | None:
    """Why no model reasons over the table of contents; None when one may."""
    if not has_chat:
        return "no language model is configured for it"
    if not settings.toc_reasoning:
        return "switched off in the settings"
    if len(profile.documents) != 1 or not profile.has_usable_toc:
        return "it needs one document with a usable table of contents"
    if profile.documents[0].section_count < settings.toc_reasoning_sections:
        return f"the document has fewer than {settings.toc_reasoning_sections} sections"
    return None


@dataclass(frozen=True, slots=True)
class _Following:
    """References of what was found, and the definitions of its terms, as a detector of a second pass."""

    candidates: Sequence[PoolCandidate]
    method: MethodName = FOLLOWING

    def detect(self, context: DetectorContext) -> list[Anchor]:
        settings = context.settings
        found = definitions_of(self.candidates, context) if settings.definitions else []
        if settings.follow_references or self.method in settings.forced_methods:
            return [*followed_references(self.candidates, context), *found]
        return [*(operative_references(self.candidates, context) if settings.references else ()), *found]


def vocabulary_diverges(question: ParsedQuestion, hits: dict[str, int]) -> bool:
    """Whether a word of the question, with all its variants, stands nowhere in the documents. What the shipped
    glossary adds speaks for no word: a translation that is found does not make the vocabulary the same."""
    asked = [k for k in question.keywords if not k.is_phrase and k.source in ("question", "code")]
    if not asked:
        return True
    shipped = set(question.gloss.terms) if question.gloss else set()
    variants = {k.term for k in question.keywords if k.source in ("dictionary", "alias")} - shipped
    variants_hit = any(hits.get(term, 0) for term in variants)
    return any(not hits.get(keyword.term, 0) for keyword in asked) and not variants_hit


def _run_all(
    detectors: Sequence[Detector], context: DetectorContext, clock: Clock, executor: Executor | None
) -> list[_Run]:
    def run(detector: Detector) -> _Run:
        return _run_one(detector, context, clock)

    if not context.settings.concurrent or len(detectors) < 2:
        return [run(detector) for detector in detectors]
    return list((executor or _shared_executor()).map(run, detectors))


def _run_one(detector: Detector, context: DetectorContext, clock: Clock) -> _Run:
    started = clock.monotonic()

    def outcome(anchors: int, error: str | None = None) -> DetectorOutcome:
        return DetectorOutcome(
            method=detector.method,
            status="failed" if error else "ran",
            anchors=anchors,
            latency_ms=1000 * (clock.monotonic() - started),
            error=error,
        )

    try:
        anchors = tuple(detector.detect(context))
    except Exception as error:  # one detector's failure must not cost the others' findings
        return _Run(outcome(0, f"{type(error).__name__}: {error}"))
    return _Run(outcome(len(anchors)), anchors)


def _candidates(
    runs: Sequence[_Run], context: DetectorContext
) -> tuple[list[PoolCandidate], tuple[str, ...]]:
    anchors = [anchor for run in runs for anchor in run.anchors]
    candidates = build_candidates(aggregate(anchors, context), context) if anchors else []
    limit = context.settings.pool_size
    if len(candidates) <= limit:
        return candidates, ()
    kept = _with_other_documents(candidates, limit)
    reserved = sum(place >= limit for place in kept)
    note = f"{len(candidates)} candidates found; the best {limit} by RRF are kept" + (
        f", {reserved} of them for documents without a better one" if reserved else ""
    )
    return [candidates[place] for place in kept], (note,)


def _with_other_documents(candidates: Sequence[PoolCandidate], limit: int) -> list[int]:
    """The places of the first ``limit``, of which a tenth, at least one, is reserved for the best candidates of
    documents that have none among the others: a long document does not crowd out a short one. One of every document
    would cost evidence where there are many (ObliQA, 40 documents: R@10 .810 instead of .814)."""
    kept = list(range(limit - math.ceil(limit / RESERVED)))
    seen = {candidates[place].document_id for place in kept}
    others = []
    for place in range(len(kept), len(candidates)):
        if candidates[place].document_id not in seen:
            seen.add(candidates[place].document_id)
            others.append(place)
    kept += others[: limit - len(kept)]
    taken = set(kept)
    rest = (place for place in range(limit) if place not in taken)
    return sorted([*kept, *islice(rest, limit - len(kept))])


def _documents(profile: ScopeProfile, candidates: Sequence[PoolCandidate]) -> tuple[PoolDocument, ...]:
    """The documents that candidates stand in; of a single-document question that document always."""
    named = {candidate.document_id for candidate in candidates}
    return tuple(
        PoolDocument(**{name: getattr(document, name) for name in PoolDocument.model_fields})
        for document in (profile.documents if len(profile.documents) == 1 else profile.chosen(named))
    )


def _absence(
    context: DetectorContext, hits: dict[str, int], runs: Sequence[_Run], candidates: Sequence[PoolCandidate]
) -> AbsenceProof:
    found_by = [anchor.method for run in runs for anchor in run.anchors]
    return prove_absence(
        question=context.question,
        profile=context.profile,
        hits=hits,
        titles_hit=found_by.count("toc"),
        names_found_place="pattern" in found_by,
        nearest=_nearest(candidates),
    )


def _nearest(candidates: Sequence[PoolCandidate]) -> float | None:
    """The best cosine of a passage with the question; ``None`` where none was measured."""
    return max((c.signals.semantic for c in candidates if c.signals.semantic is not None), default=None)
