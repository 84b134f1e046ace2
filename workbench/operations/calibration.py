"""Thresholds from labels: of people's decisions in a collection, or of a labelled set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from arbitration.errors import ArbitrationError
from arbitration.evaluation.datasets import load_dataset
from arbitration.pool import CandidatePool
from arbitration.triage import (
    OPEN_GATES,
    GateCalibration,
    LabelledGateInput,
    calibrate_gates,
    gate_inputs,
)
from workbench.documents.embedding import active_space
from workbench.documents.models import Collection
from workbench.review.models import Review
from workbench.runs.evaluation import QuestionRunner, Tell, dataset_load
from workbench.runs.models import RoleChoice, Run, RunPool, RunStatus
from workbench.runs.scratch import label_set

EVIDENCE = (RoleChoice.PRIMARY, RoleChoice.SUPPORTING)


class NothingToLearn(ArbitrationError):
    """There are no labels to calibrate on; the message says what to do."""


def calibration_of_collection(*, collection: Collection) -> GateCalibration:
    """Thresholds from what people decided in the collection. Raises :class:`NothingToLearn`."""
    samples = list(_decided(collection))
    return _calibrated(samples, name=f"calibrated on {collection.slug}")


def calibration_of_folder(*, folder: Path, limit: int | None, tell: Tell) -> GateCalibration:
    """Thresholds from a labelled set. Raises :class:`NothingToLearn`, or as the set's loader does."""
    dataset = load_dataset(folder).limited(limit)
    loaded = dataset_load(dataset=dataset, tell=tell)
    runner = QuestionRunner(loaded=loaded, strategies=[])
    labelled = label_set(loaded=loaded, runner=runner, tell=tell)
    samples = [sample for rows in labelled.samples.values() for sample in rows]
    return _calibrated(samples, name=f"calibrated on {dataset.name}")


def _calibrated(samples: list[LabelledGateInput], *, name: str) -> GateCalibration:
    try:
        return calibrate_gates(samples, base=OPEN_GATES, name=name, embedding_space=active_space().name)
    except ValueError as error:
        raise NothingToLearn(
            "There is no decided evidence to calibrate on. Approve or override some verdicts first, or use --labels."
        ) from error


def _decided(collection: Collection) -> Iterator[LabelledGateInput]:
    """The decided candidates of each question, once, as the gates would see them; and the best of each question even
    if nobody decided it, because the gap is measured from it: it counts as no evidence, which errs on the safe side."""
    decisions = Review.objects.filter(
        candidate__run__collection=collection,
        candidate__run__status=RunStatus.DONE,
        superseded_by__isnull=True,
        role__isnull=False,
    ).values_list("candidate__run_id", "candidate__candidate_id", "role")
    roles = {(run, identity): role for run, identity, role in decisions}
    seen: set[tuple[str, int | None, str]] = set()
    runs = Run.objects.filter(pk__in={run for run, _ in roles}).select_related("question").order_by("-id")
    for run in runs:
        body = RunPool.objects.filter(run=run).values_list("body", flat=True).first()
        if body is None:
            continue
        pool = CandidatePool.model_validate(body)
        if pool.embedding_space != active_space().name:
            continue
        yield from _of_run(run, pool, roles, seen)


def _of_run(
    run: Run,
    pool: CandidatePool,
    roles: dict[tuple[int, str], str],
    seen: set[tuple[str, int | None, str]],
) -> Iterator[LabelledGateInput]:
    inputs = gate_inputs(pool, OPEN_GATES)
    question = f"{run.question.document_id}:{run.question.normalised}"
    best = max(inputs, key=lambda one: max(one.semantic, one.keyword), default=None)
    for candidate, found in zip(pool.candidates, inputs, strict=True):
        role = roles.get((run.pk, candidate.candidate_id))
        key = (run.question.normalised, run.question.document_id, candidate.candidate_id)
        if key in seen or (role is None and found is not best):
            continue
        seen.add(key)
        yield LabelledGateInput(question, found, is_evidence=role in EVIDENCE)
