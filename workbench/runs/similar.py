"""Finds earlier questions in other words. They are linked, never used as answers (docs/adr/0010).

The vectors of earlier questions of the same scope are compared with the new one's. They are few and short, so the
worker computes them and keeps them in memory. Only the link is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from django.db.models import Q

from arbitration.protocols import Embedder
from arbitration.triage import SAME_IN_OTHER_WORDS

from .models import Question, Run, RunStatus

#: Earlier questions looked at, newest first.
MOST_EARLIER = 200


@dataclass(frozen=True, slots=True)
class SimilarRun:
    """The run of an earlier question in other words. ``similarity`` is a cosine."""

    run_id: int
    similarity: float


def similar_run(*, run: Run, embedder: Embedder, bar: float = SAME_IN_OTHER_WORDS) -> SimilarRun | None:
    """The finished run of the nearest earlier question in the same scope, if near enough.

    Questions with the same normalised words are not linked: the cache answers them, or a person repeated them on
    purpose. ``bar`` is the collection's ``query`` threshold, if it has thresholds.
    """
    question = run.question
    earlier = (
        Run.objects.visible_to(run.requested_by)
        .filter(
            collection_id=run.collection_id,
            question__document_id=question.document_id,
            status=RunStatus.DONE,
            pk__lt=run.pk,
        )
        .filter(same_filters(question))
        .exclude(question__normalised=question.normalised)
        .order_by("-pk")
        .values_list("pk", "question__normalised")[:MOST_EARLIER]
    )
    newest: dict[str, int] = {}
    for pk, text in earlier:
        newest.setdefault(text, pk)
    if not newest:
        return None
    nearest, similarity = nearest_question(question.normalised, list(newest), embedder=embedder)
    if similarity < bar:
        return None
    return SimilarRun(newest[nearest], round(similarity, 4))


def same_filters(question: Question) -> Q:
    if question.filters is None:
        return Q(question__filters__isnull=True)
    return Q(question__filters=question.filters)


def nearest_question(text: str, others: Sequence[str], *, embedder: Embedder) -> tuple[str, float]:
    """The nearest of some questions and its cosine in [-1, 1]. ``others`` is not empty."""
    vectors = _vectors([text, *others], embedder)
    cosines = vectors[1:] @ vectors[0]
    best = int(np.argmax(cosines))
    return others[best], float(min(1.0, cosines[best]))


#: Vectors of this process by (space, text): the same whoever computed them.
_known: dict[tuple[str, str], npt.NDArray[np.float32]] = {}
_MOST_KNOWN = 20 * MOST_EARLIER


def _vectors(texts: Sequence[str], embedder: Embedder) -> npt.NDArray[np.float32]:
    space = embedder.space
    missing = list(dict.fromkeys(text for text in texts if (space, text) not in _known))
    found = {text: _known[(space, text)] for text in texts if (space, text) in _known}
    if missing:
        found |= dict(zip(missing, embedder.embed(missing), strict=True))
    if len(_known) > _MOST_KNOWN:
        _known.clear()
    _known.update({(space, text): vector for text, vector in found.items()})
    return np.stack([found[text] for text in texts])
