"""Question sets: writing them, and asking them of documents."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from workbench.accounts.models import User
from workbench.accounts.permissions import Permission, has_permission
from workbench.audit.actions import Action
from workbench.audit.services import audit_record, audit_work
from workbench.documents.models import Collection, Document
from workbench.errors import Conflict, NotAllowed, WorkbenchError
from workbench.infra.dispatch import dispatch_on_commit
from workbench.runs.models import RunStatus
from workbench.runs.services import MAX_QUESTION_CHARACTERS, question_ask
from workbench.runs.strategies import strategy_for

from .models import Cell, Entry, QuestionSet, Round
from .selectors import cells_open, rounds_to_finish

MAX_QUESTIONS = 200
MAX_CELLS = 20_000


def questions_in(text: str) -> list[str]:
    """The questions of a text, one a line; empty lines and list marks at the start are left out.

    Raises :class:`WorkbenchError` for none, too many, a repeated or an overlong one.
    """
    lines = [line.strip().lstrip("-*•").strip() for line in text.splitlines()]
    questions = [line for line in lines if line]
    if not questions:
        raise WorkbenchError(
            _("Write at least one question, each on a line of its own."), code="no_questions"
        )
    if len(questions) > MAX_QUESTIONS:
        raise WorkbenchError(
            _("A set holds at most %(limit)d questions.") % {"limit": MAX_QUESTIONS},
            code="too_many_questions",
        )
    for number, question in enumerate(questions, start=1):
        if len(question) > MAX_QUESTION_CHARACTERS:
            raise WorkbenchError(_("Question %(n)d is too long.") % {"n": number}, code="question_too_long")
    repeated = next((q for q in questions if questions.count(q) > 1), None)
    if repeated:
        raise WorkbenchError(_("“%(text)s” appears twice.") % {"text": repeated}, code="question_repeated")
    return questions


def question_set_create(
    *, actor: User, collection: Collection, name: str, questions: Sequence[str], description: str = ""
) -> QuestionSet:
    """A new set. Raises :class:`NotAllowed`, or :class:`Conflict` when the name is taken."""
    _require_ask(actor, collection)
    try:
        with transaction.atomic():
            question_set = QuestionSet.objects.create(
                collection=collection, name=name.strip(), description=description, created_by=actor
            )
            Entry.objects.bulk_create(
                Entry(question_set=question_set, ordinal=ordinal, text=text)
                for ordinal, text in enumerate(questions, start=1)
            )
            audit_record(
                actor=actor,
                action=Action.QUESTION_SET_CREATED,
                obj=question_set,
                after={"name": question_set.name, "questions": len(questions)},
            )
    except IntegrityError as error:
        raise Conflict(_("There is a set with this name already. Choose another one.")) from error
    return question_set


def question_set_change(*, actor: User, question_set: QuestionSet, questions: Sequence[str]) -> None:
    """Replaces the questions asked from now on. Rounds keep what they asked: entries are never edited."""
    _require_ask(actor, question_set.collection)
    with transaction.atomic():
        QuestionSet.objects.select_for_update().get(pk=question_set.pk)  # one change at a time
        current = list(Entry.objects.filter(question_set=question_set, is_current=True))
        before = [entry.text for entry in current]
        if before == list(questions):
            return
        Entry.objects.filter(pk__in=[entry.pk for entry in current]).update(is_current=False)
        Entry.objects.bulk_create(
            Entry(question_set=question_set, ordinal=ordinal, text=text)
            for ordinal, text in enumerate(questions, start=1)
        )
        audit_record(
            actor=actor,
            action=Action.QUESTION_SET_CHANGED,
            obj=question_set,
            before={"questions": len(before)},
            after={
                "questions": len(questions),
                "added": len(set(questions) - set(before)),
                "removed": len(set(before) - set(questions)),
            },
        )


def round_start(
    *,
    actor: User,
    question_set: QuestionSet,
    documents: Sequence[Document],
    strategy: str = "",
    due_on: dt.date | None = None,
) -> Round:
    """Asks every question of the set of every document given; the workers fill the grid.

    Raises :class:`NotAllowed`; :class:`WorkbenchError` for no documents, one of another collection, or too many
    cells.
    """
    collection = question_set.collection
    _require_ask(actor, collection)
    entries = list(question_set.entries.filter(is_current=True))
    documents = list(dict.fromkeys(documents))
    if not documents:
        raise WorkbenchError(_("Choose at least one document."), code="no_documents")
    if any(document.collection_id != collection.pk for document in documents):
        raise WorkbenchError(
            _("A set is asked of documents of its own collection."), code="document_elsewhere"
        )
    if len(entries) * len(documents) > MAX_CELLS:
        raise WorkbenchError(
            _("That would be more than %(limit)d questions. Choose fewer documents.") % {"limit": MAX_CELLS},
            code="too_many_cells",
        )
    with transaction.atomic():
        started = Round.objects.create(
            question_set=question_set,
            strategy=strategy_for(collection=collection, wanted=strategy),
            requested_by=actor,
            due_on=due_on,
        )
        Cell.objects.bulk_create(
            Cell(round=started, entry=entry, document=document) for document in documents for entry in entries
        )
        audit_record(
            actor=actor,
            action=Action.QUESTION_SET_ASKED,
            obj=started,
            collection_id=collection.pk,
            after={
                "set": question_set.pk,
                "documents": [document.pk for document in documents][:200],
                "questions": len(entries),
                "strategy": started.strategy,
            },
        )
        dispatch_on_commit("question_sets.fill", round_id=started.pk)
    return started


def round_fill(*, round_id: int, limit: int = 200) -> int:
    """Asks up to ``limit`` cells that were not asked yet; gives their number. Safe to repeat and to run twice at
    once: a cell is taken by its row lock, and its run is written with it."""
    asked = 0
    while asked < limit and _fill_one(round_id):
        asked += 1
    return asked


def _fill_one(round_id: int) -> bool:
    with transaction.atomic():
        cell = (
            Cell.objects.select_for_update(of=("self",), skip_locked=True)
            .select_related("round__question_set__collection", "round__requested_by", "entry", "document")
            .filter(round_id=round_id, run__isnull=True, failure="")
            .first()
        )
        if cell is None:
            return False
        try:
            outcome = question_ask(
                actor=cell.round.requested_by,
                collection=cell.round.question_set.collection,
                document=cell.document,
                text=cell.entry.text,
                strategy=cell.round.strategy,
            )
        except WorkbenchError as error:
            Cell.objects.filter(pk=cell.pk).update(failure=error.message)
        else:
            Cell.objects.filter(pk=cell.pk).update(run=outcome.run)
    return True


def cell_retry(*, actor: User, cell: Cell) -> None:
    """Asks a cell again that could not be asked, or whose run failed."""
    collection = cell.round.question_set.collection
    _require_ask(actor, collection)
    with transaction.atomic():
        changed = (
            Cell.objects.filter(pk=cell.pk)
            .filter(~Q(failure="") | Q(run__status__in=[RunStatus.FAILED, RunStatus.CANCELLED]))
            .update(run=None, failure="")
        )
        if not changed:
            raise Conflict(_("This question was answered, or is on its way."))
        Round.objects.filter(pk=cell.round_id).update(finished_at=None)
        audit_record(
            actor=actor,
            action=Action.QUESTION_SET_CELL_RETRIED,
            obj=cell,
            collection_id=collection.pk,
            after={"round": cell.round_id, "document": cell.document_id, "entry": cell.entry_id},
        )
        dispatch_on_commit("question_sets.fill", round_id=cell.round_id)


def rounds_finish() -> int:
    """Puts on record which rounds have an outcome in every cell since the last time; gives their number."""
    return sum(_finish_one(pk) for pk in rounds_to_finish())


def _finish_one(round_id: int) -> bool:
    with transaction.atomic():
        # A retry changes its cell before the round, so it either is seen here or clears what is written here.
        rows = Round.objects.select_for_update(of=("self",), skip_locked=True).select_related("question_set")
        ended = rows.filter(pk=round_id, finished_at__isnull=True).first()
        if ended is None or cells_open().filter(round=ended).exists():
            return False
        Round.objects.filter(pk=ended.pk).update(finished_at=Now())
        failed = ended.cells.filter(~Q(failure="") | ~Q(run__status=RunStatus.DONE))
        audit_work(
            action=Action.QUESTION_SET_FINISHED,
            obj=ended,
            collection_id=ended.question_set.collection_id,
            after={
                "set": ended.question_set_id,
                "cells": ended.cells.count(),
                "failed": failed.count(),
            },
        )
    return True


def _require_ask(actor: User, collection: Collection) -> None:
    if not has_permission(actor, collection, Permission.ASK):
        raise NotAllowed(_("You may not ask questions in this collection."))
