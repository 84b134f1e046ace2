"""Runs labelled sets through the product's own store and strategies.

The documents of a set are loaded once into their own collection without members, and reused by content hash. Questions
run through the same detection and arbitration as any run, but leave no run rows.
"""

from __future__ import annotations

import hashlib
import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from django.core.files.base import File

from arbitration.adapters.openai_chat import OpenAIChat
from arbitration.answers import Answer, write_answer
from arbitration.contracts import Role
from arbitration.decision import Decision
from arbitration.errors import ArbitrationError
from arbitration.evaluation.answers import AnswerFigures, AnswerJudge
from arbitration.evaluation.metrics import QuestionOutcome
from arbitration.evaluation.outcomes import outcome_of
from arbitration.evaluation.records import (
    DatasetDocument,
    DatasetError,
    EvalQuestion,
    LabelledSet,
    TextEvidence,
)
from arbitration.evaluation.structured import to_parsed_document
from arbitration.pipeline import arbitrate, detect
from arbitration.pool import CandidatePool
from arbitration.settings import EngineSettings
from arbitration.strategies.base import StrategyServices
from arbitration.strategies.registry import get_strategy
from arbitration.written_answers import answer_with_model
from workbench.accounts.models import User
from workbench.documents.embedding import active_space, current_embedder
from workbench.documents.ingest import document_ingest, parsed_document_add
from workbench.documents.models import Collection, Document, DocumentStatus
from workbench.documents.services import collection_create, document_upload
from workbench.documents.store import DatabaseCandidateStore

from .gateway import collection_chat_model
from .pool_spool import PoolSpool
from .strategies import needs_model

Tell = Callable[[str], None]


@dataclass(slots=True)
class LoadedSet:
    """A labelled set whose documents are in the product."""

    dataset: LabelledSet
    collections: dict[str, Collection] = field(default_factory=dict)
    documents: dict[tuple[str, str], Document] = field(default_factory=dict)
    stores: dict[tuple[str, str | None], DatabaseCandidateStore] = field(default_factory=dict)

    def store(self, question: EvalQuestion) -> DatabaseCandidateStore:
        """The store for the scope of a question: its document or the whole collection. Created once."""
        key = (question.collection, question.document_id)
        if key not in self.stores:
            document = self.documents[key] if question.document_id else None  # type: ignore[index]
            self.stores[key] = DatabaseCandidateStore(
                collection=self.collections[question.collection],
                space=active_space(),
                documents=[document] if document else None,
            )
        return self.stores[key]

    def dataset_ids(self, collection: str) -> dict[str, str]:
        """The set's own IDs of the documents in a collection."""
        return {
            document.public_id: key for (name, key), document in self.documents.items() if name == collection
        }


def dataset_load(*, dataset: LabelledSet, tell: Tell) -> LoadedSet:
    """Loads every document of the set that is not loaded yet. Raises :class:`DatasetError` naming the documents that
    could not be read."""
    loaded = LoadedSet(dataset)
    actor = User.objects.system()
    for name in dataset.collections:
        documents = [document for document in dataset.documents if document.collection == name]
        collection = _collection(actor, dataset=dataset, name=name, documents=documents)
        loaded.collections[name] = collection
        for number, document in enumerate(documents, start=1):
            tell(f"{dataset.name} {name}: document {number} of {len(documents)}")
            loaded.documents[(name, document.document_id)] = _document(actor, collection, document)
    failed = [
        f"{d.name}: {d.failure_reason}" for d in loaded.documents.values() if d.status != DocumentStatus.READY
    ]
    if failed:
        raise DatasetError("These documents could not be read: " + "; ".join(failed))
    return loaded


def _collection(
    actor: User, *, dataset: LabelledSet, name: str, documents: list[DatasetDocument]
) -> Collection:
    """One collection per set of documents, so that no other documents affect its statistics."""
    identity = "\n".join(sorted(_identity(document) for document in documents))
    slug = f"evaluation-{dataset.name}-{name}-{hashlib.sha256(identity.encode()).hexdigest()[:10]}".lower()
    existing = Collection.objects.filter(slug=slug[:80]).first()
    if existing:
        return existing
    return collection_create(actor=actor, name=f"Evaluation: {dataset.name} {name}", slug=slug[:80])


def _identity(document: DatasetDocument) -> str:
    if document.path is not None:
        return f"{document.document_id} {hashlib.sha256(document.path.read_bytes()).hexdigest()}"
    return f"{document.document_id} {hashlib.sha256(repr(document.units).encode()).hexdigest()}"


def _document(actor: User, collection: Collection, document: DatasetDocument) -> Document:
    if document.path is None:
        return parsed_document_add(
            actor=actor, collection=collection, name=document.name, parsed=to_parsed_document(document)
        )
    return _file(actor, collection, document.path)


def _file(actor: User, collection: Collection, path: Path) -> Document:
    with path.open("rb") as handle:
        outcome = document_upload(actor=actor, collection=collection, file=File(handle), name=path.name)
    document_ingest(document_id=outcome.document.pk)
    return wait_for(outcome.document)


def wait_for(document: Document) -> Document:
    """Waits until the document has ended. A worker may be quicker than this process."""
    document.refresh_from_db()
    while document.is_working:
        time.sleep(0.1)
        document_ingest(document_id=document.pk)
        document.refresh_from_db()
    return document


class QuestionRunner:
    """Asks one question with one strategy (:class:`arbitration.evaluation.runner.RunQuestion`).

    Detection runs once per question for all strategies, and its time counts for each. Strategies that need a model use
    the installation's; no answer comes from a cache. With ``answers``, each answer is written and judged; its figures
    are in ``answer_figures`` by strategy. With ``keep_pools``, a question labelled for training is not detected again
    for ranking.
    """

    def __init__(
        self,
        *,
        loaded: LoadedSet,
        strategies: list[str],
        services: Callable[[EvalQuestion], StrategyServices] | None = None,
        answers: AnswerJudge | None = None,
        keep_pools: bool = False,
        settings: EngineSettings | None = None,
    ) -> None:
        self._loaded, self._strategies = loaded, strategies
        self._settings = settings or EngineSettings()
        self.services = services or (lambda question: StrategyServices())
        self._ready: dict[tuple[str, str], deque[QuestionOutcome]] = defaultdict(deque)
        self._dataset_ids = {name: loaded.dataset_ids(name) for name in loaded.collections}
        self._answers = answers
        self._spool = PoolSpool() if keep_pools else None
        self._chats: dict[str, OpenAIChat | None] = {}
        self.answer_figures: dict[str, list[AnswerFigures]] = {name: [] for name in strategies}

    def __call__(self, *, question: EvalQuestion, strategy: str) -> QuestionOutcome:
        """The outcome. All strategies of a question run together, so that no pool need be kept."""
        waiting = self._ready[(question.key, strategy)]
        if not waiting:
            pool = self.pool(question)
            for name in self._strategies:
                self._ready[(question.key, name)].append(self._decided(question, pool, name))
        return waiting.popleft()

    def pool(self, question: EvalQuestion) -> CandidatePool:
        if self._spool is None:
            return self._detected(question)
        pool = self._spool.get(question.key)
        if pool is None:
            pool = self._detected(question)
            self._spool.put(question.key, pool)
        return pool

    def _detected(self, question: EvalQuestion) -> CandidatePool:
        return detect(
            question=question.text,
            store=self._loaded.store(question),
            embedder=current_embedder(),
            settings=self._settings,
        )

    def _decided(self, question: EvalQuestion, pool: CandidatePool, name: str) -> QuestionOutcome:
        services = self._services(question, name)
        try:
            decision = arbitrate(pool=pool, strategy=get_strategy(name), services=services)
        except ArbitrationError as error:
            return QuestionOutcome(error=str(error))
        if self._answers is not None and question.answerable:
            self._answer(question, pool, decision, services, name)
        return outcome_of(
            pool,
            decision,
            dataset_ids=self._dataset_ids[question.collection],
            latency_ms=pool.latency_ms + decision.latency_ms,
            first_sentence=_first_sentence(question, pool, decision),
        )

    def _services(self, question: EvalQuestion, name: str) -> StrategyServices:
        services = self.services(question)
        if not needs_model(name):
            return services
        key = question.collection
        if key not in self._chats:
            self._chats[key] = collection_chat_model(collection=self._loaded.collections[key])
        return replace(services, chat=self._chats[key], store=self._loaded.store(question))

    def close(self) -> None:
        """Closes the connections to the model, and frees the disk space of the pools."""
        if self._spool is not None:
            self._spool.close()
        for chat in self._chats.values():
            if chat is not None:
                chat.close()

    def _answer(
        self,
        question: EvalQuestion,
        pool: CandidatePool,
        decision: Decision,
        services: StrategyServices,
        name: str,
    ) -> None:
        assert self._answers is not None
        started = time.monotonic()
        write = answer_with_model if needs_model(name) else write_answer
        answer: Answer = write(pool=pool, decision=decision, services=services)
        waited_ms = pool.latency_ms + decision.latency_ms
        figures = self._answers.figures(
            question=question,
            pool=pool,
            answer=answer,
            evidence_ids=[v.candidate_id for v in decision.verdicts if v.role in _EVIDENCE],
            seconds=waited_ms / 1000 + time.monotonic() - started,
        )
        self.answer_figures[name].append(figures)


def _first_sentence(question: EvalQuestion, pool: CandidatePool, decision: Decision) -> str | None:
    """The first sentence that answers without a model; empty if there is none, ``None`` if no label can judge it."""
    if not any(isinstance(unit, TextEvidence) for unit in question.evidence):
        return None
    sentences = write_answer(pool=pool, decision=decision).sentences
    return sentences[0].text if sentences else ""


_EVIDENCE = (Role.PRIMARY, Role.SUPPORTING)
