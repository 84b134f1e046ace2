"""The stages of a run: detect, arbitrate, answer.

Each stage claims the run by its status and a lease, works outside any transaction, and writes its results in one
transaction that also changes the status and wakes the next stage. If a worker dies, nothing is left half done: the
lease expires, the sweeper wakes another worker, and the stage is repeated from the rows of the previous one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import F, Sum
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from arbitration.assembly import question_record
from arbitration.errors import ArbitrationError
from arbitration.features import FEATURE_NAMES, pool_features
from arbitration.pipeline import arbitrate, detect, write_answer
from arbitration.pool import CandidatePool, PoolCandidate, WordMatch
from arbitration.protocols import ChatModel, ProgressStage
from arbitration.settings import EngineSettings
from arbitration.strategies.base import StrategyServices, Verdict
from arbitration.strategies.registry import get_strategy
from arbitration.triage import SAME_IN_OTHER_WORDS
from arbitration.written_answers import answer_with_model
from workbench.audit.actions import Action
from workbench.audit.services import audit_work
from workbench.collection_settings.selectors import criteria_weights_of, gates_of
from workbench.documents.distribution import NodeAway, node_was_away, require_whole
from workbench.documents.embedding import active_space, current_embedder, require_encoder_of
from workbench.documents.ingest import text_hash
from workbench.documents.models import WORKING_STATUSES, Document
from workbench.documents.restrictions import hidden_documents
from workbench.documents.store import DatabaseCandidateStore
from workbench.infra.dispatch import dispatch_on_commit
from workbench.infra.leases import Heartbeat, LeaseLost, Limit, lease_claim, leased, new_owner
from workbench.infra.storable import storable, storable_json

from .decisions import decision_from_rows
from .events import RunFinished, VerdictsWritten, run_finished, verdicts_written
from .gateway import chat_model, cross_encoder, failed_in_passing, give_connection_back
from .models import Answer, Candidate, CandidateText, LLMCall, Run, RunPool, RunStatus
from .models import Verdict as VerdictRow
from .reading import question_read
from .reranking import reranking_services
from .services import documents_asked, run_cache_key
from .similar import similar_run
from .strategies import may_ask_model, needs_model, reads_gates

logger = structlog.get_logger(__name__)


@dataclass(slots=True)
class StageClock:
    """Collects the completed stages of a run with their times, and shows them on the page."""

    run: Run
    started: float = field(default_factory=time.monotonic)
    stages: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stages = list(self.run.stages)

    def __call__(self, stage: ProgressStage, detail: Mapping[str, Any]) -> None:
        """Called by the engine at the end of each stage."""
        now = time.monotonic()
        self.stages = [known for known in self.stages if known["stage"] != stage]
        self.stages.append(
            {
                "stage": stage,
                "ms": round(1000 * (now - self.started), 1),
                "detail": _words(stage, detail),
                # Since when the next one is waited for, on the page of a run under way.
                "ended_at": timezone.now().isoformat(),
            }
        )
        self.started = now
        Run.objects.filter(pk=self.run.pk).update(stages=self.stages)


def _words(stage: ProgressStage, detail: Mapping[str, Any]) -> str:
    """A stage's figures in words, for the page."""
    match stage:
        case "dispatch":
            return ", ".join(detail.get("methods_run", []))
        case "detect":
            return ", ".join(f"{name}: {count}" for name, count in detail.items())
        case _:
            return ", ".join(f"{value} {name}" for name, value in detail.items() if isinstance(value, int))


def run_detect(*, run_id: int) -> None:
    """Stage one: builds the candidate pool."""
    _stage(run_id, (RunStatus.QUEUED, RunStatus.DETECTING), RunStatus.DETECTING, _detect)


def run_arbitrate(*, run_id: int) -> None:
    """Stage two: gives every candidate a verdict."""
    _stage(run_id, (RunStatus.DETECTED, RunStatus.ARBITRATING), RunStatus.ARBITRATING, _arbitrate)


def run_answer(*, run_id: int) -> None:
    """Stage three: writes the answer and ends the run."""
    _stage(run_id, (RunStatus.ARBITRATED, RunStatus.ANSWERING), RunStatus.ANSWERING, _answer)


def _stage(
    run_id: int,
    takes: tuple[str, ...],
    becomes: str,
    work: Callable[[Run, str, Heartbeat], None],
) -> None:
    rows = Run.objects.filter(pk=run_id, status__in=takes)
    owner = new_owner()
    if not lease_claim(rows, owner=owner, count_attempt=False):
        return
    with leased(Run.objects.filter(pk=run_id), owner=owner, limit=_limit(run_id, owner)) as heartbeat:
        # An attempt is a second claim of the same stage: its first worker is gone.
        Run.objects.filter(pk=run_id, lease_owner=owner, status=becomes).update(attempts=F("attempts") + 1)
        run = Run.objects.select_related("question__document", "collection").get(pk=run_id)
        if run.attempts >= settings.MAX_ATTEMPTS:
            reason = _("This run stopped its worker three times. It was given up; ask again, or report it.")
            _fail(run, owner, reason)
            return
        try:
            _enter(run, owner, becomes)
            work(run, owner, heartbeat)
        except LeaseLost:
            logger.warning("run.lease_lost", run_id=run_id)
        except ArbitrationError as error:
            _fail(run, owner, str(error))
        except DatabaseError as error:
            if not node_was_away(error):
                raise
            _fail(run, owner, str(NodeAway()))


def _limit(run_id: int, owner: str) -> Limit:
    """Limits the time of a stage. After that, the run ends with a reason and its worker is free."""

    def overdue() -> None:
        run = Run.objects.get(pk=run_id)
        reason = _(
            "This step took longer than %(minutes)s minutes and was stopped. Ask a narrower question, or ask the "
            "operator to allow more time."
        )
        _fail(run, owner, reason % {"minutes": max(1, round(settings.STAGE_SECONDS / 60))})

    return Limit(settings.STAGE_SECONDS, overdue)


def _enter(run: Run, owner: str, status: str) -> None:
    """Shows the stage, unless the run has been cancelled."""
    if Run.objects.filter(pk=run.pk, lease_owner=owner).update(status=status) != 1:
        raise LeaseLost
    run.status = status


def _move(run: Run, owner: str, **values: Any) -> None:
    """Writes the end of a stage, if this worker still has the lease and the run has not been cancelled."""
    changed = Run.objects.filter(pk=run.pk, lease_owner=owner, status=run.status).update(
        attempts=0, lease_owner="", lease_until=None, **values
    )
    if changed != 1:
        raise LeaseLost


def _fail(run: Run, owner: str, reason: str) -> None:
    """Ends the run as failed, unless it has been cancelled or another worker has taken it over."""
    reason = storable(reason).strip() or _("The run failed without saying why. Ask again, or report it.")
    with transaction.atomic():
        changed = Run.objects.filter(pk=run.pk, lease_owner=owner, status=run.status).update(
            status=RunStatus.FAILED,
            failure_reason=reason,
            finished_at=Now(),
            lease_owner="",
            lease_until=None,
        )
        if changed:
            audit_work(
                action=Action.RUN_FAILED,
                obj=run,
                reason=reason[:300],
            )


# --- detect -----------------------------------------------------------------------------------------


def store_of(run: Run) -> DatabaseCandidateStore:
    """The documents that a run was asked of."""
    document = run.question.document
    return DatabaseCandidateStore(
        collection=run.collection,
        space=active_space(),
        documents=[document] if document else None,
        only=documents_asked(run),
    )


def _detect(run: Run, owner: str, heartbeat: Heartbeat) -> None:
    clock = StageClock(run)
    key = run_cache_key(run=run)  # an alias may have been approved, or a document come, since it was asked
    unread, restricted = _unread_documents(run), _restricted_documents(run)
    store, embedder = store_of(run), current_embedder()
    require_encoder_of(store.space, embedder=embedder)
    question, notes = question_read(run=run, documents=store.profile().documents)
    with _detection_model(run) as chat, cross_encoder(run=run) as encoder:
        pool = detect(
            question=question,
            store=store,
            embedder=embedder,
            settings=EngineSettings.model_validate(run.settings),
            progress=clock,
            chat=chat,
            cross_encoder=encoder,
        )
    require_whole(outcome.error for outcome in pool.outcomes)
    similar = _similar(run)
    heartbeat.check()
    pool = pool.model_copy(update={"notes": (*pool.notes, *notes)})
    with transaction.atomic():
        _move(
            run,
            owner,
            status=RunStatus.DETECTED,
            parsed_question=storable_json(
                question_record(pool)
                | {"similar_run": similar, "unread_documents": unread, "restricted_documents": restricted}
            ),
            methods_run=[outcome.method for outcome in pool.outcomes if outcome.status == "ran"],
            methods_skipped=[*pool.plan.methods_skipped, *_failed_methods(pool)],
            skipped_reasons=dict(pool.plan.skipped_reasons) | _failed_methods(pool),
            cache_key=key if run_cache_key(run=run) == key else "",
        )
        _candidates_store(run, pool)
        RunPool.objects.update_or_create(
            run=run, defaults={"body": storable_json(pool.model_dump(mode="json"))}
        )
        dispatch_on_commit("questions.arbitrate", run_id=run.pk)


def _detection_model(run: Run) -> AbstractContextManager[ChatModel | None]:
    """The model that may read a table of contents, if the strategy uses a model anyway."""
    return chat_model(run=run) if needs_model(run.strategy) else nullcontext()


def _similar(run: Run) -> dict[str, Any] | None:
    """The run of the same question in other words, linked on the page. An error here does not fail the run."""
    gates = gates_of(collection=run.collection)
    bar = gates.query if gates else SAME_IN_OTHER_WORDS
    try:
        found = similar_run(run=run, embedder=current_embedder(), bar=bar)
    except ArbitrationError:
        return None
    return asdict(found) if found else None


def _failed_methods(pool: CandidatePool) -> dict[str, str]:
    return {
        outcome.method: f"failed: {outcome.error}" for outcome in pool.outcomes if outcome.status == "failed"
    }


def _unread_documents(run: Run) -> int:
    """How many documents of the collection asked are still being processed, and so not searched."""
    if run.question.document_id is not None:
        return 0
    return Document.objects.filter(collection=run.collection, status__in=WORKING_STATUSES).count()


def _restricted_documents(run: Run) -> int:
    """How many documents of the collection asked were not searched, because its asker cannot see them."""
    if run.question.document_id is not None:
        return 0
    return len(hidden_documents(user=run.requested_by, collection=run.collection))


def _candidates_store(run: Run, pool: CandidatePool) -> None:
    features = _features(pool)
    Candidate.objects.filter(run=run).delete()
    # In the order of the document: keys stand in addresses, and must not tell who is hidden from it how well a passage
    # was ranked.
    found = sorted(enumerate(pool.candidates), key=lambda pair: _place(pair[1]))
    rows = Candidate.objects.bulk_create(
        _candidate_row(run, position, candidate, features[candidate.candidate_id])
        for position, candidate in found
    )
    CandidateText.objects.bulk_create(
        CandidateText(
            candidate=row,
            snippet=candidate.brief.snippet,
            anchor=candidate.anchor_text,
            context=candidate.context_text,
            matched_words=storable_json([_word_row(word) for word in candidate.matched_words]),
        )
        for row, (_position, candidate) in zip(rows, found, strict=True)
    )


def _word_row(word: WordMatch) -> dict[str, Any]:
    return word.model_dump() | {"cosine": round(word.cosine, 3), "weight": round(word.weight, 3)}


def _place(candidate: PoolCandidate) -> tuple[int, int, int, int, int]:
    anchor = candidate.anchor
    document = int(candidate.document_id.removeprefix("d"))
    return document, anchor.page_start, anchor.line_start, anchor.page_end, anchor.line_end


def _candidate_row(
    run: Run, position: int, candidate: PoolCandidate, features: dict[str, float]
) -> Candidate:
    anchor, context = candidate.anchor, candidate.context
    return Candidate(
        run=run,
        document_id=int(candidate.document_id.removeprefix("d")),
        candidate_id=candidate.candidate_id,
        position=position,
        anchor_page_start=anchor.page_start,
        anchor_line_start=anchor.line_start,
        anchor_page_end=anchor.page_end,
        anchor_line_end=anchor.line_end,
        context_page_start=context.page_start,
        context_line_start=context.line_start,
        context_page_end=context.page_end,
        context_line_end=context.line_end,
        section_id=anchor.section_id or "",
        section_title=candidate.section_title or "",
        breadcrumb=candidate.breadcrumb or "",
        methods=candidate.methods,
        ranks=candidate.ranks,
        scores=candidate.scores,
        whys=candidate.why,
        matched_keywords=list(candidate.matched_keywords),
        rrf_score=candidate.rrf_score,
        rrf_rank=candidate.rrf_rank,
        features=features,
        text_hash=text_hash(candidate.anchor_text),
    )


#: The others hold words of documents, which a run's record does not.
_KEPT_ARTEFACTS = ("rubric", "shards", "displaced", "stand_in", "precedence", "order")


# --- arbitrate --------------------------------------------------------------------------------------


@contextmanager
def _services(run: Run, clock: StageClock) -> Iterator[StrategyServices]:
    """The services for a strategy. A strategy without a model gets none, so that nothing is sent to the endpoint, not
    even a probe. With a model the database connection is closed, because the strategy will wait; without one it stays:
    on a cluster a new one connects to every shard again."""
    with chat_model(run=run) if may_ask_model(run.strategy) else nullcontext() as chat:
        services = reranking_services(
            chat=chat, store=store_of(run), progress=clock, options=run_options(run)
        )
        if chat is not None:
            give_connection_back()
        yield services


def run_options(run: Run) -> dict[str, Any]:
    """The options of the collection, and a person's options for this run."""
    given = {
        "gates": gates_of(collection=run.collection),
        "weights": criteria_weights_of(collection=run.collection),
        "rubric": run.rubric_edits,
    }
    return {name: value for name, value in given.items() if value is not None} | (run.strategy_options or {})


def _arbitrate(run: Run, owner: str, heartbeat: Heartbeat) -> None:
    clock = StageClock(run)
    pool = CandidatePool.model_validate(run.pool.body)
    with _services(run, clock) as services:
        decision = arbitrate(pool=pool, strategy=get_strategy(run.strategy), services=services)
    heartbeat.check()
    with transaction.atomic():
        _move(
            run,
            owner,
            status=RunStatus.ARBITRATED,
            conflicts=storable_json([conflict.model_dump() for conflict in decision.conflicts]),
            unknown_ids=storable_json(decision.unknown_ids),
            repeated_ids=list(decision.repeated_ids),
            notes=storable_json(decision.notes),
            artefacts=storable_json({n: t for n, t in decision.artefacts.items() if n in _KEPT_ARTEFACTS}),
            not_found=decision.not_found,
            not_found_reason=decision.not_found_reason or "",
            no_strong_match=decision.no_strong_match,
            confidence=decision.confidence,
            needs_person=decision.needs_person,
        )
        rows = {row.candidate_id: row for row in run.candidates.all()}
        rows_written = VerdictRow.objects.bulk_create(
            _verdict_row(rows[verdict.candidate_id], order, verdict)
            for order, verdict in enumerate(decision.verdicts)
        )
        verdicts_written.publish(VerdictsWritten(run, rows_written))
        dispatch_on_commit("questions.answer", run_id=run.pk)


def _features(pool: CandidatePool) -> dict[str, dict[str, float]]:
    """The reranker features of each candidate, by name. Receipts show them whoever decided."""
    if not pool.candidates:
        return {}
    table = pool_features(pool)
    return {
        candidate.candidate_id: {
            name: round(float(value), 4) for name, value in zip(FEATURE_NAMES, row, strict=True)
        }
        for candidate, row in zip(pool.candidates, table, strict=True)
    }


def _verdict_row(candidate: Candidate, order: int, verdict: Verdict) -> VerdictRow:
    return VerdictRow(
        candidate=candidate,
        role=verdict.role,
        reason=storable(verdict.reason).strip() or _("no reason given"),
        decided_by_kind=verdict.decided_by.kind,
        decided_by_name=verdict.decided_by.name[:120],
        decided_by_version=(verdict.decided_by.version or "")[:80],
        probability=verdict.probability,
        model_confidence=verdict.model_confidence,
        raw_score=verdict.raw_score,
        score_scale=verdict.score_scale or "",
        normalised_score=verdict.normalised_score,
        terms=storable_json(verdict.terms),
        needs_person=verdict.needs_person,
        needs_person_reasons=list(verdict.needs_person_reasons),
        injection_suspected=verdict.injection_suspected,
        injection_words=storable_json(verdict.injection_words),
        quotes=storable_json([quote.model_dump() for quote in verdict.quotes]),
        counter_argument=storable(verdict.counter_argument or ""),
        order=order,
    )


# --- answer -----------------------------------------------------------------------------------------


def _lasting_key(run: Run) -> str:
    """The cache key under which the run answers the same question later.

    None if something it depends on changed during the run, if a model failed temporarily, or if the collection's
    thresholds require more confidence: asking again may help.
    """
    if failed_in_passing(run_id=run.pk) or not _is_confident(run):
        return ""
    return run.cache_key if run_cache_key(run=run) == run.cache_key else ""


def _is_confident(run: Run) -> bool:
    """Whether the collection's thresholds allow reusing the answer. They only apply to strategies on their scale.
    Without thresholds, every answer is reusable."""
    gates = gates_of(collection=run.collection) if reads_gates(run.strategy) else None
    return gates is None or (run.confidence or 0.0) >= gates.confident


def _answer(run: Run, owner: str, heartbeat: Heartbeat) -> None:
    clock = StageClock(run)
    pool = CandidatePool.model_validate(run.pool.body)
    decision = decision_from_rows(run)
    write = answer_with_model if needs_model(run.strategy) else write_answer
    with _services(run, clock) as services:
        written = write(pool=pool, decision=decision, services=services)
    heartbeat.check()
    clock("answer", {})
    with transaction.atomic():
        spent = LLMCall.objects.filter(run=run).aggregate(total=Sum("cost"))["total"] or Decimal(0)
        calls = LLMCall.objects.filter(run=run).count()
        _move(
            run,
            owner,
            status=RunStatus.DONE,
            finished_at=Now(),
            cost=spent,
            unpriced_call_count=LLMCall.objects.filter(run=run, is_priced=False).count(),
            llm_call_count=calls,
            elapsed_ms=sum(stage["ms"] for stage in clock.stages),
            cache_key=_lasting_key(run),
        )
        Answer.objects.filter(run=run, version=1).delete()
        Answer.objects.create(
            run=run,
            version=1,
            body=storable_json(written.model_dump(mode="json")),
            evidence_hash=text_hash("|".join(sorted(c.text_hash for c in run.candidates.all()))),
        )
        candidates = list(run.candidates.select_related("verdict", "run"))
        run_finished.publish(RunFinished(Run.objects.get(pk=run.pk), candidates))
        audit_work(
            action=Action.RUN_FINISHED,
            obj=run,
            after={
                "strategy": run.strategy,
                "candidates": len(candidates),
                "not_found": decision.not_found,
                "llm_calls": calls,
                "cost": str(spent),
            },
        )
