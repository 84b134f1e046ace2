"""Reads the question of a run: by the parser, by a model if the strategy uses one, and by a person's edits."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings

from arbitration.errors import LLMFailure
from arbitration.prompting import fence
from arbitration.protocols import DocumentProfile
from arbitration.questions.assisted import (
    QuestionEdits,
    QuestionReading,
    reading_request,
    with_edits,
    with_reading,
)
from arbitration.questions.model import ParsedQuestion
from arbitration.questions.parser import parse_question
from workbench.synonyms.selectors import dictionary_of

from .gateway import chat_model, give_connection_back
from .models import Run
from .strategies import needs_model


def question_read(
    *, run: Run, documents: Sequence[DocumentProfile]
) -> tuple[ParsedQuestion, tuple[str, ...]]:
    """The question as it will be searched, and notes for the record. If a model fails, the parser's reading and a note
    remain."""
    question = parse_question(
        run.question.text,
        dictionary=dictionary_of(collection=run.collection),
        document_languages={document.language for document in documents},
    )
    if run.question_edits:
        return with_edits(question, QuestionEdits.model_validate(run.question_edits)), (
            "keywords edited by a person",
        )
    if not needs_model(run.strategy):
        return question, ()
    return _by_model(run, question, documents)


def _by_model(
    run: Run, question: ParsedQuestion, documents: Sequence[DocumentProfile]
) -> tuple[ParsedQuestion, tuple[str, ...]]:
    named = sorted({document.document_type or document.name for document in documents})[:8]
    kinds = [fence(name, label="document") for name in named]  # a file's name is as hostile as its text
    request = reading_request(question, documents=kinds, timeout_s=float(settings.LLM_TIMEOUT_SECONDS))
    try:
        with chat_model(run=run) as chat:
            if chat is None:
                return question, ()
            give_connection_back()
            reply = chat.complete(request)
    except LLMFailure as failure:
        return question, (f"question read without a model: {failure.outcome}",)
    assert isinstance(reply.parsed, QuestionReading)
    return with_reading(question, reply.parsed), ()
