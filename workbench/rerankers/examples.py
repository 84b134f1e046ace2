"""Labels become examples: the feature row of the labelled candidate, in the list it stood in.

A label that came from a run reads the run's candidate pool; an imported one has its question asked again, without a
run. Rows are computed once per feature version and kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import structlog
from pydantic import ValidationError

from arbitration.errors import ArbitrationError
from arbitration.evidence import evidence_scores
from arbitration.features import FEATURE_NAMES, FEATURE_VERSION, pool_features
from arbitration.pipeline import detect
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.settings import EngineSettings
from training.labels import LabelRow
from training.snapshot import Example
from workbench.documents.embedding import active_space, current_embedder
from workbench.documents.models import Document
from workbench.documents.store import DatabaseCandidateStore
from workbench.labeling.matching import matches
from workbench.labeling.models import Label
from workbench.runs.models import RunPool

from .models import FeatureRow

logger = structlog.get_logger(__name__)

Beat = Callable[[int, int], None]

_BATCH = 2000


@dataclass(frozen=True, slots=True)
class Featured:
    """A label's example, what the rules alone would have given its candidate, and which candidate of which list that
    is (empty where it was not kept)."""

    example: Example
    estimate: float
    candidate: str = ""


def featured_labels(
    rows: Sequence[LabelRow], *, beat: Beat = lambda done, total: None
) -> dict[str, Featured]:
    """By label id, the labels whose candidate still stands in a list. ``beat`` is told lists done and in all."""
    space = active_space().name
    _compute_missing([int(row.label_id) for row in rows], space=space, beat=beat)
    by_id = {row.label_id: row for row in rows}
    found: dict[str, Featured] = {}
    kept = FeatureRow.objects.filter(
        feature_version=FEATURE_VERSION, embedding_space=space, estimate__isnull=False
    )
    for batch in _batches(list(by_id)):
        for feature_row in kept.filter(label_id__in=[int(label_id) for label_id in batch]):
            label = by_id[str(feature_row.label_id)]
            found[label.label_id] = Featured(
                example=_example(label, feature_row),
                estimate=float(feature_row.estimate or 0.0),
                candidate=_place_in_list(label, feature_row),
            )
    return found


def _place_in_list(label: LabelRow, row: FeatureRow) -> str:
    if not row.pool_candidate:
        return ""
    return f"{label.pair[0]}\0{row.candidate_list}\0{row.pool_candidate}"


def _example(label: LabelRow, row: FeatureRow) -> Example:
    return Example(
        label_id=label.label_id,
        question=label.question,
        role=label.role,
        weight=label.source.weight,
        # Rows from before a feature was added behind the others: nobody measured it.
        features=(*row.values, *(0.0 for _ in range(len(FEATURE_NAMES) - len(row.values)))),
        collection=label.collection,
        candidate_list=row.candidate_list,
    )


def _batches(items: Sequence[str]) -> Iterator[list[str]]:
    walk = iter(items)
    while batch := list(islice(walk, _BATCH)):
        yield batch


# --- feature rows -----------------------------------------------------------------------------------


def _compute_missing(label_ids: Sequence[int], *, space: str, beat: Beat) -> None:
    known = set(
        FeatureRow.objects.filter(feature_version=FEATURE_VERSION, embedding_space=space).values_list(
            "label_id", flat=True
        )
    )
    missing = [label_id for label_id in label_ids if label_id not in known]
    lists = by_list(_labels(missing))
    for done, labels in enumerate(lists, start=1):
        FeatureRow.objects.bulk_create(feature_rows(labels, space=space), ignore_conflicts=True)
        beat(done, len(lists))


def _labels(label_ids: Sequence[int]) -> Iterator[Label]:
    for batch in _batches([str(label_id) for label_id in label_ids]):
        labels = Label.objects.filter(pk__in=batch).select_related("candidate", "document", "collection")
        yield from labels.order_by("pk")


def by_list(labels: Iterable[Label]) -> list[list[Label]]:
    """The labels of each candidate list: those of one run, or imported ones of one question and collection."""
    lists: dict[tuple[str, object, str], list[Label]] = defaultdict(list)
    for label in labels:
        if label.candidate is not None:
            lists["run", label.candidate.run_id, ""].append(label)
        else:
            lists["asked", label.collection_id, label.question_hash].append(label)
    return list(lists.values())


def feature_rows(labels: Sequence[Label], *, space: str) -> list[FeatureRow]:
    """Unsaved rows of the labels of one list, in their order; one without values where no candidate is meant."""
    name, pool = _pool_of(labels)
    if pool is None or not pool.candidates:
        return [_without(label, space) for label in labels]
    features, estimates = pool_features(pool), evidence_scores(pool)
    places = {candidate.candidate_id: place for place, candidate in enumerate(pool.candidates)}
    return [
        _without(label, space)
        if candidate is None
        else FeatureRow(
            label=label,
            feature_version=FEATURE_VERSION,
            embedding_space=space,
            candidate_list=name,
            pool_candidate=candidate.candidate_id,
            values=[float(value) for value in features[places[candidate.candidate_id]]],
            estimate=min(1.0, max(0.0, estimates[candidate.candidate_id])),
        )
        for label, candidate in zip(labels, _candidates_of(labels, pool), strict=True)
    ]


def _without(label: Label, space: str) -> FeatureRow:
    return FeatureRow(label=label, feature_version=FEATURE_VERSION, embedding_space=space)


def _pool_of(labels: Sequence[Label]) -> tuple[str, CandidatePool | None]:
    first = labels[0]
    if first.candidate is None:
        return f"asked:{first.collection_id}", _asked_again(labels)
    stored = RunPool.objects.filter(run_id=first.candidate.run_id).first()
    name = f"run:{first.candidate.run_id}"
    if stored is None:
        return name, None
    try:
        pool = CandidatePool.model_validate(stored.body)
    except ValidationError:  # written by an engine whose records had another shape
        return name, _asked_again(labels)
    if pool.embedding_space not in (None, active_space().name):
        return name, _asked_again(labels)
    return name, pool


def _asked_again(labels: Sequence[Label]) -> CandidatePool | None:
    """What detection finds today, in the one document the labels are of, else in the whole collection; None when
    the documents cannot be asked any more."""
    documents = {label.document for label in labels}
    try:
        store = DatabaseCandidateStore(
            collection=labels[0].collection, space=active_space(), documents=_scope(documents)
        )
        return detect(
            question=labels[0].question,
            store=store,
            embedder=current_embedder(),
            settings=EngineSettings(concurrent=False),
        )
    except ArbitrationError as error:
        logger.warning("examples.not_askable", label_id=labels[0].pk, error=str(error))
        return None


def _scope(documents: Iterable[Document]) -> list[Document] | None:
    only = list(documents)
    return only if len(only) == 1 else None


def _candidates_of(labels: Sequence[Label], pool: CandidatePool) -> list[PoolCandidate | None]:
    """The candidates that were judged: by id in their own run, else by text, else by the text they share."""
    own = [pool.candidate(label.candidate.candidate_id) if label.candidate else None for label in labels]
    others = [label for label, found in zip(labels, own, strict=True) if found is None]
    matched = iter(matches(others, pool))
    return [found if found is not None else next(matched) for found in own]
