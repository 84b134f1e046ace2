"""Asking: a question becomes a run. The stages of a run are in ``execution.py``."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from arbitration.questions.assisted import QuestionEdits
from arbitration.settings import EngineSettings
from arbitration.strategies.multi_criteria import MULTI_CRITERIA_2, Rubric
from arbitration.text import exact_codes, normalise
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.services import audit_record
from workbench.documents.models import Collection, Document, DocumentStatus
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.ops.dispatch import dispatch_on_commit
from workbench.ops.storable import storable

from .answer_state import AnswerState, answer_state
from .models import ENDED, Question, Run, RunStatus
from .selectors import run_with_key
from .strategies import engine_settings, engine_state, strategy_for

MAX_QUESTION_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class AskOutcome:
    """The run that answers a question; ``is_cached`` when an earlier run already did."""

    run: Run
    is_cached: bool


def question_ask(
    *,
    actor: User,
    collection: Collection,
    text: str,
    document: Document | None = None,
    strategy: str = "",
    use_cache: bool = True,
    idempotency_key: str | None = None,
    edits: QuestionEdits | None = None,
    rubric: Rubric | None = None,
    follow_references: bool = False,
) -> AskOutcome:
    """Asks a question of one document, or of the whole collection.

    The same question of the same documents, by the same strategy, settings and models, is answered by the run
    that answered it before (``use_cache``). ``edits`` are a person's own keywords for this run, ``rubric`` their
    criteria where the strategy ranks by some; ``follow_references`` also reads what the best passages refer to. The
    same ``idempotency_key`` again gives the run it made.

    Raises :class:`NotAllowed`, :class:`Conflict` (document not ready) or :class:`WorkbenchError` (no question, no
    documents, unknown strategy).
    """
    if not has_permission(actor, collection, Permission.ASK):
        raise NotAllowed(_("You may not ask questions in this collection."))
    text = _checked_text(text)
    state = answer_state(collection=collection, document=document)
    _check_scope(collection=collection, document=document, state=state)
    strategy = strategy_for(collection=collection, wanted=strategy)
    _check_rubric(strategy=strategy, rubric=rubric)
    asked = _Request(actor.pk, collection.pk, document.pk if document else None, text, strategy)
    if idempotency_key is not None and (made := _run_made(asked, idempotency_key)):
        return AskOutcome(made, is_cached=False)
    settings = engine_settings(collection=collection).model_copy(
        update={"follow_references": follow_references}
    )
    key = cache_key(
        collection=collection,
        document=document,
        text=text,
        strategy=strategy,
        edits=edits,
        rubric=rubric,
        settings=settings,
        state=state,
    )
    earlier = run_with_key(cache_key=key) if use_cache else None
    if earlier is not None:
        earlier.collection = collection  # its key holds the collection
        _record_repeat(actor=actor, run=earlier)
        return AskOutcome(earlier, is_cached=True)
    try:
        with transaction.atomic():
            run = _run_create(
                actor=actor,
                collection=collection,
                document=document,
                text=text,
                strategy=strategy,
                key=key,
                use_cache=use_cache,
                idempotency_key=idempotency_key,
                edits=edits,
                rubric=rubric,
                settings=settings,
            )
    except IntegrityError:
        if idempotency_key is None:
            raise
        # The same request twice at once: the other one made the run.
        made = _run_made(asked, idempotency_key)
        if made is None:
            raise
        return AskOutcome(made, is_cached=False)
    return AskOutcome(run, is_cached=False)


def _run_create(
    *,
    actor: User,
    collection: Collection,
    document: Document | None,
    text: str,
    strategy: str,
    key: str,
    use_cache: bool,
    idempotency_key: str | None,
    edits: QuestionEdits | None,
    rubric: Rubric | None,
    settings: EngineSettings,
) -> Run:
    from .tasks import detect

    question = Question.objects.create(
        collection=collection,
        document=document,
        text=text,
        normalised=normalise(text).casefold(),
        asked_by=actor,
    )
    run = Run.objects.create(
        question=question,
        collection=collection,
        strategy=strategy,
        requested_by=actor,
        settings=settings.model_dump(mode="json"),
        cache_key=key,
        use_cache=use_cache,
        idempotency_key=idempotency_key,
        question_edits=edits.model_dump(mode="json") if edits else None,
        rubric_edits=rubric.model_dump(mode="json") if rubric else None,
    )
    audit_record(
        actor=actor,
        action="question.asked",
        obj=run,
        collection_id=collection.pk,
        after={
            "question": question.pk,
            "document": document.pk if document else None,
            "strategy": strategy,
            "run": run.pk,
        },
    )
    dispatch_on_commit(detect, run_id=run.pk)
    return run


@dataclass(frozen=True, slots=True)
class _Request:
    """What an idempotency key stands for."""

    actor_id: int
    collection_id: int
    document_id: int | None
    text: str
    strategy: str


def _run_made(asked: _Request, idempotency_key: str) -> Run | None:
    """The run that this very request made before; Conflict when the key made another one."""
    run = (
        Run.objects.select_related("question", "collection")
        .filter(requested_by=asked.actor_id, idempotency_key=idempotency_key)
        .first()
    )
    if run is None:
        return None
    question = run.question
    if asked != _Request(
        asked.actor_id, run.collection_id, question.document_id, question.text, run.strategy
    ):
        raise Conflict(
            _("This idempotency key belongs to another question. Use a new one."), code="idempotency_reused"
        )
    return run


def _record_repeat(*, actor: User, run: Run) -> None:
    with transaction.atomic():
        audit_record(
            actor=actor,
            action="question.repeated",
            obj=run,
            collection_id=run.collection_id,
            after={"run": run.pk, "question": run.question_id},
        )


def run_cancel(*, actor: User, run: Run) -> None:
    """Stops a run that has not ended; its worker notices at its next step."""
    if not has_permission(actor, run.collection, Permission.ASK):
        raise NotAllowed(_("You may not stop runs of this collection."))
    with transaction.atomic():
        changed = (
            Run.objects.filter(pk=run.pk)
            .exclude(status__in=ENDED)
            .update(status=RunStatus.CANCELLED, lease_owner="", lease_until=None)
        )
        if changed != 1:
            raise Conflict(_("This run has ended already."))
        audit_record(actor=actor, action="run.cancelled", obj=run, collection_id=run.collection_id)


def _checked_text(text: str) -> str:
    text = " ".join(storable(text.replace("\x00", " ")).split())
    if not any(character.isalnum() for character in text):
        raise WorkbenchError(_("Type a question."), code="question_missing")
    if len(text) > MAX_QUESTION_CHARACTERS:
        raise WorkbenchError(
            _("The question is longer than %(limit)d characters. Ask it in fewer words, or as several.")
            % {"limit": MAX_QUESTION_CHARACTERS},
            code="question_too_long",
        )
    return text


def _check_rubric(*, strategy: str, rubric: Rubric | None) -> None:
    if rubric is not None and strategy != MULTI_CRITERIA_2.name:
        raise WorkbenchError(
            _("“%(name)s” ranks by no criteria that could be edited.") % {"name": strategy},
            code="no_rubric",
        )


def _check_scope(*, collection: Collection, document: Document | None, state: AnswerState) -> None:
    if document is not None:
        if document.collection_id != collection.pk:
            raise WorkbenchError(_("This document is not in the collection."), code="document_elsewhere")
        if document.status != DocumentStatus.READY:
            raise Conflict(
                _("“%(name)s” is not ready: %(status)s. Wait until it is, or retry it.")
                % {"name": document.name, "status": document.get_status_display()},
                code="document_not_ready",
            )
        return
    if not state.has_documents:
        raise Conflict(
            _("No document of this collection is ready. Upload one first."), code="collection_empty"
        )


def cache_key(
    *,
    collection: Collection,
    document: Document | None,
    text: str,
    strategy: str,
    edits: QuestionEdits | None = None,
    rubric: Rubric | None = None,
    settings: EngineSettings | None = None,
    state: AnswerState | None = None,
) -> str:
    """SHA-256 over everything that changes the answer: question, scope, state of the documents, strategy,
    settings, thresholds, models, prompts (system.md, "Caches"). ``state`` is read where it is not given."""
    state = state or answer_state(collection=collection, document=document)
    parts = {
        # Capitals tell codes from words (IT, WHO); elsewhere they change nothing.
        "question": [normalise(text).casefold(), *exact_codes(normalise(text))],
        "scope": state.scope,
        "edits": edits.model_dump(mode="json") if edits else None,
        "rubric": rubric.model_dump(mode="json") if rubric else None,
        "strategy": strategy,
        "settings": (settings or engine_settings(collection=collection)).digest(),
        "dictionary": state.dictionary,
        "gates": state.gates,
        "weights": state.weights,
        "engine": engine_state(strategy=strategy) | {"space": state.space, "reranker": state.reranker},
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def edits_of(run: Run) -> QuestionEdits | None:
    """The keywords that a person gave the run."""
    return QuestionEdits.model_validate(run.question_edits) if run.question_edits else None


def rubric_edits_of(run: Run) -> Rubric | None:
    """The criteria that a person gave the run."""
    return Rubric.model_validate(run.rubric_edits) if run.rubric_edits else None


def run_cache_key(*, run: Run) -> str:
    """The key of a run by the state of things now: what was approved, uploaded or deployed since it was asked
    changes it."""
    return cache_key(
        collection=run.collection,
        document=run.question.document,
        text=run.question.text,
        strategy=run.strategy,
        edits=edits_of(run),
        rubric=rubric_edits_of(run),
        settings=EngineSettings.model_validate(run.settings),
    )
