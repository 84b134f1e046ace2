"""Labelled questions as training data: a pool's candidates are labelled by the judge of the evaluation.

``evaluate --train-on``, ``--cross-fit`` and ``calibrate`` build on these two functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arbitration.evaluation.judge import Judge
from arbitration.evaluation.outcomes import ranked_anchor
from arbitration.evaluation.records import EvalQuestion
from arbitration.features import pool_features
from arbitration.pool import CandidatePool
from arbitration.triage import GateProfile, LabelledGateInput, gate_inputs
from training.run import LabelledPool


def labels_of_pool(
    pool: CandidatePool, question: EvalQuestion, *, judge: Judge, dataset_ids: Mapping[str, str]
) -> list[bool]:
    """Whether each candidate, on its own, finds evidence of the question; in the pool's order.

    ``dataset_ids`` maps the pool's document ids to those of the labelled set.
    """
    return [
        judge.is_hit(
            question,
            ranked_anchor(
                dataset_ids[candidate.document_id],
                candidate.anchor,
                text=candidate.anchor_text,
            ),
        )
        for candidate in pool.candidates
    ]


def labelled_pool(
    pool: CandidatePool,
    question: EvalQuestion,
    *,
    judge: Judge,
    dataset_ids: Mapping[str, str],
    bias: Mapping[str, float] | None = None,
) -> LabelledPool:
    """Feature rows and labels of one question's pool."""
    return LabelledPool(
        question=question.text,
        features=pool_features(pool, bias),
        labels=labels_of_pool(pool, question, judge=judge, dataset_ids=dataset_ids),
        collection=question.collection,
        document=question.document_id or "",
    )


def gate_samples(
    pool: CandidatePool, question: EvalQuestion, labels: Sequence[bool], *, profile: GateProfile
) -> list[LabelledGateInput]:
    """What the gates see of a labelled pool, for :func:`arbitration.triage.calibrate_gates`."""
    return [
        LabelledGateInput(question.key, candidate, is_evidence)
        for candidate, is_evidence in zip(gate_inputs(pool, profile), labels, strict=True)
    ]
