"""Turns questions into runs. ``execution.py`` has the stages of a run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from arbitration.questions.assisted import QuestionEdits
from arbitration.settings import METHODS, EngineSettings, MethodName
from arbitration.strategies.multi_criteria import MULTI_CRITERIA_2
from arbitration.strategies.rubrics import Rubric
from arbitration.text import exact_codes, normalise
from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.actions import Action
from workbench.audit.services import audit_record
from workbench.collection_settings.strategy_options import options_for
from workbench.documents.models import Collection, Document, DocumentStatus
from workbench.documents.narrowing import ScopeFilter, documents_matching
from workbench.documents.restrictions import hidden_documents
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.infra.dispatch import dispatch_on_commit
from workbench.infra.storable import storable

from .answer_state import AnswerState, answer_state
from .models import ENDED, Question, Run, RunStatus
from .selectors import run_with_key
from .strategies import engine_settings, engine_state, strategy_for

MAX_QUESTION_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class AskOutcome:
    """The run that answers a question. ``is_cached`` if an earlier run already answered it."""

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
    filters: ScopeFilter | None = None,
    methods: Sequence[MethodName] = (),
    options: Mapping[str, object] | None = None,
    follows: Run | None = None,
) -> AskOutcome:
    """Asks a question about one document, a whole collection, or the documents that match ``filters``.

    With ``use_cache``, an earlier run answers if question, documents, strategy, settings and models are the same.
    ``edits`` are a person's keywords for this run, ``rubric`` their criteria for strategies that use some.
    ``follow_references`` also reads passages that the best ones refer to. ``methods`` are the only detectors to use,
    ``options`` are strategy settings for this question. ``follows`` is the run that this question follows up: the new
    run records it, but searches only by its own words. The same ``idempotency_key`` returns the run it created. Raises
    :class:`NotAllowed`, :class:`Conflict` (document not ready) or :class:`WorkbenchError` (no question, no documents,
    unknown strategy).
    """
    _check_may_ask(actor=actor, collection=collection, follows=follows)
    text = _checked_text(text)
    state = answer_state(collection=collection, document=document)
    hidden = hidden_documents(user=actor, collection=collection)
    _check_scope(collection=collection, document=document, state=state, hidden=hidden)
    matching = _matching(collection=collection, document=document, filters=filters, hidden=hidden)
    strategy = strategy_for(collection=collection, wanted=strategy)
    _check_rubric(strategy=strategy, rubric=rubric)
    chosen = options_for(collection=collection, strategy=strategy, given=options)
    run = Run(
        question=Question(
            collection=collection,
            document=document,
            filters=_stored(filters),
            text=text,
            normalised=normalise(text).casefold(),
            asked_by=actor,
        ),
        collection=collection,
        strategy=strategy,
        requested_by=actor,
        use_cache=use_cache,
        idempotency_key=idempotency_key,
        question_edits=edits.model_dump(mode="json") if edits else None,
        rubric_edits=rubric.model_dump(mode="json", exclude_none=True) if rubric else None,
        strategy_options=chosen or None,
        follows=follows,
    )
    if made := _run_made(run):
        return AskOutcome(made, is_cached=False)
    settings = engine_settings(collection=collection, bars=state.bars).model_copy(
        update={"follow_references": follow_references, "forced_methods": _in_order(methods)}
    )
    run.settings = settings.model_dump(mode="json")
    run.cache_key = cache_key(
        collection=collection,
        document=document,
        text=text,
        strategy=strategy,
        edits=edits,
        rubric=rubric,
        settings=settings,
        state=state,
        matching=matching,
        options=chosen,
    )
    earlier = run_with_key(cache_key=run.cache_key) if use_cache else None
    if earlier is not None:
        earlier.collection = collection  # its key includes the collection
        _record_repeat(actor=actor, run=earlier)
        return AskOutcome(earlier, is_cached=True)
    return AskOutcome(_run_create(run, methods=settings.forced_methods), is_cached=False)


def _check_may_ask(*, actor: User, collection: Collection, follows: Run | None) -> None:
    if not has_permission(actor, collection, Permission.ASK):
        raise NotAllowed(_("You may not ask questions in this collection."))
    if follows is not None and follows.collection_id != collection.pk:
        raise WorkbenchError(
            _("A follow-up stays in the collection of the question that it follows."),
            code="follows_elsewhere",
        )


def _run_create(run: Run, *, methods: Sequence[MethodName]) -> Run:
    """Saves the run and its question, and sends it to a worker. Of two identical requests at the same time, one creates
    the run and both return it."""
    try:
        with transaction.atomic():
            run.question.save()
            run.save()
            _record_question(run, methods)
            dispatch_on_commit("questions.detect", run_id=run.pk)
    except IntegrityError:
        made = _run_made(run)
        if made is None:
            raise
        return made
    return run


def _record_question(run: Run, methods: Sequence[MethodName]) -> None:
    question = run.question
    audit_record(
        actor=run.requested_by,
        action=Action.QUESTION_ASKED,
        obj=run,
        after={
            "question": question.pk,
            "document": question.document_id,
            "strategy": run.strategy,
            "run": run.pk,
            **({"filters": question.filters} if question.filters is not None else {}),
            **({"methods": list(methods)} if methods else {}),
            **({"follows": run.follows_id} if run.follows_id else {}),
        },
    )


def _run_made(run: Run) -> Run | None:
    """The run that the same request created earlier. Raises Conflict if another request used the key."""
    if run.idempotency_key is None:
        return None
    made = (
        Run.objects.select_related("question", "collection")
        .filter(requested_by=run.requested_by, idempotency_key=run.idempotency_key)
        .first()
    )
    if made is not None and _asked_by_key(made) != _asked_by_key(run):
        raise Conflict(
            _("This idempotency key belongs to another question. Use a new one."), code="idempotency_reused"
        )
    return made


def _asked_by_key(run: Run) -> tuple[object, ...]:
    """The fields of a request that an idempotency key identifies."""
    question = run.question
    return (
        run.collection_id,
        question.document_id,
        question.filters,
        question.text,
        run.strategy,
        run.follows_id,
    )


def _record_repeat(*, actor: User, run: Run) -> None:
    with transaction.atomic():
        audit_record(
            actor=actor,
            action=Action.QUESTION_REPEATED,
            obj=run,
            after={"run": run.pk, "question": run.question_id},
        )


def run_cancel(*, actor: User, run: Run) -> None:
    """Cancels a run that has not ended. Its worker stops at its next step."""
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
        audit_record(actor=actor, action=Action.RUN_CANCELLED, obj=run)


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


def _check_scope(
    *, collection: Collection, document: Document | None, state: AnswerState, hidden: frozenset[int]
) -> None:
    if document is not None:
        if document.collection_id != collection.pk or document.pk in hidden:
            raise WorkbenchError(_("This document is not in the collection."), code="document_elsewhere")
        if document.status != DocumentStatus.READY:
            raise _not_ready(document)
        return
    if not state.has_documents:
        raise Conflict(
            _("No document of this collection is ready. Upload one first."), code="collection_empty"
        )


def _not_ready(document: Document) -> Conflict:
    return Conflict(
        _("“%(name)s” is not ready: %(status)s. Wait until it is, or retry it.")
        % {"name": document.name, "status": document.get_status_display()},
        code="document_not_ready",
    )


def _in_order(methods: Sequence[MethodName]) -> tuple[MethodName, ...]:
    """The methods in the order of the engine, without duplicates. Raises :class:`WorkbenchError` for an unknown one."""
    for method in methods:
        if method not in METHODS:
            raise WorkbenchError(
                _("There is no search method “%(name)s”. Choose among: %(names)s.")
                % {"name": str(method)[:40], "names": ", ".join(METHODS)},
                code="method_unknown",
            )
    return tuple(method for method in METHODS if method in methods)


def _stored(filters: ScopeFilter | None) -> dict[str, Any] | None:
    return filters.model_dump(mode="json", exclude_defaults=True) if filters else None


def _matching(
    *, collection: Collection, document: Document | None, filters: ScopeFilter | None, hidden: frozenset[int]
) -> frozenset[int] | None:
    if not filters:
        return _asked(collection=collection, filters=None, hidden=frozenset() if document else hidden)
    if document is not None:
        raise WorkbenchError(
            _("Choose a document or filters. Filters narrow a question of the whole collection."),
            code="filters_of_a_document",
        )
    _check_documents(collection=collection, named=filters.documents, hidden=hidden)
    matching = _asked(collection=collection, filters=filters, hidden=hidden)
    if not matching:
        raise Conflict(
            _("No document matches these filters. Remove one, or fill in the documents' fields first."),
            code="filters_match_nothing",
        )
    return matching


def _asked(
    *, collection: Collection, filters: ScopeFilter | None, hidden: frozenset[int]
) -> frozenset[int] | None:
    """Keys of the visible documents of a collection that match the filters; None for all."""
    if not filters and not hidden:
        return None
    return documents_matching(collection=collection, given=filters or ScopeFilter()) - hidden


def _check_documents(*, collection: Collection, named: Sequence[int], hidden: frozenset[int]) -> None:
    """Checks that every given document can be asked, so that none is silently left out. A document of another
    collection, or one restricted to others, is refused as if it did not exist."""
    if not named:
        return
    here = Document.objects.filter(collection=collection, pk__in=named)
    newest = set(here.newest().values_list("pk", flat=True))
    found = {document.pk: document for document in here}
    if len(found) < len(named) or hidden & found.keys():
        raise WorkbenchError(_("One of these documents is not in the collection."), code="document_elsewhere")
    for document in found.values():
        if document.status != DocumentStatus.READY:
            raise _not_ready(document)
        if document.pk not in newest:
            raise Conflict(
                _("“%(name)s” has a newer version. Choose that one, or ask this one alone.")
                % {"name": document.name},
                code="document_replaced",
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
    options: Mapping[str, object] | None = None,
    matching: frozenset[int] | None = None,
) -> str:
    """SHA-256 over everything that affects the answer: question, scope, state of the documents, strategy, settings,
    thresholds, models and prompts (system.md, "Caches"). ``state`` is read if omitted. ``matching`` are the documents
    that match the question's filters."""
    state = state or answer_state(collection=collection, document=document)
    parts = {
        # Case only matters for codes that are also words (IT, WHO).
        "question": [normalise(text).casefold(), *exact_codes(normalise(text))],
        "scope": [*state.scope, None if matching is None else sorted(matching)],
        "edits": edits.model_dump(mode="json") if edits else None,
        "rubric": rubric.model_dump(mode="json") if rubric else None,
        "strategy": strategy,
        "options": dict(options or {}),
        "settings": (settings or engine_settings(collection=collection, bars=state.bars)).digest(),
        "dictionary": state.dictionary,
        "gates": state.gates,
        "weights": state.weights,
        "engine": engine_state(strategy=strategy, collection=collection)
        | {"space": state.space, "reranker": state.reranker},
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def question_repeat(*, actor: User, run: Run, **changes: Any) -> AskOutcome:
    """Asks the question of a run again in a new run, with the same settings except for ``changes``. Raises as
    :func:`question_ask`."""
    asked = {
        "collection": run.collection,
        "text": run.question.text,
        "document": run.question.document,
        "filters": filters_of(run.question),
        "methods": EngineSettings.model_validate(run.settings).forced_methods,
        "strategy": run.strategy,
        "edits": edits_of(run),
        "rubric": rubric_edits_of(run),
        "options": run.strategy_options,
        "follows": run.follows,
    }
    return question_ask(actor=actor, **(asked | changes))


def edits_of(run: Run) -> QuestionEdits | None:
    return QuestionEdits.model_validate(run.question_edits) if run.question_edits else None


def rubric_edits_of(run: Run) -> Rubric | None:
    return Rubric.model_validate(run.rubric_edits) if run.rubric_edits else None


def filters_of(question: Question) -> ScopeFilter | None:
    return ScopeFilter.model_validate(question.filters) if question.filters else None


def documents_asked(run: Run) -> frozenset[int] | None:
    """Keys of the documents that match the question's filters now and that its asker can see. None if neither excludes
    any, and for a question about one document."""
    if run.question.document_id is not None:
        return None
    hidden = hidden_documents(user=run.requested_by, collection=run.collection)
    return _asked(collection=run.collection, filters=filters_of(run.question), hidden=hidden)


def run_cache_key(*, run: Run) -> str:
    """The cache key of a run in the current state. Approvals, uploads and deployments since it was asked change it."""
    return cache_key(
        collection=run.collection,
        document=run.question.document,
        text=run.question.text,
        strategy=run.strategy,
        edits=edits_of(run),
        rubric=rubric_edits_of(run),
        settings=EngineSettings.model_validate(run.settings),
        options=run.strategy_options,
        matching=documents_asked(run),
    )
