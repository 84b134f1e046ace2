"""Labels that train nothing, because no candidate that detection finds is meant by them: found and named.

Finding candidates needs the encoder and the index, which a web process has not loaded: it asks the worker and waits a
few seconds for small files. Whatever is not known then stands on the models' pages later.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from django.conf import settings

from arbitration.features import FEATURE_VERSION
from workbench.accounts.models import User
from workbench.documents.embedding import active_space
from workbench.documents.models import Document, EmbeddingSpace
from workbench.infra.dispatch import dispatch_on_commit
from workbench.labeling.matching import Unmatched
from workbench.labeling.models import Label, LabelQuerySet
from workbench.review.blindness import of_hidden_card

from .examples import by_list, feature_rows
from .models import FeatureRow

_POLL_SECONDS = 0.25


def labels_unmatched() -> LabelQuerySet:
    """Labels that stand and mean no candidate, as far as anybody looked."""
    return Label.objects.standing().filter(
        feature_rows__feature_version=FEATURE_VERSION,
        feature_rows__embedding_space=EmbeddingSpace.objects.filter(is_active=True).values("name")[:1],
        feature_rows__estimate__isnull=True,
    )


def unmatched_seen(*, user: User) -> LabelQuerySet:
    """Those of them that the person may see."""
    seen = labels_unmatched().visible_to(user).exclude(of_hidden_card(user=user))
    return seen.select_related("document", "collection").order_by("pk")


def match_here(labels: Sequence[Label], are_stored: bool) -> Unmatched:
    """Looks in this process, and keeps the feature rows of stored labels."""
    space = active_space().name
    documents = Document.objects.in_bulk({label.document_id for label in labels})
    for label in labels:
        label.document = documents[label.document_id]
    idle: set[int] = set()
    places = {id(label): place for place, label in enumerate(labels)}
    for of_list in by_list(labels):
        rows = feature_rows(of_list, space=space)
        if are_stored:
            FeatureRow.objects.bulk_create(rows, ignore_conflicts=True)
        idle |= {places[id(label)] for label, row in zip(of_list, rows, strict=True) if row.estimate is None}
    return Unmatched(tuple(sorted(idle)))


def match_by_worker(labels: Sequence[Label], are_stored: bool) -> Unmatched:
    """Has the worker look, and waits ``LABEL_MATCH_SECONDS`` for it; of a mere check nothing is known."""
    if not are_stored or not labels or labels[0].label_import_id is None:
        return Unmatched(not_checked=len(labels))
    dispatch_on_commit("models.match", import_id=labels[0].label_import_id)
    deadline = time.monotonic() + settings.LABEL_MATCH_SECONDS
    found = _found([label.pk for label in labels])
    while len(found) < len(labels) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
        found = _found([label.pk for label in labels])
    idle = tuple(place for place, label in enumerate(labels) if found.get(label.pk) is False)
    return Unmatched(idle, not_checked=len(labels) - len(found))


def run_match(*, import_id: int) -> None:
    """What the worker does: the feature rows of an import, one question after another. Safe to repeat."""
    labels = Label.objects.filter(label_import=import_id).select_related("candidate", "collection")
    known = _found(labels.values_list("pk", flat=True))
    match_here([label for label in labels.order_by("pk") if label.pk not in known], True)


def _found(label_ids: Iterable[int]) -> dict[int, bool]:
    """By label whether it means a candidate, of those that somebody looked at."""
    rows = FeatureRow.objects.filter(
        label__in=label_ids, feature_version=FEATURE_VERSION, embedding_space=active_space().name
    )
    return {label_id: estimate is not None for label_id, estimate in rows.values_list("label_id", "estimate")}
