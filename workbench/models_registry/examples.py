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
from arbitration.features import FEATURE_VERSION, pool_features
from arbitration.pipeline import detect
from arbitration.pool import CandidatePool, PoolCandidate
from arbitration.settings import EngineSettings
from training.labels import LabelRow
from training.snapshot import Example
from workbench.documents.embedding import active_space, current_embedder
from workbench.documents.ingest import text_hash
from workbench.documents.models import Document
from workbench.documents.store import DatabaseCandidateStore
from workbench.labeling.models import Label
from workbench.questions.models import RunPool

from .models import FeatureRow

logger = structlog.get_logger(__name__)

Beat = Callable[[int, int], None]

#: Lines shared, of all lines of both, from which an imported passage is the candidate that detection made of it.
SAME_PASSAGE = 0.5
_BATCH = 2000


@dataclass(frozen=True, slots=True)
class Featured:
    """A label's example, and what the rules alone would have given its candidate."""

    example: Example
    estimate: float


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
            found[label.label_id] = Featured(_example(label, feature_row), float(feature_row.estimate or 0.0))
    return found


def _example(label: LabelRow, row: FeatureRow) -> Example:
    return Example(
        label_id=label.label_id,
        question=label.question,
        role=label.role,
        weight=label.source.weight,
        features=tuple(row.values),
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
    lists = _by_list(missing)
    for done, labels in enumerate(lists, start=1):
        FeatureRow.objects.bulk_create(_feature_rows(labels, space=space), ignore_conflicts=True)
        beat(done, len(lists))


def _by_list(label_ids: Sequence[int]) -> list[list[Label]]:
    """The labels of each candidate list: those of one run, or imported ones of one question and collection."""
    lists: dict[tuple[str, object, str], list[Label]] = defaultdict(list)
    for batch in _batches([str(label_id) for label_id in label_ids]):
        labels = Label.objects.filter(pk__in=batch).select_related("candidate", "document", "collection")
        for label in labels.order_by("pk"):
            if label.candidate is not None:
                lists["run", label.candidate.run_id, ""].append(label)
            else:
                lists["asked", label.collection_id, label.question_hash].append(label)
    return list(lists.values())


def _feature_rows(labels: Sequence[Label], *, space: str) -> list[FeatureRow]:
    name, pool = _pool_of(labels)
    if pool is None or not pool.candidates:
        return [_without(label, space) for label in labels]
    features, estimates = pool_features(pool), evidence_scores(pool)
    places = {candidate.candidate_id: place for place, candidate in enumerate(pool.candidates)}
    rows = []
    for label in labels:
        candidate = _candidate_of(label, pool)
        if candidate is None:
            rows.append(_without(label, space))
            continue
        rows.append(
            FeatureRow(
                label=label,
                feature_version=FEATURE_VERSION,
                embedding_space=space,
                candidate_list=name,
                values=[float(value) for value in features[places[candidate.candidate_id]]],
                estimate=min(1.0, max(0.0, estimates[candidate.candidate_id])),
            )
        )
    return rows


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


def _candidate_of(label: Label, pool: CandidatePool) -> PoolCandidate | None:
    """The candidate that was judged: by id in its own run, else by text, else by place."""
    if label.candidate is not None and (own := pool.candidate(label.candidate.candidate_id)) is not None:
        return own
    document = f"d{label.document_id}"
    here = [candidate for candidate in pool.candidates if candidate.document_id == document]
    same = next((c for c in here if text_hash(c.anchor_text) == label.text_hash), None)
    if same is not None:
        return same
    nearest = max(here, key=lambda candidate: _shared(label, candidate), default=None)
    return nearest if nearest is not None and _shared(label, nearest) >= SAME_PASSAGE else None


#: More lines than a page holds: turns (page, line) into one number.
_PAGE = 100_000


def _shared(label: Label, candidate: PoolCandidate) -> float:
    """Lines both scopes hold, as a share of the lines either holds."""
    one = (label.page_start * _PAGE + label.line_start, label.page_end * _PAGE + label.line_end)
    anchor = candidate.anchor
    other = (
        anchor.page_start * _PAGE + anchor.line_start,
        anchor.page_end * _PAGE + anchor.line_end,
    )
    both = min(one[1], other[1]) - max(one[0], other[0]) + 1
    either = max(one[1], other[1]) - min(one[0], other[0]) + 1
    return max(0, both) / either
