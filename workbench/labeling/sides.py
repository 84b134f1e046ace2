"""On which side of the holdout a question stands: the same for ever.

The core says it from the order in which questions came (``training.snapshot.QuestionSides``); this keeps that order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.db import transaction

from arbitration.evaluation.question_groups import question_hash
from training.snapshot import HOLDOUT_SHARE, QuestionSides
from workbench.audit.locks import LockSpace, advisory_lock
from workbench.runs.models import Question

from .models import Label, Pair, QuestionPlace

_BATCH = 2000


def question_sides(*, new: Iterable[str] = (), holdout_share: float = HOLDOUT_SHARE) -> QuestionSides:
    """The side of every question ever asked, labelled or waiting to be, as it has been and stays.

    Takes in the questions that came since the last call, the oldest first, then ``new`` ones in their order; the order
    of those known never changes.
    """
    return QuestionSides.of(_taken_in(new), holdout_share=holdout_share)


def _taken_in(new: Iterable[str]) -> list[str]:
    """The texts of all questions in their order, after those were taken in that had no place yet."""
    with transaction.atomic():
        advisory_lock(LockSpace.QUESTION_PLACES)
        known = dict(QuestionPlace.objects.order_by("id").values_list("question_hash", "text"))
        places: dict[str, str] = {}
        for text in (*_texts_by_age(), *new):
            key = question_hash(text)
            if key not in known:
                places.setdefault(key, text)
        QuestionPlace.objects.bulk_create(
            [QuestionPlace(question_hash=key, text=text) for key, text in places.items()], batch_size=_BATCH
        )
    return [*known.values(), *places.values()]


def _texts_by_age() -> Iterator[str]:
    tables = (
        Question.objects.values_list("created_at", "pk", "text"),
        Label.objects.values_list("created_at", "pk", "question"),
        Pair.objects.values_list("created_at", "pk", "question"),
    )
    rows = [row for table in tables for row in table.iterator(chunk_size=_BATCH)]
    for _created, _pk, text in sorted(rows, key=lambda row: row[:2]):
        yield text
